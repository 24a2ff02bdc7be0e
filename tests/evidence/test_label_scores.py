"""Scores against values worked out by hand."""

import numpy as np
import pytest

from scanmix_cli.evidence import scores
from scanmix_cli.evidence.noise_matrix import noise_matrix, true_label_posterior
from scanmix_cli.evidence.noise_rate import NoiseRate, estimate_noise_rate


def test_contest_compares_the_given_label_with_its_best_rival() -> None:
    probabilities = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    result = scores.contest(np.array([0, 1, 2, -1]), probabilities)
    assert result == pytest.approx([0.3 / 0.9, 0.6 / 0.8, 0.5, 0.0])
    assert probabilities[0, 0] == 0.6, "the input is left alone"


def test_neighbor_votes_count_own_and_best_other_class() -> None:
    labels = np.array([0, 0, 1, 1, -1])
    neighbors = np.array([[1, 2, 3], [0, 2, 4], [3, 0, 1], [2, 4, 4], [0, 1, 2]])
    own, other = scores.neighbor_votes(labels, neighbors)
    assert own.tolist() == [1, 1, 1, 1, 0]
    assert other.tolist() == [2, 1, 2, 0, 2]


def test_neighbor_votes_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(-1, 4, 50)
    neighbors = generator.integers(0, 50, (50, 6))
    whole = scores.neighbor_votes(labels, neighbors)
    probabilities = generator.dirichlet(np.ones(4), 50)
    contested = scores.contest(labels, probabilities)
    monkeypatch.setattr(scores, "BLOCK", 7)
    for one, other in zip(whole, scores.neighbor_votes(labels, neighbors), strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(contested, scores.contest(labels, probabilities))


def test_jeffreys_prior_keeps_few_trials_near_one_half() -> None:
    assert scores.jeffreys(np.array([0, 0, 1, 10]), np.array([0, 1, 1, 10])) == pytest.approx(
        [0.5, 0.25, 0.75, 10.5 / 11]
    )


def test_pool_doubles_the_mean_log_odds() -> None:
    # odds 1/3 and 3 cancel out; 4 and 1 have the geometric mean 2, squared 4; certainty counts as odds 99, squared 9801
    pooled = scores.pool([np.array([0.25, 0.8, 1.0]), np.array([0.75, 0.5, 1.0])])
    assert pooled == pytest.approx([0, np.log(4), np.log(9801)])


def test_base_rate_is_the_mean_of_the_probabilities_it_leads_to() -> None:
    log_odds = np.repeat([-4.0, 4.0], [900, 100])
    p = scores.with_base_rate(log_odds)
    rate = (p.sum() + 2) / 1020  # with the prior's 20 images, 2 of them wrong
    assert 0.08 < rate < 0.09, "100 of 1,000 speak for a wrong label, and not beyond doubt"
    assert p == pytest.approx(1 / (1 + np.exp(-log_odds) * (1 - rate) / rate), abs=1e-5)


def test_few_images_leave_the_prior_in_charge() -> None:
    undecided = scores.with_base_rate(np.zeros(4))
    assert undecided == pytest.approx(0.1, abs=1e-4), "no evidence: the prior's rate"
    assert scores.support(np.array([0] * 10 + [1] * 40 + [-1])) == pytest.approx([0.5] * 10 + [0.8] * 40 + [0])


def test_a_single_doubt_among_many_sure_labels_counts_less() -> None:
    alone = scores.with_base_rate(np.repeat([-4.0, 1.0], [999, 1]))[-1]
    among_many = scores.with_base_rate(np.repeat([-4.0, 1.0, 4.0], [500, 1, 500]))[500]
    assert alone < 0.1
    assert among_many == pytest.approx(1 / (1 + np.exp(-1)), abs=0.01)


@pytest.mark.parametrize(("log_odds", "expected"), [([-9.0] * 50, 0.0), ([9.0] * 50, 1.0), ([], 0.5)])
def test_base_rate_of_sets_without_contrast(log_odds: list[float], expected: float) -> None:
    p = scores.with_base_rate(np.array(log_odds))
    assert np.isfinite(p).all()
    assert p == pytest.approx(np.full(len(log_odds), expected), abs=1e-3)


def test_fit_is_the_best_class_above_chance() -> None:
    probabilities = np.array([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0], [0.5, 0.5, 0, 0]])
    assert scores.fit(probabilities) == pytest.approx([0, 1, 1 / 3])
    assert scores.fit(np.ones((2, 1))).tolist() == [1, 1]


def test_an_outlier_is_far_below_the_rest_and_near_chance() -> None:
    sure = np.linspace(0.9, 1.0, 40)
    assert np.flatnonzero(scores.is_outlier(np.append(sure, [0.1, 0.3]))).tolist() == [40]
    assert not scores.is_outlier(np.linspace(0.0, 0.15, 40)).any(), "unsure about every image: no outlier"
    assert scores.is_outlier(np.zeros(0)).shape == (0,)


def test_ranks_follow_suspicion_and_ties_follow_rows() -> None:
    p = np.array([0.1, 0.9, 0.9, 0.5, 0.9])
    assert scores.ranks(p, np.array([True, True, True, False, True])).tolist() == [4, 1, 2, 0, 3]


def test_noise_rate_is_the_mean_with_a_normal_interval() -> None:
    p = np.array([0.0, 0.0, 0.0, 1.0] * 25)
    result = estimate_noise_rate(p, [p, p])
    half = 1.6449 * np.sqrt(0.25 * 0.75 / 100)
    assert (result.estimate, result.low, result.high) == pytest.approx((0.25, 0.25 - half, 0.25 + half))


def test_noise_rate_is_less_certain_where_the_signals_disagree() -> None:
    p = np.full(100, 0.2)
    agreed = estimate_noise_rate(p, [p, p])
    torn = estimate_noise_rate(p, [p - 0.1, p + 0.1])
    half = 1.6449 * np.sqrt(0.2 * 0.8 / 100 + 0.02 / 2)
    assert torn.high - torn.estimate == pytest.approx(half)
    assert torn.high > agreed.high


def test_noise_rate_without_labels_is_unknown() -> None:
    assert estimate_noise_rate(np.zeros(0), []) == NoiseRate(0.0, 0.0, 1.0)


def test_noise_matrix_of_hard_suggestions() -> None:
    labels = np.array([0, 0, 1, 1, 1, -1])
    truth = np.array([0, 0, 0, 1, 1, 2])
    expected = [[2 / 3, 1 / 3, 0], [0, 1, 0], [0, 0, 1]]  # nobody belongs to the third class: identity
    assert noise_matrix(labels, truth, 3) == pytest.approx(np.array(expected))


def test_noise_matrix_of_probabilities_counts_in_parts() -> None:
    labels = np.array([0, 1])
    truth = np.array([[0.75, 0.25], [0.25, 0.75]])
    assert noise_matrix(labels, truth, 2) == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]))


def test_true_label_posterior_shares_the_doubt_among_the_other_classes() -> None:
    probabilities = np.array([[0.2, 0.6, 0.2], [1.0, 0.0, 0.0], [0.3, 0.3, 0.4]], np.float32)
    result = true_label_posterior(np.array([0, 0, -1]), probabilities, np.array([0.4, 0.4, 0.0]))
    expected = [[0.6, 0.3, 0.1], [0.6, 0.2, 0.2], [0.3, 0.3, 0.4]]
    assert result == pytest.approx(np.array(expected), abs=1e-6)
