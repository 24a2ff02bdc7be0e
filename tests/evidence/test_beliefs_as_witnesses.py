"""Verdicts on beliefs, which are taken at their word."""

from dataclasses import replace

import numpy as np
import pytest
from test_noise_model import calibration_error, even, pairwise, simulated

from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.fitting import SHARPER
from scanmix_cli.evidence.noise_model import NoiseModel, softmax
from scanmix_cli.evidence.verdicts import judge


def on_beliefs(evidence: Evidence, labels: np.ndarray) -> Evidence:
    """The same evidence as of a belief loop, vaguer by the exponent that a mean over epochs is."""
    shown = evidence.final_probability.astype(np.float64) ** (2 / SHARPER)  # `simulated` shows the root
    shown /= shown.sum(axis=1, keepdims=True)
    result = Evidence.empty(len(labels), shown.shape[1], beliefs=True)
    result.add(labels, [View(shown, -np.log(shown[np.arange(len(labels)), labels]), np.full(len(labels), 0.5))])
    result.final_probability[:] = shown
    return result


@pytest.mark.parametrize(
    "spoil", [even(0.0), even(0.2), even(0.8), pairwise(0.35)], ids=["right", "few", "most", "pairs"]
)
def test_probabilities_mean_what_they_say(spoil: np.ndarray) -> None:
    evidence, labels, truth, neighbors = simulated(2_000, 6.0, spoil)
    verdicts, wrong = judge(on_beliefs(evidence, labels), labels, neighbors), labels != truth
    assert calibration_error(verdicts, wrong) <= 0.03
    assert verdicts.noise_rate.low <= wrong.mean() <= verdicts.noise_rate.high
    assert abs(verdicts.noise_rate.estimate - wrong.mean()) <= 0.03


def test_vague_beliefs_make_no_suspects_of_right_labels() -> None:
    evidence, labels, truth, neighbors = simulated(1_500, 1.0, even(0.0))
    assert (evidence.probability_sum.argmax(1) == truth).mean() < 0.5, "half of all beliefs contradict the label"
    assert judge(on_beliefs(evidence, labels), labels, neighbors).is_label_issue.mean() <= 0.005


def test_neighbours_and_final_networks_have_no_say_beside_beliefs() -> None:
    evidence, labels, _, neighbors = simulated(1_200, 6.0, even(0.4))
    believed = on_beliefs(evidence, labels)
    plain = judge(believed, labels, neighbors)
    other = judge(replace(believed, final_probability=softmax(np.zeros_like(believed.final_probability))), labels, None)
    np.testing.assert_array_equal(plain.p_mislabeled, other.p_mislabeled)


def test_a_word_holds_the_weight_of_a_witness() -> None:
    evidence, labels, _, _ = simulated(1_000, 6.0, even(0.4))
    features = 3 * np.log(evidence.final_probability.clip(1e-6))[None]  # far too sure of themselves
    data = (features, labels, np.zeros(len(labels)))
    weights = [
        np.exp(NoiseModel.even(1, features.shape[2], 0.4, 1e5, word=word).fitted(*data, steps=60).log_weights[0])
        for word in (0.0, 1.0)
    ]
    assert weights[0] < 0.75
    assert weights[1] == pytest.approx(1, abs=0.1)
