"""The sums over epochs."""

import numpy as np
import pytest

from scanmix_cli.evidence.evidence import SNAPSHOTS, Evidence, View

LABELS = np.array([0, 1, -1])
PROBABILITIES = np.array([[0.7, 0.3], [0.6, 0.4], [0.2, 0.8]])
LOSSES = np.array([0.5, 1.5, 9.0])
POSTERIOR = np.array([0.9, 0.2, 0.7])
VIEW = View(PROBABILITIES, LOSSES, POSTERIOR)


def test_sums_grow_by_every_view_and_skip_unlabelled_images() -> None:
    evidence = Evidence.empty(3, 2)
    evidence.add(LABELS, [VIEW, VIEW])
    assert (evidence.observations, evidence.epochs) == (2, 1)
    assert evidence.loss_sum == pytest.approx([1.0, 3.0, 0.0])
    assert evidence.given_probability_sum == pytest.approx([1.4, 0.8, 0.0])
    assert evidence.posterior_sum == pytest.approx([1.8, 0.4, 0.0])
    assert evidence.disagreements.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert evidence.probability_sum == pytest.approx(2 * PROBABILITIES)
    assert evidence.final_posterior == pytest.approx(POSTERIOR)


def test_consensus_counts_the_epochs_in_which_both_networks_predict_the_same_class() -> None:
    evidence = Evidence.empty(3, 2)
    other = View(np.array([[0.6, 0.4], [0.1, 0.9], [0.9, 0.1]]), LOSSES, POSTERIOR)
    evidence.add(LABELS, [VIEW, other])
    evidence.add(LABELS, [VIEW, VIEW])
    assert evidence.consensus_sum.tolist() == [2, 1, 1]


def test_each_network_is_counted_for_itself_when_it_names_another_class() -> None:
    evidence = Evidence.empty(3, 2)
    other = View(1 - PROBABILITIES, LOSSES, POSTERIOR)  # says the opposite of VIEW
    for _ in range(3):
        evidence.add(LABELS, [VIEW, other])
    evidence.add(LABELS, [VIEW, VIEW])
    assert evidence.disagreements.tolist() == [[0, 3], [4, 1], [0, 0]], "the third image has no label"


def test_a_single_network_has_the_first_column() -> None:
    evidence = Evidence.empty(3, 2)
    evidence.add(LABELS, [VIEW])
    assert evidence.disagreements.tolist() == [[0, 0], [1, 0], [0, 0]]


@pytest.mark.parametrize(
    ("epochs", "kept"),
    [
        (3, [0, 1, 2]),
        (16, list(range(16))),
        (17, [0, 2, 4, 6, 8, 10, 12, 14, 16]),
        (100, [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96]),
    ],
)
def test_history_keeps_evenly_spaced_epochs_in_bounded_memory(epochs: int, kept: list[int]) -> None:
    evidence = Evidence.empty(2, 2)
    for epoch in range(epochs):
        share = epoch / 128
        losses = np.full(2, 3 - 2 * share)
        evidence.add(np.array([0, -1]), [View(np.array([[share, 1 - share]] * 2), losses, np.ones(2))])
    used = evidence.history_epochs >= 0
    assert evidence.history.shape == evidence.loss_history.shape == (2, SNAPSHOTS)
    assert evidence.history.dtype == evidence.loss_history.dtype == np.float16
    assert evidence.history_epochs[used].tolist() == kept
    assert evidence.history[0, used].tolist() == [epoch / 128 for epoch in kept]
    assert evidence.loss_history[0, used].tolist() == [3 - epoch / 64 for epoch in kept]
    assert not evidence.history[1].any(), "unlabelled"
    assert not evidence.loss_history[1].any(), "unlabelled"
    assert not evidence.loss_history[:, ~used].any()


def test_history_is_the_mean_over_the_networks() -> None:
    evidence = Evidence.empty(3, 2)
    evidence.add(LABELS, [VIEW, View(1 - PROBABILITIES, LOSSES + 1, POSTERIOR)])
    assert evidence.history[:2, 0].tolist() == [0.5, 0.5]
    assert evidence.loss_history[:, 0].tolist() == [1.0, 2.0, 0.0]


@pytest.mark.filterwarnings("error")
def test_a_loss_too_large_for_a_snapshot_is_the_largest_it_can_hold() -> None:
    evidence = Evidence.empty(3, 2)
    evidence.add(LABELS, [View(PROBABILITIES, np.array([1e6, 2.0, 0.0]), POSTERIOR)])
    assert evidence.loss_history[:, 0].tolist() == [65504.0, 2.0, 0.0]
    assert evidence.loss_sum.tolist() == [1e6, 2.0, 0.0]


def test_state_survives_a_checkpoint() -> None:
    evidence = Evidence.empty(3, 2)
    evidence.add(LABELS, [VIEW])
    other = Evidence.empty(3, 2)
    other.load_state_dict(evidence.state_dict())
    assert other.observations == 1
    assert np.array_equal(other.probability_sum, evidence.probability_sum)
    assert np.array_equal(other.final_posterior, evidence.final_posterior)


def test_a_state_of_before_goes_on_and_what_it_did_not_keep_is_no_number() -> None:
    evidence, other = Evidence.empty(3, 2), Evidence.empty(3, 2)
    evidence.add(LABELS, [VIEW, VIEW])
    before = evidence.state_dict()
    del before["disagreements"], before["loss_history"]
    other.load_state_dict(before)
    for kept in (evidence, other):
        kept.add(LABELS, [VIEW, VIEW])
    assert np.isnan(other.disagreements).all()
    assert np.isnan(other.loss_history[:, 0]).all()
    assert other.loss_history[:, 1].tolist() == [0.5, 1.5, 0.0]
    assert np.array_equal(other.history, evidence.history)
    assert np.array_equal(other.loss_sum, evidence.loss_sum)
