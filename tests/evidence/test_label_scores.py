"""Scores against values worked out by hand."""

import numpy as np
import pytest

from scanmix_cli.evidence import scores
from scanmix_cli.evidence.noise_matrix import (
    confusions,
    count_truth,
    fitted_noise_matrix,
    label_posterior,
    noise_kind,
    noise_matrix,
    share_intervals,
)
from scanmix_cli.evidence.noise_rate import (
    NoiseRate,
    class_noise_rates,
    error_of_model,
    estimate_noise_rate,
)


def test_votes_leave_out_the_image_itself_and_unlabelled_neighbours() -> None:
    labels = np.array([0, 0, 1, 1, -1])
    neighbors = np.array([[0, 1, 2], [0, 2, 4], [3, 0, 1], [2, 4, 4], [0, 1, 2]])
    theirs = scores.others(labels, neighbors, np.array([0, 1, 4]))
    assert theirs.tolist() == [[-1, 0, 1], [0, 1, -1], [0, 0, 1]]
    assert scores.count_votes(theirs, 2).tolist() == [[1, 1], [1, 1], [2, 1]]


def test_sums_by_class_leave_no_class_out() -> None:
    values = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)
    assert scores.sums_by_class(values, np.array([2, 0, 2]), 4).tolist() == [[3, 4], [0, 0], [6, 8], [0, 0]]


def test_blocks_hold_a_number_of_cells_whatever_the_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "BLOCK", 10)
    rows = np.arange(7)
    assert [len(part) for part in scores.blocks(rows, 3)] == [3, 3, 1]
    assert [len(part) for part in scores.blocks(rows, 100)] == [1] * 7
    assert np.concatenate(scores.blocks(rows, 2)).tolist() == rows.tolist()
    assert scores.blocks(rows[:0], 2) == []


def test_small_classes_are_believed_less() -> None:
    result = scores.support(np.array([0] * 20 + [1] * 40 + [-1]))
    assert result == pytest.approx([1 - np.exp(-1)] * 20 + [1 - np.exp(-2)] * 40 + [0])


def test_fit_is_what_entropy_leaves() -> None:
    probabilities = np.array([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0], [0.5, 0.5, 0, 0]])
    assert scores.fit(probabilities) == pytest.approx([0, 1, 1 / 2])
    assert scores.fit(np.ones((2, 1))).tolist() == [1, 1]


def test_an_outlier_is_far_below_the_rest_and_near_chance() -> None:
    sure = np.linspace(0.9, 1.0, 40)
    assert np.flatnonzero(scores.is_outlier(np.append(sure, [0.1, 0.3]), 10)).tolist() == [40]
    assert not scores.is_outlier(np.linspace(0.0, 0.15, 40), 10).any(), "unsure about every image: no outlier"
    assert scores.is_outlier(np.zeros(0), 10).shape == (0,)
    spread = np.concatenate([[0.14, 0.16], np.full(60, 0.5), np.full(40, 0.55)])  # 0.5 - 7 x 0.05 = 0.15
    assert np.flatnonzero(scores.is_outlier(spread, 10)).tolist() == [0]


def test_many_outliers_do_not_move_the_fence() -> None:
    many = np.concatenate([np.linspace(0.0, 0.19, 30), np.linspace(0.6, 0.7, 70)])
    assert np.flatnonzero(scores.is_outlier(many, 10)).tolist() == list(range(30))
    normal = np.random.default_rng(0).normal(0.6, 0.1, 200_000)  # Tukey's outer fence is 4.72 deviations down
    assert scores.is_outlier(normal, 10, bar=1).sum() <= 3


def test_ranks_follow_suspicion_and_ties_follow_rows() -> None:
    p = np.array([0.1, 0.9, 0.9, 0.5, 0.9])
    assert scores.ranks(p, np.array([True, True, True, False, True])).tolist() == [4, 1, 2, 0, 3]


def test_noise_rate_is_the_mean_with_a_normal_interval() -> None:
    p = np.array([0.0, 0.2, 0.8, 1.0] * 25)
    result = estimate_noise_rate(p, 0.03, none_wrong=False)
    half = 1.6449 * np.sqrt(0.5 * 0.2 * 0.8 / 100 + 0.03**2)  # half of the labels are still open
    assert (result.estimate, result.low, result.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))
    assert estimate_noise_rate(p, 0.03, none_wrong=True).low == 0, "no wrong label explains the labels as well"


def test_noise_rate_without_labels_is_unknown() -> None:
    assert estimate_noise_rate(np.zeros(0), 0.1, none_wrong=False) == NoiseRate(0.0, 0.0, 1.0)


def test_the_error_of_the_model_has_three_parts() -> None:
    assert error_of_model(0.4, 0.44, 0.02) == pytest.approx(np.sqrt(0.02**2 + 0.04**2 + 0.012**2))


def test_class_noise_rates_are_those_of_the_labels_that_name_the_class() -> None:
    p, labels = np.array([0.4, 0.2, 0.0, 0.0, 0.9]), np.array([0, 0, 1, 1, -1])
    first, second, empty = class_noise_rates(p, labels, 3, 0.05, none_wrong=False)
    assert (first.estimate, second.estimate) == pytest.approx((0.3, 0.0))
    half = 1.6449 * np.sqrt((0.4 * 0.6 + 0.2 * 0.8) / 4 + 0.1**2)  # twice the set's rate, so twice its error
    assert first.high - first.estimate == pytest.approx(half)
    assert (second.low, second.high, empty) == (0.0, 0.0, NoiseRate(0.0, 0.0, 1.0))


