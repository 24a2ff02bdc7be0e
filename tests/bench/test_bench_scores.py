"""Scores of a benchmark cell, against values worked out by hand."""

import numpy as np
import pytest

from scanmix_cli.bench import scores

WRONG = np.array([True, False, True, False])
P = np.array([0.9, 0.8, 0.7, 0.1])
FLAGGED = np.array([True, True, False, False])


def test_ranking_and_cut() -> None:
    found = scores.detection_scores(WRONG, P, FLAGGED)
    assert found["auroc"] == pytest.approx(3 / 4)  # 3 of the 4 pairs are in order
    assert found["ap"] == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert found["best_f1"] == pytest.approx(2 * (2 / 3) / (2 / 3 + 1))  # cut after the third
    assert (found["precision"], found["recall"], found["f1"]) == (0.5, 0.5, 0.5)
    assert found["clean_recall"] == 0.5
    assert found["flagged_share"] == 0.5
    assert found["random_ap"] == 0.5


def test_flag_all_f1_at_the_rates_of_the_papers() -> None:
    assert scores.flag_all_f1(0.81) == pytest.approx(0.895, abs=5e-4)
    assert scores.flag_all_f1(0.4021) == pytest.approx(0.574, abs=5e-4)
    assert scores.detection_scores(WRONG, P, FLAGGED)["flag_all_f1"] == pytest.approx(2 / 3)


def test_without_wrong_labels_only_what_is_defined() -> None:
    found = scores.detection_scores(np.zeros(4, bool), P, FLAGGED)
    assert [found[name] for name in ("auroc", "ap", "best_f1")] == [None, None, None]
    assert (found["f1"], found["flag_all_f1"], found["clean_recall"]) == (0.0, 0.0, 0.5)


def test_without_right_labels_clean_recall_is_undefined() -> None:
    found = scores.detection_scores(np.ones(4, bool), P, FLAGGED)
    assert (found["auroc"], found["clean_recall"]) == (None, None)
    assert found["recall"] == 0.5


def test_calibration_error_by_bins() -> None:
    # two bins: (0.1, right) and (0.7, 0.8, 0.9 with two of three wrong)
    gap_low, gap_high = abs(0.1 - 0.0), abs(0.8 - 2 / 3)
    assert scores.calibration_error(WRONG, P, bins=2) == pytest.approx((1 * gap_low + 3 * gap_high) / 4)
    predicted, observed, counts = scores.reliability(WRONG, P, bins=4)
    assert counts.tolist() == [1, 0, 1, 2]
    assert np.isnan(predicted[1])
    assert observed[[0, 2, 3]].tolist() == [0.0, 1.0, 0.5]


def test_probability_one_falls_into_the_last_bin() -> None:
    assert scores.reliability(np.array([True]), np.array([1.0]), bins=3)[2].tolist() == [0, 0, 1]


def test_share_right_replaces_flagged_labels_only() -> None:
    clean, given, suggested = np.array([0, 1, 2, 3]), np.array([9, 1, 9, 3]), np.array([0, 8, 2, 8])
    assert scores.share_right(clean, given, suggested, np.array([True, False, False, False])) == 3 / 4
    assert scores.share_right(clean, given, suggested, np.array([False, True, False, False])) == 1 / 4


def test_last_is_the_mean_of_the_final_ten() -> None:
    assert scores.final_mean([0.0] * 5 + [0.5] * 5 + [0.7] * 5) == pytest.approx(0.6)
    assert scores.final_mean([0.2, 0.4]) == pytest.approx(0.3)


def test_clusters_are_matched_to_classes_as_well_as_can_be() -> None:
    labels = np.array([0, 0, 1, 1, 2, 2])
    assert scores.matched_accuracy(np.array([2, 2, 0, 0, 1, 1]), labels, 3) == 1.0
    # cluster 0 holds both classes 0 and 1, and may stand for one of them only
    assert scores.matched_accuracy(np.array([0, 0, 0, 0, 1, 2]), labels, 3) == pytest.approx(3 / 6)


def test_top_k() -> None:
    logits = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    labels = np.array([1, 2])
    assert [scores.top_k_accuracy(logits, labels, k) for k in (1, 2, 5)] == [0.0, 0.5, 1.0]
