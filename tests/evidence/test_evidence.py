"""The sums over epochs."""

import numpy as np
import pytest

from scanmix_cli.evidence.evidence import Evidence

LABELS = np.array([0, 1, -1])
PROBABILITIES = np.array([[0.7, 0.3], [0.6, 0.4], [0.2, 0.8]])
LOSSES = np.array([0.5, 1.5, 9.0])
POSTERIOR = np.array([0.9, 0.2, 0.7])


def test_sums_grow_by_one_view_and_skip_unlabelled_images() -> None:
    evidence = Evidence.empty(3, 2)
    for _ in range(2):
        evidence.add(LABELS, PROBABILITIES, LOSSES, POSTERIOR)
    assert evidence.observations == 2
    assert evidence.loss_sum == pytest.approx([1.0, 3.0, 0.0])
    assert evidence.given_probability_sum == pytest.approx([1.4, 0.8, 0.0])
    assert evidence.posterior_sum == pytest.approx([1.8, 0.4, 0.0])
    assert evidence.disagreement_sum.tolist() == [0, 2, 0]
    assert evidence.probability_sum == pytest.approx(2 * PROBABILITIES)


def test_state_survives_a_checkpoint() -> None:
    evidence = Evidence.empty(3, 2)
    evidence.add(LABELS, PROBABILITIES, LOSSES, POSTERIOR)
    other = Evidence.empty(3, 2)
    other.load_state_dict(evidence.state_dict())
    assert other.observations == 1
    assert np.array_equal(other.probability_sum, evidence.probability_sum)
    assert np.array_equal(other.final_posterior, evidence.final_posterior)