def test_noise_matrix_counts_probabilities_in_parts() -> None:
    labels = np.array([0, 1, -1])
    truth = np.array([[0.75, 0.25, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    counts = count_truth(labels, truth)
    assert counts.tolist() == [[0.75, 0.5, 0.0], [0.25, 0.5, 0.0], [0.0, 0.0, 0.0]]
    expected = [[0.6, 0.4, 0.0], [1 / 3, 2 / 3, 0.0], [0.0, 0.0, 1.0]]  # nobody belongs to the third class: identity
    assert noise_matrix(counts) == pytest.approx(np.array(expected))


def test_a_noise_matrix_is_fitted_by_hand() -> None:
    beliefs, labels = np.array([[0.8, 0.2], [0.5, 0.5]], np.float32), np.array([0, 1])
    start = np.array([[0.7, 0.3], [0.3, 0.7]])
    # Given 0: 0.8 * 0.7 and 0.2 * 0.3, 56 to 6; given 1: 0.5 * 0.3 and 0.5 * 0.7, 3 to 7.
    assert label_posterior(beliefs, labels, start) == pytest.approx(np.array([[56 / 62, 6 / 62], [0.3, 0.7]]))
    seen = np.array([[56 / 62, 0.3], [6 / 62, 0.7]])  # a row for each true class
    for prior in (0.5, np.array([[6.0, 1.0], [2.0, 4.0]])):
        once = fitted_noise_matrix(beliefs, labels, start, prior, 1)
        assert once == pytest.approx((seen + prior) / (seen + prior).sum(axis=1, keepdims=True))
        twice = fitted_noise_matrix(beliefs, labels, start, prior, 2)
        assert np.array_equal(twice, fitted_noise_matrix(beliefs, labels, once, prior, 1))
        assert not np.array_equal(twice, once)


def test_confusions_come_with_the_interval_of_wilson() -> None:
    counts = np.array([[90.0, 10.0, 0.4], [0.0, 50.0, 30.0], [0.0, 0.0, 20.0]])
    first, second = confusions(counts, 5)  # less than one image is no confusion
    assert (first.true, first.given, first.images) == (1, 2, 30.0)
    assert (second.true, second.given, second.share) == (0, 1, pytest.approx(10 / 100.4))
    z, n, p = 1.6449, 80.0, 0.375
    middle, half = (p + z**2 / (2 * n)), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    low, high = share_intervals(noise_matrix(counts), counts.sum(axis=1))
    assert (low[1, 2], high[1, 2]) == (first.low, first.high)
    assert low[1, 0] == 0 < high[1, 0] < 0.05
    assert (first.low, first.high) == pytest.approx(((middle - half) / scale, (middle + half) / scale))


def test_the_kind_of_noise_in_words() -> None:
    pairs = 80 * np.eye(4) + 20 * np.roll(np.eye(4), 1, axis=1)
    similar = 80 * np.eye(4) + 10 * np.roll(np.eye(4), 1, axis=1) + 10 * np.roll(np.eye(4), 2, axis=1)
    assert noise_kind(pairs, uneven=True, sloped=False).startswith("pairwise")
    assert noise_kind(similar, uneven=True, sloped=False).startswith("between similar classes")
    assert noise_kind(pairs, uneven=False, sloped=False).startswith("uniform")
    assert noise_kind(similar, uneven=True, sloped=True).endswith("images that are hard to tell are hit more often")
    assert noise_kind(similar, uneven=True, sloped=True, made=True) == (
        "between similar classes: some pairs of classes are confused more than others, "
        "and images that look alike bear the same wrong label, as from a classifier"
    )
    assert noise_kind(100 * np.eye(3), uneven=True, sloped=True) == "hardly any"
    for wrong, kind in ((9, "hardly any"), (11, "pairwise")):  # of 10,000
        few = (10_000 - wrong) / 4 * np.eye(4) + wrong / 4 * np.roll(np.eye(4), 1, axis=1)
        assert noise_kind(few, uneven=True, sloped=False).startswith(kind)


def test_the_surer_half_of_each_class_by_hand() -> None:
    chosen, sureness = np.array([2, 0, 2, 0, 2, 0, 5]), np.array([0.9, 0.4, 0.5, 0.6, 0.7, 0.5, 0.1])
    # class 0: .4, .6, .5; class 2: .9, .5, .7: the middle one belongs to the surer half; class 5 has one image
    assert scores.surest(chosen, sureness).tolist() == [True, False, False, True, True, True, True]
    assert scores.surest(np.zeros(4, int), np.array([0.1, 0.2, 0.3, 0.4])).tolist() == [False, False, True, True]
    assert scores.surest(chosen[:0], sureness[:0]).tolist() == []


def test_of_a_tenth_that_is_no_whole_number_of_images_the_next_one_counts_and_so_do_ties() -> None:
    rising = np.arange(12) / 12
    assert np.flatnonzero(scores.surest(np.zeros(12, int), rising, 0.1)).tolist() == [10, 11]
    assert np.flatnonzero(scores.surest(np.zeros(11, int), rising[:11], 0.1)).tolist() == [9, 10]
    assert np.flatnonzero(scores.surest(np.zeros(10, int), rising[:10], 0.1)).tolist() == [9]
    assert scores.surest(np.zeros(12, int), np.ones(12), 0.1).all()


def test_pair_counts_by_hand() -> None:
    found = scores.pair_counts(np.array([0, 0, 1, 0]), np.array([1, 1, 0, 2]), 3)
    assert found.tolist() == [[0, 2, 1], [1, 0, 0], [0, 0, 0]]
