"""Labels that go wrong where an image is doubtful, told from other wrong labels."""

import numpy as np
import pytest

from scanmix_cli.evidence import image_noise
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.fitting import HALF, fit_noise
from scanmix_cli.evidence.image_noise import by_classes, by_image, confusion, enough, follows_image, halved
from scanmix_cli.evidence.noise_model import NoiseModel, softmax
from scanmix_cli.evidence.witnesses import Witnesses
from scanmix_cli.streams import parts

CLASSES, IMAGES = 6, 4_000
BELIEFS = np.array([[0.8, 0.2], [0.6, 0.4], [0.1, 0.9]])
LABELS = np.array([0, 1, 1])


def doubtful_pairs(vague: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """Log-beliefs about images that lie between their class and its neighbour, true classes, doubt in 0..1."""
    generator = np.random.default_rng(seed)
    truth, doubt = generator.integers(0, CLASSES, IMAGES), generator.random(IMAGES)
    logits = np.zeros((IMAGES, CLASSES))
    logits[np.arange(IMAGES), truth] = 5
    logits[np.arange(IMAGES), truth ^ 1] = 5 * doubt
    return np.log(softmax(logits + generator.normal(0, vague, logits.shape))), truth, doubt, generator


def spoiled(kind: str, truth: np.ndarray, doubt: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    anything = (truth + generator.integers(1, CLASSES, IMAGES)) % CLASSES
    chances = {"people": 0.6 * doubt, "some": 0.15 * doubt, "few": 0.05 * doubt}
    chance = (chances | {"right": 0.0, "even": 0.8, "pairs": 0.4})[kind]
    wrong = np.where(generator.random(IMAGES) < 0.7, truth ^ 1, anything) if kind in chances else anything
    if kind == "pairs":
        wrong = (truth + 1) % CLASSES
    return np.where(generator.random(IMAGES) < chance, wrong, truth)


def believed(evidence: np.ndarray, labels: np.ndarray) -> Witnesses:
    """Of a run whose beliefs are these."""
    beliefs = softmax(evidence)
    kept = Evidence.empty(IMAGES, CLASSES, beliefs=True)
    kept.add(labels, [View(beliefs, -evidence[np.arange(IMAGES), labels], np.full(IMAGES, 0.5))])
    kept.final_probability[:] = beliefs
    return Witnesses.of(kept, labels, None)


@pytest.mark.parametrize("seed", [0, 1])
def test_labels_that_err_on_doubtful_images_are_said_to(seed: int) -> None:
    evidence, truth, doubt, generator = doubtful_pairs(1.5, seed)
    labels = spoiled("people", truth, doubt, generator)
    assert follows_image(evidence, labels)
    found = fit_noise(believed(evidence, labels), seed=0)
    assert found.model.say == HALF
    assert found.follows_image
    assert not found.none_wrong


@pytest.mark.parametrize("kind", ["right", "even", "pairs", "few"])
@pytest.mark.parametrize("seed", [0, 1])
def test_other_labels_are_not_said_to(kind: str, seed: int) -> None:
    """By what the fit asks, of the evidence that it asks about; that it heeds the answer is the next test's."""
    evidence, truth, doubt, generator = doubtful_pairs(1.5, seed)
    labels = spoiled(kind, truth, doubt, generator)
    assert not follows_image(believed(evidence, labels).full(np.arange(IMAGES))[0], labels)


def test_a_fit_to_other_labels_leaves_the_given_ones_their_say() -> None:
    evidence, truth, doubt, generator = doubtful_pairs(1.5)
    found = fit_noise(believed(evidence, spoiled("even", truth, doubt, generator)), seed=0)
    assert not found.none_wrong
    assert found.model.say == 1


@pytest.mark.parametrize(("slope", "found_slope", "said"), [(0.6, 0.43, False), (0.8, 0.58, True), (-1.2, -1.0, False)])
def test_a_slight_slope_is_fitted_but_not_said(slope: float, found_slope: float, said: bool) -> None:
    """The beliefs' doubt is not quite the images', so less of the slope is found."""
    evidence, truth, doubt, generator = doubtful_pairs(0.5)
    chance = 1 / (1 + np.exp(-slope * (2 * doubt - 1)))
    anything = (truth + generator.integers(1, CLASSES, IMAGES)) % CLASSES
    labels = np.where(generator.random(IMAGES) < chance, anything, truth)
    found = fit_noise(believed(evidence, labels), seed=0)
    assert found.model.sloped
    assert found.model.slope == pytest.approx(found_slope, abs=0.02)
    assert found.follows_image == said


def test_too_few_labels_cannot_tell() -> None:
    evidence, truth, doubt, generator = doubtful_pairs(1.5)
    assert not follows_image(evidence[:60], spoiled("people", truth, doubt, generator)[:60])


def test_the_margin_of_three_standard_errors_by_hand() -> None:
    # sqrt(.2 * .8 / 144) = .4 / 12 = .0333: three of them are the .1 by which a fifth passes a tenth
    assert [enough(0.2, labels, 0.1) for labels in (143, 145)] == [False, True]
    # at .36 it is .26: .48 / sqrt(n) = .26 / 3 where n = 30.7
    assert [enough(0.36, labels, 0.1) for labels in (30, 31)] == [False, True]
    assert not enough(0.1, 10**9, 0.1)


def test_as_many_wrong_labels_follow_the_image_once_there_are_enough_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 % of wrong labels pass a tenth by 2.5 standard errors in 2,000 labels, and by 3.5 in the same ones twice."""
    evidence, truth, doubt, generator = doubtful_pairs(1.5)
    evidence, labels = evidence[:2_000], spoiled("some", truth, doubt, generator)[:2_000]
    monkeypatch.setattr(image_noise, "MOST_PAIRED", 1.0)  # most of what few wrong labels there are lies in pairs
    assert not follows_image(evidence, labels)
    assert follows_image(np.tile(evidence, (2, 1)), np.tile(labels, 2))
    monkeypatch.setattr(image_noise, "LEAST_WRONG", 0.09)  # so that the margin alone was in the way
    assert follows_image(evidence, labels)


def test_confusion_and_half_of_it_by_hand() -> None:
    matrix = confusion(BELIEFS, LABELS)
    assert matrix == pytest.approx(np.array([[0.8 / 1.5, 0.7 / 1.5], [0.2 / 1.5, 1.3 / 1.5]]))
    first = np.array([0.8 * matrix[0, 0] ** 0.5, 0.2 * matrix[1, 0] ** 0.5])
    assert halved(BELIEFS, LABELS)[0] == pytest.approx(first / first.sum())


def test_a_model_of_a_confusion_says_as_much_as_its_exponent() -> None:
    matrix = confusion(BELIEFS, LABELS)
    for say, expected in ((0.5, halved(BELIEFS, LABELS)), (1.0, None)):
        found = NoiseModel.of_confusion(matrix, say).explain(np.log(BELIEFS)[None], LABELS, np.zeros(3))[2]
        if expected is None:
            expected = BELIEFS * matrix.T[LABELS]
            expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_beliefs_that_say_nothing_leave_the_shares_of_the_classes() -> None:
    labels = np.repeat([0, 1], 50)
    nothing = np.log(np.full((100, 2), 0.5))
    assert by_image(nothing, labels) == pytest.approx(np.full(100, np.log(0.5)))
    half, seen = parts(100, 2) == 0, np.empty(100)
    for own in (half, ~half):  # foretold by the shares in the other half, one label of each kind added
        seen[own] = np.log(((np.bincount(labels[~own]) + 1) / 52)[labels[own]])
    assert by_classes(nothing, labels)[0] == pytest.approx(seen, abs=1e-6)
