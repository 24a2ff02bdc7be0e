"""The model of wrong labels: its formulas by hand, and what it finds in simulated evidence whose truth is known."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.fitting import Fitted, fit_noise
from scanmix_cli.evidence.model_search import FREE_CLASSES, spread_of_rate
from scanmix_cli.evidence.noise_model import NoiseModel, softmax
from scanmix_cli.evidence.noise_rate import NoiseRate
from scanmix_cli.evidence.verdicts import Verdicts, _cautious, judge
from scanmix_cli.evidence.witnesses import Witnesses

CLASSES = 5


def test_posterior_of_one_image_by_hand() -> None:
    model = NoiseModel.even(1, 3, 0.4, 10.0)
    classes = np.array([0.5, 0.3, 0.2])
    features = np.log(classes)[None, None].astype(np.float32)
    before, wrong, after, likelihood = model.explain(features, np.array([2]), np.zeros(1))
    assert before[0] == pytest.approx(classes)
    assert wrong[0] == pytest.approx([0.4] * 3)
    joint = np.array([0.5 * 0.2, 0.3 * 0.2, 0.2 * 0.6])  # wrong labels are spread over two other classes
    assert likelihood == pytest.approx([joint.sum()])
    assert after[0] == pytest.approx(joint / joint.sum())


def test_ambiguity_shifts_the_log_odds_of_a_wrong_label() -> None:
    model = NoiseModel(np.zeros(1), np.zeros(2), -1.0, 0.5, np.array([0.0, 1.0]), np.zeros((2, 2)), 10.0, True)
    expected = 1 / (1 + np.exp([[1.5, 0.5], [0.5, -0.5]]))
    assert model.wrong_shares(np.array([-1.0, 1.0])) == pytest.approx(expected)


def test_gradient_is_that_of_the_likelihood() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(2, 30, 4)).astype(np.float64)
    labels, ambiguity = generator.integers(0, 4, 30), generator.uniform(-1, 1, 30)
    model = NoiseModel.even(2, 4, 0.3, 5.0, sloped=True)
    at = model._vector() + generator.normal(0, 0.1, len(model._vector()))

    def value(x: np.ndarray) -> float:
        return model._from(x)._loss(features, labels, ambiguity)[0]

    def gradient(x: np.ndarray) -> np.ndarray:
        return model._from(x)._loss(features, labels, ambiguity)[1]

    assert check_grad(value, gradient, at, epsilon=1e-3) < 2e-3  # shares are single precision


@pytest.mark.parametrize("sloped", [False, True])
def test_of_noise_that_is_alike_in_all_classes_only_level_and_slope_are_fitted(sloped: bool) -> None:
    generator = np.random.default_rng(1)
    features = generator.normal(size=(2, 700, 4))
    labels, ambiguity = generator.integers(0, 4, 700), generator.uniform(-1, 1, 700)
    stiff = NoiseModel.even(2, 4, 0.3, 1e12, sloped)
    alike = NoiseModel.even(2, 4, 0.3, np.inf, sloped)
    assert len(alike._vector()) == 2 + 4 + 2
    both = (model.explain(features, labels, ambiguity) for model in (alike, stiff))
    for ours, theirs in zip(*both, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-6)
    gradient = alike._loss(features, labels, ambiguity)[1]
    assert gradient == pytest.approx(stiff._loss(features, labels, ambiguity)[1][:8], abs=1e-6)
    assert alike._loss(features, labels, ambiguity, noise=False)[1] == pytest.approx(gradient[:6])


def test_many_classes_are_held_to_be_alike_and_few_may_differ() -> None:
    generator = np.random.default_rng(0)
    for classes, alike in ((FREE_CLASSES, False), (FREE_CLASSES + 1, True)):
        labels = generator.integers(0, classes, 300)
        probabilities = 0.2 / classes + 0.8 * np.eye(classes)[labels]
        evidence = Evidence.empty(300, classes)
        evidence.add(labels, [View(probabilities, np.ones(300), np.full(300, 0.5))])
        evidence.final_probability[:] = probabilities
        assert fit_noise(Witnesses.of(evidence, labels, None), seed=0).model.alike == alike


def test_a_rate_asked_for_is_the_rate_expected() -> None:
    features = np.random.default_rng(0).normal(size=(1, 50, 3)).astype(np.float32)
    model = NoiseModel.even(1, 3, 0.2, 10.0).at_rate(0.37, features, np.zeros(50))
    assert 1 / (1 + np.exp(-model.level)) == pytest.approx(0.37, abs=1e-4)


def simulated(
    images: int, sharpness: float, spoil: np.ndarray, seed: int = 0
) -> tuple[Evidence, np.ndarray, np.ndarray, np.ndarray]:
    """Evidence of networks whose probabilities mean what they say once tempered: the truth is drawn from them.

    sharpness: of the networks; spoil float (C, C): P(given | true). Returns evidence, given labels, truth, neighbours.
    """
    generator = np.random.default_rng(seed)
    probabilities = softmax(sharpness * generator.normal(size=(images, CLASSES)))
    truth = (probabilities.cumsum(1) < generator.random((images, 1))).sum(1).clip(0, CLASSES - 1)
    labels = (spoil[truth].cumsum(1) < generator.random((images, 1))).sum(1).clip(0, CLASSES - 1)
    shown = softmax(0.5 * np.log(probabilities + 1e-9))  # timid, as means over epochs are
    evidence = Evidence.empty(images, CLASSES)
    evidence.add(labels, [View(shown, -np.log(shown[np.arange(images), labels]), np.full(images, 0.5))])
    evidence.final_probability[:] = shown
    near = np.sqrt(probabilities) @ np.sqrt(probabilities).T - 2 * np.eye(images)
    return evidence, labels, truth, np.argsort(-near, axis=1)[:, :10]


def even(rate: float) -> np.ndarray:
    return (1 - rate) * np.eye(CLASSES) + rate / (CLASSES - 1) * (1 - np.eye(CLASSES))


def pairwise(rate: float) -> np.ndarray:
    return (1 - rate) * np.eye(CLASSES) + rate * np.roll(np.eye(CLASSES), 1, axis=1)


def calibration_error(verdicts: Verdicts, wrong: np.ndarray) -> float:
    place = np.minimum((verdicts.p_mislabeled * 15).astype(int), 14)
    sums = [np.bincount(place, values, 15) for values in (verdicts.p_mislabeled, wrong)]
    return float(np.abs(sums[0] - sums[1]).sum() / len(wrong))


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.6])
def test_probabilities_mean_what_they_say(rate: float) -> None:
    evidence, labels, truth, neighbors = simulated(2_000, 6.0, even(rate))
    verdicts, wrong = judge(evidence, labels, neighbors), labels != truth
    assert calibration_error(verdicts, wrong) <= 0.05
    assert abs(verdicts.noise_rate.estimate - wrong.mean()) <= 0.045
    assert verdicts.noise_rate.low <= wrong.mean() <= verdicts.noise_rate.high


@pytest.mark.parametrize("converged", [True, False])
def test_of_good_witnesses_the_rate_is_known_nearly_as_well_as_a_share_of_cases(converged: bool) -> None:
    generator = np.random.default_rng(0)
    images, rate = 1_000, 0.2
    probabilities = softmax(8 * generator.normal(size=(images, CLASSES)))
    truth = (probabilities.cumsum(1) < generator.random((images, 1))).sum(1).clip(0, CLASSES - 1)
    wrong = generator.random(images) < rate
    labels = np.where(wrong, (truth + generator.integers(1, CLASSES, images)) % CLASSES, truth)
    features = np.log(probabilities + 1e-4).astype(np.float32)[None]
    data = (features, labels, np.zeros(images))
    model = NoiseModel.even(1, CLASSES, rate, 1e5)
    error, none_wrong = spread_of_rate(model.fitted(*data, steps=50) if converged else model, data)
    assert 0.9 <= error / np.sqrt(rate * (1 - rate) / images) <= 1.7
    assert not none_wrong
    assert spread_of_rate(NoiseModel.even(1, CLASSES, 1e-3, 1e5), (features, truth, np.zeros(images)))[1]


@pytest.mark.parametrize("seed", range(2))
def test_the_interval_is_narrow_where_the_networks_are_good(seed: int) -> None:
    evidence, labels, truth, neighbors = simulated(1_200, 8.0, even(0.2), seed)
    rate = judge(evidence, labels, neighbors).noise_rate
    assert rate.low <= (labels != truth).mean() <= rate.high
    assert rate.high - rate.low <= 0.12


def test_a_weak_classifier_makes_no_suspects_of_right_labels() -> None:
    evidence, labels, truth, neighbors = simulated(1_500, 1.0, even(0.0))
    assert (evidence.probability_sum.argmax(1) == truth).mean() < 0.5, "half of all predictions contradict the label"
    verdicts = judge(evidence, labels, neighbors)
    assert verdicts.is_label_issue.mean() <= 0.005
    assert verdicts.noise_rate.low <= 0.01


def test_labels_that_may_be_right_are_accused_by_more_than_the_rate() -> None:
    p = np.array([0.0, 0.8, 0.99])
    low, estimate = 0.02, 0.08
    factor = (low / 0.98) / (estimate / 0.92)
    odds = np.array([0.0, 4.0, 99.0]) * factor
    assert _cautious(p, NoiseRate(estimate, low, 0.14), False) == pytest.approx(odds / (1 + odds))
    assert _cautious(p, NoiseRate(0.08, 0.06, 0.1), False) is p, "there surely are wrong labels"
    wide = NoiseRate(0.3, 0.09, 0.5)
    assert _cautious(p, wide, False) is p
    odds = np.array([0.0, 4.0, 99.0]) * (0.09 / 0.91) / (0.3 / 0.7)
    assert _cautious(p, wide, True) == pytest.approx(odds / (1 + odds)), "beliefs may be of weak features"
    assert _cautious(p, NoiseRate(0.3, 0.11, 0.5), True) is p


def test_mistakes_in_pairs_are_named() -> None:
    evidence, labels, truth, neighbors = simulated(2_000, 6.0, pairwise(0.3))
    verdicts = judge(evidence, labels, neighbors)
    assert verdicts.noise_kind.startswith("pairwise")
    assert {(pair.true, pair.given) for pair in verdicts.confusions[:CLASSES]} == {
        (k, (k + 1) % CLASSES) for k in range(CLASSES)
    }
    assert calibration_error(verdicts, labels != truth) <= 0.05


def fitted(labels: np.ndarray, evidence: Evidence) -> Fitted:
    return fit_noise(Witnesses.of(evidence, labels, None), seed=0)


def test_without_neighbours_the_networks_alone_are_read() -> None:
    evidence, labels, truth, _ = simulated(1_500, 6.0, even(0.3))
    assert fitted(labels, evidence).rate == pytest.approx((labels != truth).mean(), abs=0.03)


def test_sets_of_a_few_images_are_fitted_too() -> None:
    evidence, labels, _, _ = simulated(4, 6.0, even(0.0))
    result = fitted(labels, evidence)
    assert 0 <= result.rate <= 1
    assert np.isfinite(result.model._vector()).all()


def test_a_sample_is_drawn_from_labelled_images_alone() -> None:
    evidence, labels, _, _ = simulated(200, 6.0, even(0.0))
    with pytest.raises(ValueError, match="no labelled image"):
        fitted(np.full_like(labels, -1), evidence)
