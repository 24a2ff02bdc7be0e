"""Hard classes, classes that are perhaps one, ambiguous images: by hand, and in evidence whose truth is known."""

import numpy as np
import pytest

from scanmix_cli.evidence.class_quality import ClassSums, two_classes
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.verdicts import judge


def test_sureness_and_overlap_by_hand() -> None:
    sums = ClassSums(3)
    before = np.array([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.0, 0.0, 1.0]])
    truth = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    sums.add(before[:1], truth[:1])
    sums.add(before[1:], truth[1:])
    assert sums.sureness().tolist() == pytest.approx([0.5, 0.6, 1.0])
    (pair,) = sums.overlaps()
    cosine = (0.5 * 0.5 + 0.4 * 0.6) / np.sqrt((0.5**2 + 0.4**2) * (0.5**2 + 0.6**2))
    assert (pair.one, pair.other, pair.overlap) == (0, 1, pytest.approx(cosine))


def test_a_class_without_images_is_neither_hard_nor_double() -> None:
    sums = ClassSums(2)
    sums.add(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]))
    assert sums.sureness().tolist() == [1.0, 1.0]
    assert sums.overlaps() == []


def test_ambiguous_is_between_two_classes_and_no_others() -> None:
    before = np.array([[0.05, 0.45, 0.5], [0.75, 0.25, 0.0], [0.8, 0.2, 0.0], [0.4, 0.3, 0.3]])
    assert two_classes(before).tolist() == [[2, 1], [0, 1], [-1, -1], [-1, -1]], "the likelier first"
    assert two_classes(np.ones((2, 1))).tolist() == [[-1, -1]] * 2


def test_ambiguous_images_are_no_wrong_labels_and_a_double_class_is_named() -> None:
    """Classes 3 and 4 are one thing under two names; 30 images lie between 0 and 1; 40 labels of class 2 are wrong."""
    generator = np.random.default_rng(0)
    truth = np.arange(500) % 5
    seen = 0.02 + 0.9 * np.eye(5)[truth]
    seen[truth >= 3] = [0.02, 0.02, 0.02, 0.47, 0.47]
    between = np.flatnonzero(truth < 2)[:30]
    seen[between] = [0.47, 0.47, 0.02, 0.02, 0.02]
    labels, wrong = truth.copy(), np.flatnonzero(truth == 2)[:40]
    labels[wrong] = generator.choice([0, 1], 40)
    noisy = np.exp(np.log(seen) + generator.normal(0, 0.1, seen.shape))
    probabilities = noisy / noisy.sum(axis=1, keepdims=True)
    evidence = Evidence.empty(500, 5)
    evidence.add(labels, [View(probabilities, np.ones(500), np.full(500, 0.5))])
    evidence.final_probability[:] = probabilities
    verdicts = judge(evidence, labels, None)
    assert verdicts.is_ambiguous[between].mean() >= 0.9
    assert set(verdicts.two_classes[between][verdicts.is_ambiguous[between]].ravel()) == {0, 1}
    assert verdicts.is_label_issue[between].mean() <= 0.1
    assert verdicts.is_ambiguous[wrong].mean() <= 0.05
    assert [(pair.one, pair.other) for pair in verdicts.class_overlaps] == [(3, 4)]
    assert set(np.argsort(verdicts.class_sureness)[:2]) == {3, 4}


@pytest.mark.parametrize("beliefs", [False, True])
def test_a_class_that_no_label_names_makes_no_claims(beliefs: bool) -> None:
    """Networks leave class 3, of which there is no label, a share of every image, a large one of those of class 2."""
    generator = np.random.default_rng(0)
    truth = np.arange(300) % 3
    seen = 0.03 + 0.6 * np.eye(4)[truth]
    seen[:, 3] = np.where(truth == 2, 0.55, 0.15)
    noisy = np.exp(np.log(seen) + generator.normal(0, 0.3, seen.shape))
    probabilities = noisy / noisy.sum(axis=1, keepdims=True)
    labels = np.where(generator.random(300) < 0.1, (truth + 1) % 3, truth)
    labels[:20] = -1
    evidence = Evidence.empty(300, 4, beliefs=beliefs)
    evidence.add(labels, [View(probabilities, np.ones(300), np.full(300, 0.5))])
    evidence.final_probability[:] = probabilities
    verdicts = judge(evidence, labels, None)
    assert verdicts.confusions
    assert 3 not in {number for pair in verdicts.confusions for number in (pair.true, pair.given)}
    assert 3 not in {number for pair in verdicts.class_overlaps for number in (pair.one, pair.other)}
    assert verdicts.noise_matrix[3].tolist() == [0.0, 0.0, 0.0, 1.0], "nothing speaks against its labels"
    assert verdicts.true_images[3] == 0
    assert verdicts.class_sureness[3] == 1
    assert (verdicts.suggested < 3).all()
    assert (verdicts.two_classes < 3).all()
    assert verdicts.true_images.sum() == pytest.approx(280, rel=1e-4)
