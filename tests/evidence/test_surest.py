"""How many labels are wrong, by the surest images."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta

from scanmix_cli.evidence import fitting
from scanmix_cli.evidence.fitting import Fitted, fit_noise
from scanmix_cli.evidence.noise_model import softmax
from scanmix_cli.evidence.surest import LEVEL, TIMES, wrong_at_surest
from scanmix_cli.evidence.witnesses import Witnesses

pytestmark = pytest.mark.usefixtures("each_fit_once")  # of two limits, or none, only what becomes of the fits differs


def said(images: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (N, 2) of a classifier, evenly spread from sure to unsure, and what it says."""
    rng = np.random.default_rng(seed)
    sure = rng.permutation(np.linspace(0.5, 1, images, endpoint=False))
    chosen = rng.integers(0, 2, images)
    probabilities = np.where(np.arange(2) == chosen[:, None], sure[:, None], 1 - sure[:, None])
    return probabilities, chosen


def interval(wrong: int, count: int) -> tuple[float, float]:
    """Clopper and Pearson's, by quantiles of the beta distribution."""
    tail = (1 - LEVEL) / 2
    low = float(beta.ppf(tail, wrong, count - wrong + 1)) if wrong else 0.0
    return low, float(beta.ppf(1 - tail, wrong + 1, count - wrong))


def test_the_surest_tenth_of_each_class_is_counted() -> None:
    probabilities = np.array([[0.9, 0.1]] * 10 + [[0.4, 0.6]] * 20, float)
    probabilities[3], probabilities[17], probabilities[25] = (0.95, 0.05), (0.2, 0.8), (0.3, 0.7)
    labels = np.array([0] * 10 + [1] * 20)
    assert wrong_at_surest(probabilities, labels) == pytest.approx(interval(0, 3))
    labels[25] = 0  # the second surest of the second class
    labels[0] = 1  # not the surest of the first
    assert wrong_at_surest(probabilities, labels) == pytest.approx(interval(1, 3))


def test_images_that_are_equally_sure_are_all_counted_wherever_they_stand() -> None:
    probabilities, labels = np.array([[1.0, 0.0]] * 100), np.array([0] * 60 + [1] * 40)  # as folders are read
    assert wrong_at_surest(probabilities, labels) == pytest.approx(interval(40, 100))
    assert wrong_at_surest(probabilities, labels[::-1]) == pytest.approx(interval(40, 100))


def test_unlabelled_images_are_not_counted() -> None:
    probabilities, labels = said(4000)
    labels = np.where(probabilities.max(1) > 0.97, 1 - labels, labels)
    count = sum(int(np.ceil(0.1 * (labels == one).sum())) for one in (0, 1))
    assert wrong_at_surest(probabilities, labels)[0] > 0.5
    labels[probabilities.max(1) > 0.97] = -1  # the next ones are asked
    low, high = wrong_at_surest(probabilities, labels)
    assert low == 0
    assert high == pytest.approx(interval(0, count)[1], rel=0.1)
    assert wrong_at_surest(probabilities, np.full(4000, -1)) == (0.0, 1.0)


def test_doubts_of_features_say_nothing_there_and_wrong_labels_do() -> None:
    probabilities, chosen = said(10_000)
    doubted = np.where(probabilities.max(1) < 0.7, 1 - chosen, chosen)
    assert wrong_at_surest(probabilities, doubted)[1] < 0.005
    wrong = np.random.default_rng(1).random(10_000) < 0.3
    low, high = wrong_at_surest(probabilities, np.where(wrong, 1 - chosen, chosen))
    assert 0.26 < low < 0.3 < high < 0.34


def overconfident(images: int, seed: int) -> tuple[Witnesses, np.ndarray]:
    """Right labels of two pairs of classes, and features that tell each pair from the other, but not within: their odds
    there are right in the second pair and three times too large in the first."""
    rng = np.random.default_rng(seed)
    pair, odds = rng.integers(0, 2, images), rng.normal(0, 4, images)
    truth = 2 * pair + (rng.random(images) < 1 / (1 + np.exp(-odds)))
    stated, logits = odds * np.where(pair == 0, 3.0, 1.0), np.full((images, 4), -9.0)
    rows = np.arange(images)
    logits[rows, 2 * pair], logits[rows, 2 * pair + 1] = -stated / 2, stated / 2
    regression = softmax(logits).astype(np.float32)
    return Witnesses(regression, regression, truth, None, regression), truth


