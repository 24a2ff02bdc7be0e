"""Verdicts on evidence whose truth is known."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from scanmix_cli.errors import RunError
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.verdicts import actions, issues, judge, suggest
from scanmix_cli.evidence.witnesses import Witnesses

IMAGES, CLASSES, EPOCHS = 400, 5, 8


def gathered(noise: float, seed: int = 0) -> tuple[Evidence, np.ndarray, np.ndarray, np.ndarray]:
    """Evidence of networks that are right 4 times of 5; also given labels, true labels and neighbours."""
    generator = np.random.default_rng(seed)
    truth = np.arange(IMAGES) % CLASSES
    wrong = generator.random(IMAGES) < noise
    labels = np.where(wrong, (truth + generator.integers(1, CLASSES, IMAGES)) % CLASSES, truth)
    labels[:10] = -1
    evidence = Evidence.empty(IMAGES, CLASSES)
    rows = np.arange(IMAGES)
    for _ in range(EPOCHS):
        logits = generator.normal(0, 1, (IMAGES, CLASSES))
        logits[rows, truth] += 2.5
        probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        losses = -np.log(probabilities[rows, np.maximum(labels, 0)])
        evidence.add(labels, [View(probabilities, losses, 1 / (1 + np.exp(losses - 2)))])
    evidence.final_probability = (evidence.probability_sum / EPOCHS).astype(np.float32)
    neighbors = np.stack([generator.choice(np.flatnonzero(truth == true), 10) for true in truth])
    return evidence, labels, truth, neighbors


@pytest.mark.parametrize("with_neighbors", [True, False])
def test_verdicts_find_wrong_labels_and_the_right_ones(with_neighbors: bool) -> None:
    evidence, labels, truth, neighbors = gathered(noise=0.3)
    verdicts = judge(evidence, labels, neighbors if with_neighbors else None)
    known = labels >= 0
    wrong = known & (labels != truth)
    found = verdicts.is_label_issue
    assert (found & wrong).sum() / found.sum() > 0.95
    assert (found & wrong).sum() / wrong.sum() > 0.95
    assert (verdicts.suggested == truth).mean() > 0.98
    assert verdicts.noise_rate.low <= wrong.sum() / known.sum() <= verdicts.noise_rate.high
    assert sorted(verdicts.rank[known]) == list(range(1, known.sum() + 1))
    assert wrong[np.argsort(verdicts.rank)[10:60]].all(), "the 50 most suspect labels are wrong"


def test_every_number_is_finite_and_in_its_range() -> None:
    evidence, labels, _, neighbors = gathered(noise=0.5)
    verdicts = judge(evidence, labels, neighbors)
    for values in (
        verdicts.label_score,
        verdicts.p_mislabeled,
        verdicts.p_suggested,
        verdicts.p_clean_gmm,
        verdicts.outlier_score,
        verdicts.neighbor_agreement,
    ):
        assert np.isfinite(values).all()
        assert values.min() >= 0
        assert values.max() <= 1
    assert np.isfinite(verdicts.mean_loss).all()
    assert verdicts.label_score[10:] == pytest.approx(1 - verdicts.p_mislabeled[10:])
    assert verdicts.noise_matrix.sum(1) == pytest.approx(np.ones(CLASSES))


def test_few_suspects_where_the_labels_are_right() -> None:
    evidence, labels, _, neighbors = gathered(noise=0.0)
    assert judge(evidence, labels, neighbors).is_label_issue.mean() <= 0.005


def test_right_labels_are_ranked_as_finely_as_they_are_doubted() -> None:
    """All labels are right and the beliefs sure: p_mislabeled lies far below what 1 - p can tell in 32 bits."""
    generator, images = np.random.default_rng(0), 4_000
    labels = np.arange(images) % CLASSES
    doubt = 10.0 ** generator.uniform(-3, -2, images)
    probabilities = np.repeat(doubt[:, None] / (CLASSES - 1), CLASSES, axis=1)
    probabilities[np.arange(images), labels] = 1 - doubt
    evidence = Evidence.empty(images, CLASSES, beliefs=True)
    for _ in range(EPOCHS):
        evidence.add(labels, [View(probabilities, doubt, 1 - doubt)])
    evidence.final_probability = probabilities.astype(np.float32)
    verdicts = judge(evidence, labels, None)
    assert np.quantile(verdicts.p_mislabeled, 0.9) < 1e-7
    assert spearmanr(-verdicts.rank, doubt).statistic > 0.9999


@pytest.mark.usefixtures("each_fit_once")
def test_wrong_labels_known_from_elsewhere_raise_the_rate_and_keep_the_order() -> None:
    evidence, labels, _, neighbors = gathered(noise=0.1)
    alone = judge(evidence, labels, neighbors)
    fewer = judge(evidence, labels, neighbors, open_errors=1.0)
    assert np.array_equal(fewer.p_mislabeled, alone.p_mislabeled), "never lowered"
    labelled = (labels >= 0).sum()
    more = judge(evidence, labels, neighbors, open_errors=0.2 * labelled)
    assert more.noise_rate.estimate == pytest.approx(0.2, abs=5e-3)
    # standard error 0.3 of the rate, of which 90 % lie within 1.645
    assert more.noise_rate.low == pytest.approx(0.2 - 1.645 * 0.06, abs=0.02)
    assert (more.p_mislabeled >= alone.p_mislabeled - 1e-6).all()
    assert set(np.argsort(alone.rank)[10:40]) <= set(np.argsort(more.rank)[10:60])


def test_unlabelled_images_get_a_suggestion_and_no_issue() -> None:
    evidence, labels, truth, neighbors = gathered(noise=0.2)
    verdicts = judge(evidence, labels, neighbors)
    assert not verdicts.is_label_issue[:10].any()
    assert (verdicts.rank[:10] == 0).all()
    assert (verdicts.suggested[:10] == truth[:10]).all()
    assert set(verdicts.suggested_action[:10]) <= {"relabel", "review"}


def test_a_set_without_any_label_still_gets_suggestions() -> None:
    evidence = Evidence.empty(3, 2)
    nothing = np.full(3, -1)
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    evidence.add(nothing, [View(probabilities, np.zeros(3), np.full(3, 0.5))])
    verdicts = judge(evidence, nothing, np.array([[1], [2], [0]]))
    assert verdicts.suggested.tolist() == [0, 1, 0]
    assert verdicts.suggested_action.tolist() == ["relabel", "relabel", "review"]
    assert (verdicts.noise_rate.estimate, verdicts.noise_rate.high) == (0.0, 1.0)
    assert np.array_equal(verdicts.noise_matrix, np.eye(2))


@pytest.mark.usefixtures("each_fit_once")
def test_threshold_decides_what_is_an_issue() -> None:
    evidence, labels, _, neighbors = gathered(noise=0.3)
    strict, loose = (judge(evidence, labels, neighbors, threshold=cut) for cut in (0.9, 0.1))
    assert strict.is_label_issue.sum() < loose.is_label_issue.sum()
    assert np.array_equal(loose.is_label_issue, (labels >= 0) & (loose.p_mislabeled >= 0.1))


def test_actions_row_by_row() -> None:
    labels = np.array([0, 0, 0, 0, 0, -1, -1, -1])
    suggested = np.array([0, 1, 1, 0, 1, 1, 1, 1])
    p_suggested = np.array([0.9, 0.8, 0.79, 0.9, 0.2, 0.9, 0.5, 0.2])
    issue = np.array([False, True, True, True, True, False, False, False])
    outlier = np.array([True, False, False, False, True, False, False, True])
    expected = ["keep", "relabel", "review", "review", "drop", "relabel", "review", "drop"]
    assert actions(labels, suggested, p_suggested, issue, outlier).tolist() == expected


def test_what_fits_no_class_is_told_from_what_is_labelled_wrong() -> None:
    """Networks are as sure of both; the neighbours of the first are of many classes, those of the second of one."""
    evidence, labels, truth, neighbors = gathered(noise=0.2)
    generator = np.random.default_rng(1)
    strange = np.flatnonzero(labels == truth)[:20]
    neighbors[strange] = generator.integers(0, IMAGES, (20, 10))
    verdicts = judge(evidence, labels, neighbors)
    wrong = (labels >= 0) & (labels != truth)
    wrong[strange] = False
    assert np.quantile(verdicts.outlier_score[strange], 0.9) < np.quantile(verdicts.outlier_score[wrong], 0.1)


def test_of_two_classes_what_lies_between_them_is_no_outlier() -> None:
    """It is put up for review, not dropped."""
    truth = np.arange(IMAGES) % 2
    sure = np.where(truth[:, None] == np.arange(2), 0.98, 0.02)
    between, labels = np.arange(20), truth.copy()
    sure[between], labels[:10] = 0.5, -1
    evidence = Evidence.empty(IMAGES, 2)
    losses = -np.log(sure[np.arange(IMAGES), np.maximum(labels, 0)])
    for _ in range(EPOCHS):
        evidence.add(labels, [View(sure, losses, 1 - losses / 10)])
    evidence.final_probability[:] = sure
    verdicts = judge(evidence, labels, None)
    assert verdicts.outlier_score[between].max() < 0.01
    assert not verdicts.is_outlier_issue.any()
    assert set(verdicts.suggested_action[:10]) == {"review"}


def test_opinion_is_the_mean_of_networks_neighbours_and_their_labels() -> None:
    evidence = Evidence.empty(3, 2)
    evidence.add(np.array([0, 1, 1]), [View(np.array([[0.8, 0.2], [0.4, 0.6], [0.2, 0.8]]), np.ones(3), np.ones(3))])
    witnesses = Witnesses.of(evidence, np.array([0, 1, 1]), np.array([[1, 2], [0, 2], [2, 2]]))
    said = witnesses.opinion(np.array([0, 2]))
    assert said[0] == pytest.approx([(0.8 + 0.3 + 0.0) / 3, (0.2 + 0.7 + 1.0) / 3], abs=1e-4)
    assert said[1] == pytest.approx([(0.2 + 0.5 + 0.5) / 3, (0.8 + 0.5 + 0.5) / 3], abs=1e-4), "no neighbour but itself"


def test_neighbor_agreement_is_the_share_of_equal_labels() -> None:
    evidence = Evidence.empty(4, 2)
    labels = np.array([0, 0, 1, -1])
    evidence.add(labels, [View(np.array([[0.9, 0.1]] * 4), np.ones(4), np.ones(4))])
    verdicts = judge(evidence, labels, np.array([[1, 2], [0, 3], [0, 1], [3, 3]]))
    assert verdicts.neighbor_agreement.tolist() == [0.5, 1.0, 0.0, 0.0]


def test_the_same_evidence_gives_the_same_verdicts() -> None:
    one, other = (judge(*gathered(noise=0.3)[:2], gathered(noise=0.3)[3]) for _ in range(2))
    assert np.array_equal(one.p_mislabeled, other.p_mislabeled)
    assert np.array_equal(one.rank, other.rank)


def test_no_observation_is_an_error() -> None:
    with pytest.raises(RunError) as error:
        judge(Evidence.empty(3, 2), np.zeros(3, np.int64), None)
    assert str(error.value) == (
        "no epoch of the main loop was observed, so no label can be judged: use `--epochs 1` or more"
    )


def test_evidence_that_is_not_finite_is_an_error() -> None:
    evidence = Evidence.empty(3, 2)
    labels = np.zeros(3, np.int64)
    evidence.add(labels, [View(np.full((3, 2), 0.5), np.array([0.1, np.nan, 0.1]), np.ones(3))])
    with pytest.raises(RunError) as error:
        judge(evidence, labels, None)
    assert str(error.value) == (
        "the evidence of training image 1 holds a value that is not a number (loss_sum): "
        "the training diverged, so use `--precision fp32`, or lower the learning rates of config.toml and give it "
        "with `--config`"
    )


def test_suggestions_keep_the_label_unless_it_is_an_issue() -> None:
    labels = np.array([0, 0, 1, -1])
    truth = np.array([[0.6, 0.3, 0.1], [0.45, 0.2, 0.35], [0.9, 0.05, 0.05], [0.1, 0.2, 0.7]])
    issue = np.array([False, True, True, False])
    assert suggest(labels, truth, issue).tolist() == [0, 2, 0, 2]


def test_issues_are_the_longest_list_that_is_pure_enough() -> None:
    p = np.array([0.9, 0.0, 0.55, 0.95, 0.6, 0.99])
    rank = np.array([2, 0, 5, 3, 4, 1])
    rank[[0, 3]] = rank[[3, 0]]  # 0.99, 0.95, 0.9, 0.6, 0.55: means 0.99, 0.97, 0.947, 0.86, 0.798
    assert issues(p, rank, 0.5).tolist() == [True, False, False, True, True, True]
    assert issues(p, rank, 0.92).tolist() == [False, False, False, True, False, True]
    assert issues(np.full(3, 0.7), np.array([1, 2, 3]), 0.5).tolist() == [False] * 3, "no list is pure enough"
