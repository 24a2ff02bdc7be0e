"""Labels that a person has confirmed are never doubted by the EM loop."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_runs import CLASSES, shrink, toy_context, toy_images

from scanmix_cli.method import scanmix as loop_module
from scanmix_cli.method.learner import make_learner
from scanmix_cli.method.networks import scanmix_net
from scanmix_cli.method.scanmix import EMLoop
from scanmix_cli.profiles.official import OFFICIAL

IMAGES = 24
TRUSTED = [4, 11, 20]


def make_loop(trusted: torch.Tensor | None) -> EMLoop:
    profile, context = shrink(OFFICIAL["cifar10"], 1, 16), toy_context()
    images = replace(toy_images(IMAGES), trusted=trusted)
    learners = [make_learner(scanmix_net("small", CLASSES, context, k), profile, context) for k in (1, 2)]
    return EMLoop(learners, images, None, profile, context)


def mask() -> torch.Tensor:
    chosen = torch.zeros(IMAGES, dtype=torch.bool)
    chosen[TRUSTED] = True
    return chosen


def test_trusted_labels_are_clean_with_posterior_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubt_all(normalised: np.ndarray, *_: object) -> np.ndarray:
        return np.linspace(0.0, 0.4, len(normalised))  # below the threshold

    monkeypatch.setattr("scanmix_cli.method.split.clean_posterior", doubt_all)
    rows = np.ones(IMAGES, bool)
    for division in (loop := make_loop(mask())).divide(loop.look(), rows):
        assert (division.posterior[TRUSTED] == 1).all()
        assert division.clean[TRUSTED].all()
        others = np.setdiff1d(np.arange(IMAGES), TRUSTED)
        assert (division.posterior[others] <= 0.4).all()
        # and those that are the only ones of their class
        assert division.clean[others].sum() <= CLASSES
    for division in (loop := make_loop(None)).divide(loop.look(), rows):
        assert (division.posterior <= 0.4).all()


def test_rows_left_out_of_an_epoch_are_left_out_though_trusted() -> None:
    loop, rows = make_loop(mask()), np.ones(IMAGES, bool)
    rows[TRUSTED[0]] = False
    assert not any(division.clean[TRUSTED[0]] for division in loop.divide(loop.look(), rows))


def test_a_subset_keeps_its_own_trust() -> None:
    images = replace(toy_images(IMAGES), trusted=mask())
    part = images.subset(torch.tensor([2, 4, 20]))
    assert part.trusted is not None
    assert part.trusted.tolist() == [False, True, True]
    assert loop_module.trusted_rows(toy_images(4)) is None