@cache
def without_limit(features: Callable[[int, int], tuple[Witnesses, np.ndarray]]) -> Fitted:
    """The fit of the first 6,000 of them, whatever the surest images say."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(fitting, "wrong_at_surest", lambda *of: (0.0, 1.0))
        return fit_noise(features(6000, 0)[0], 0)


def test_features_that_confuse_two_classes_accuse_no_right_label() -> None:
    witnesses, truth = overconfident(6000, 0)
    limit = TIMES * wrong_at_surest(witnesses.regression, truth)[1]
    assert (witnesses.regression.argmax(1) != truth).mean() > 0.1 > 2 * limit
    limited, unlimited = fit_noise(witnesses, 0), without_limit(overconfident)
    assert unlimited.free
    assert not unlimited.none_wrong
    assert unlimited.rate > 0.05 > 1.1 * limit
    assert not limited.free
    assert limited.rate < 0.001
    rows = np.arange(6000)
    posterior = limited.model.explain(witnesses.full(rows), truth, witnesses.ambiguity())[2]
    assert (1 - posterior[rows, truth] > 0.5).sum() == 0


def test_the_limit_leaves_wrong_labels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    witnesses, truth = overconfident(6000, 1)
    rng = np.random.default_rng(2)
    wrong = rng.random(6000) < 0.3
    noisy = replace(witnesses, labels=np.where(wrong, (truth + rng.integers(1, 4, 6000)) % 4, truth))
    limited = fit_noise(noisy, 0)
    assert limited.plain == wrong_at_surest(noisy.regression, noisy.labels)[0] > 0.25
    monkeypatch.setattr("scanmix_cli.evidence.fitting.wrong_at_surest", lambda *of: (0.0, 1.0))
    assert limited.rate == fit_noise(noisy, 0).rate == pytest.approx(wrong.mean(), abs=0.04)


@pytest.mark.parametrize(("part", "free"), [(0.36, True), (0.3, False)])
def test_labels_may_be_wrong_three_times_as_often_elsewhere(
    part: float, free: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    witnesses, _ = overconfident(6000, 0)
    rate = without_limit(overconfident).rate
    monkeypatch.setattr("scanmix_cli.evidence.fitting.wrong_at_surest", lambda *of: (0.0, part * rate))
    assert fit_noise(witnesses, 0).free == free


def test_a_vaguer_witness_does_not_explain_what_the_surest_images_contradict(monkeypatch: pytest.MonkeyPatch) -> None:
    witnesses, truth = overconfident(6000, 1)
    wrong = np.random.default_rng(2).random(6000) < 0.3
    noisy = replace(witnesses, labels=np.where(wrong, (truth + 1) % 4, truth))
    read = fitting._read
    monkeypatch.setattr(fitting, "_read", lambda *of: replace(read(*of), none_wrong=True))
    fitted = fit_noise(noisy, 0)
    assert not fitted.none_wrong
    assert fitted.plain == wrong_at_surest(noisy.regression, noisy.labels)[0] > 0.25
    monkeypatch.setattr(fitting, "wrong_at_surest", lambda *of: (0.4 * fitted.rate, 1.0))
    unbacked = fit_noise(noisy, 0)
    assert unbacked.none_wrong
    assert unbacked.plain == 0


def beliefs(images: int, seed: int) -> tuple[Witnesses, np.ndarray]:
    """The same as vaguer beliefs of a loop, which are given more weight than they state."""
    witnesses, truth = overconfident(images, seed)
    shown = softmax(0.6 * np.log(witnesses.mean.astype(float) + 1e-9)).astype(np.float32)
    return Witnesses(shown, shown, truth, None, beliefs=True), truth


def test_beliefs_that_confuse_two_classes_accuse_no_right_label_either(monkeypatch: pytest.MonkeyPatch) -> None:
    witnesses, _ = beliefs(6000, 0)
    limited, unlimited = fit_noise(witnesses, 0), without_limit(beliefs)
    assert unlimited.free
    assert unlimited.rate > 0.05 > TIMES * wrong_at_surest(witnesses.mean, witnesses.labels)[1]
    assert not limited.free
    assert limited.rate < 0.015
    monkeypatch.setattr(fitting, "wrong_at_surest", lambda *of: (0.0, 1.01 * unlimited.rate / TIMES))
    assert fit_noise(witnesses, 0).rate == unlimited.rate


def test_a_classifier_may_be_wrong_elsewhere_as_often_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    witnesses, _ = beliefs(6000, 0)
    monkeypatch.setattr(Witnesses, "made_by_classifier", lambda _: 1.0)
    fitted = fit_noise(witnesses, 0)
    assert fitted.made == 1
    assert fitted.rate > TIMES * wrong_at_surest(witnesses.mean, witnesses.labels)[1]
