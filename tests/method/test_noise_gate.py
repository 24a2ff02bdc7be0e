"""The gate: one estimate of the noise after warm-up, two branches."""

from dataclasses import replace

import numpy as np
import pytest

from scanmix_cli.method.gate import apply_gate, decide, estimated_noise
from scanmix_cli.method.settings import GateSettings
from scanmix_cli.profiles.official import OFFICIAL

CIFAR10 = OFFICIAL["cifar10"]


def test_estimate_is_the_share_of_unlikely_labels_averaged_over_networks() -> None:
    known = np.array([True, True, True, True, False])
    first, second = np.array([0.9, 0.5, 0.1, 0.8, 0.0]), np.array([0.9, 0.9, 0.2, 0.7, 0.0])
    assert estimated_noise([first, second], known) == pytest.approx((2 / 4 + 1 / 4) / 2)


def test_estimate_without_labels_is_zero() -> None:
    assert estimated_noise([np.zeros(3)], np.zeros(3, dtype=bool)) == 0.0


@pytest.mark.parametrize(
    ("noise", "rate", "view"),
    [(0.0, 1e-5, "weak"), (0.6, 1e-5, "weak"), (0.6001, 1e-3, "strong"), (1.0, 1e-3, "strong")],
)
def test_both_branches_and_the_threshold_itself(noise: float, rate: float, view: str) -> None:
    gate = decide(noise, GateSettings())
    assert (gate.clustering_rate, gate.view) == (rate, view)


@pytest.mark.parametrize(("noise", "rate", "view"), [(0.2, 1e-5, "weak"), (0.9, 1e-3, "strong")])
def test_gate_sets_rate_and_views_of_both_steps(noise: float, rate: float, view: str) -> None:
    profile = apply_gate(CIFAR10, noise)
    assert profile.clustering is not None
    assert profile.clustering.learning_rate == rate
    assert profile.clustering.view == profile.mixmatch.view == view
    expected = replace(CIFAR10, clustering=profile.clustering, mixmatch=replace(CIFAR10.mixmatch, view=view))
    assert profile == expected, "nothing else changes"


def test_gate_of_the_papers_text_leaves_views_alone() -> None:
    assert CIFAR10.clustering is not None
    own = replace(
        CIFAR10,
        gate=GateSettings(switch_views=False),
        clustering=replace(CIFAR10.clustering, view="weak-red"),
        mixmatch=replace(CIFAR10.mixmatch, view="weak-web"),
    )
    profile = apply_gate(own, 0.9)
    assert profile.clustering is not None
    assert profile.clustering.learning_rate == 1e-3
    assert (profile.clustering.view, profile.mixmatch.view) == ("weak-red", "weak-web")


def test_a_profile_without_a_gate_is_left_alone() -> None:
    assert apply_gate(OFFICIAL["webvision"], 0.9) is OFFICIAL["webvision"]


def test_gate_without_a_clustering_step_still_chooses_views() -> None:
    profile = apply_gate(replace(CIFAR10, clustering=None), 0.9)
    assert profile.clustering is None
    assert profile.mixmatch.view == "strong"
