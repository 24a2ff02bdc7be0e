"""Verdicts on beliefs, which are taken at their word."""

from dataclasses import replace

import numpy as np
import pytest
from test_noise_model import calibration_error, even, pairwise, simulated

from scanmix_cli.evidence.belief_worth import GOOD, TILT, WEAK, assurance, goodness, leaning, tilted, worth
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.fitting import fit_noise
from scanmix_cli.evidence.noise_model import NoiseModel, softmax
from scanmix_cli.evidence.noise_rate import NoiseRate, Z, estimate_noise_rate
from scanmix_cli.evidence.plain_errors import least_wrong
from scanmix_cli.evidence.verdicts import _cautious, judge
from scanmix_cli.evidence.witnesses import Witnesses


def on_beliefs(evidence: Evidence, labels: np.ndarray, weight: float = GOOD) -> Evidence:
    """The same evidence as of a belief loop, which is right with this exponent."""
    shown = evidence.final_probability.astype(np.float64) ** (2 / weight)  # `simulated` shows the root
    shown /= shown.sum(axis=1, keepdims=True)
    result = Evidence.empty(len(labels), shown.shape[1], beliefs=True)
    result.add(labels, [View(shown, -np.log(shown[np.arange(len(labels)), labels]), np.full(len(labels), 0.5))])
    result.final_probability[:] = shown
    return result


@pytest.mark.parametrize(
    "spoil", [even(0.0), even(0.2), even(0.8), pairwise(0.35)], ids=["right", "few", "most", "pairs"]
)
def test_probabilities_mean_what_they_say(spoil: np.ndarray) -> None:
    evidence, labels, truth, neighbors = simulated(2_000, 6.0, spoil)
    verdicts, wrong = judge(on_beliefs(evidence, labels), labels, neighbors), labels != truth
    assert calibration_error(verdicts, wrong) <= 0.03
    assert verdicts.noise_rate.low <= wrong.mean() <= verdicts.noise_rate.high
    assert abs(verdicts.noise_rate.estimate - wrong.mean()) <= 0.03


def test_vague_beliefs_make_no_suspects_of_right_labels() -> None:
    evidence, labels, truth, neighbors = simulated(1_500, 1.0, even(0.0))
    assert (evidence.probability_sum.argmax(1) == truth).mean() < 0.5, "half of all beliefs contradict the label"
    assert judge(on_beliefs(evidence, labels), labels, neighbors).is_label_issue.mean() <= 0.005


@pytest.mark.parametrize(("sharpness", "weight"), [(1.0, 2.0), (1.0, 2.6), (1.3, 2.6), (1.6, 2.6)])
def test_of_weak_features_the_interval_covers_what_cannot_be_told(sharpness: float, weight: float) -> None:
    """Beliefs are twice as right as weak features are taken to be, so that the rate is read far too low."""
    evidence, labels, truth, neighbors = simulated(2_000, sharpness, even(0.4))
    shown, wrong = on_beliefs(evidence, labels, weight), float((labels != truth).mean())
    assert goodness(shown.probability_sum / shown.observations, labels) == 0
    verdicts = judge(shown, labels, neighbors)
    assert verdicts.noise_rate.low <= wrong <= verdicts.noise_rate.high
    assert wrong - verdicts.noise_rate.estimate > 0.08
    assert not verdicts.is_label_issue.any()


def test_the_even_share_told_before_raises_what_weak_beliefs_read_too_low() -> None:
    """The case of above. Of labels drawn evenly one in C is right by chance."""
    evidence, labels, truth, neighbors = simulated(2_000, 1.0, even(0.4))
    shown, wrong = on_beliefs(evidence, labels, 2.0), float((labels != truth).mean())
    others = 1 - 1 / shown.probability_sum.shape[1]
    alone = judge(shown, labels, neighbors).noise_rate
    rate = judge(replace(shown, even=wrong / others, even_error=0.03), labels, neighbors).noise_rate
    assert alone.estimate < wrong - Z * 0.03 * others == pytest.approx(rate.estimate, abs=0.005)
    assert rate.low < wrong <= rate.high
    vague = judge(replace(shown, even=wrong / others, even_error=1.0), labels, neighbors).noise_rate
    assert vague.estimate == pytest.approx(alone.estimate), "a share that may be none raises nothing"
    assert vague.high >= max(wrong, alone.high)
    less = replace(shown, even=alone.estimate / 2, even_error=0.001)
    assert judge(less, labels, neighbors).noise_rate == alone, "labels that go wrong otherwise are not among the even"


def test_settled_votes_vouch_for_features_whose_beliefs_are_unsure_since_most_labels_are_wrong() -> None:
    """Beliefs that are sharper in truth than they say: what is left of them where 80 % of the labels are wrong."""
    evidence, labels, truth, neighbors = simulated(2_000, 1.6, even(0.8))
    shown, wrong = on_beliefs(evidence, labels), labels != truth
    alone = judge(shown, labels, neighbors)
    shown.clusters = 0.8
    vouched = judge(shown, labels, neighbors)
    for verdicts in (alone, vouched):
        assert verdicts.noise_rate.low <= wrong.mean() <= verdicts.noise_rate.high
    assert wrong[vouched.is_label_issue].mean() > wrong[alone.is_label_issue].mean()
    assert calibration_error(vouched, wrong) < min(0.03, calibration_error(alone, wrong))
    unsure = np.array([[0.5, 0.5]])
    assert [goodness(unsure, labels[:1], sure) for sure in (0.6, 0.66, 0.72)] == pytest.approx([0, 0.5, 1])


def test_assurance_is_the_larger_of_two_signs_of_good_features() -> None:
    """100 images of two classes: beliefs of 0.9 and 0.6 in turn, hence 0.75 sure; the surest 20 name the given label
    always, all of them 60 times in 100."""
    largest = np.where(np.arange(100) < 50, 0.9, 0.6)
    beliefs = np.column_stack([largest, 1 - largest])
    labels = np.where(np.arange(100) < 60, 0, 1)
    assert assurance(beliefs, labels) == pytest.approx(0.75)
    three = np.column_stack([0.6 * largest, np.full(100, 0.2), np.full(100, 0.1)])  # 0.45 sure, and the same ranking
    assert assurance(three, labels) == pytest.approx(0.6)
    half = np.where(np.arange(100) % 2, 0, 1)
    assert assurance(three, half) == pytest.approx(0.45), "not most of the surest name the given label"
    hardly = np.where(np.arange(100) < 12, 0, 1)  # 12 of the surest 20, .6 with a standard error of .11
    assert assurance(three, hardly) == pytest.approx(0.45), "most of the surest, but by less than a standard error"
    assert (goodness(beliefs, labels), worth(1.0), worth(0.0)) == (1.0, GOOD, WEAK)
    assert worth(0.5) == pytest.approx((GOOD * WEAK) ** 0.5)


def test_leaning_gives_beliefs_the_shares_of_the_given_labels() -> None:
    """Beliefs that say nothing lean by the log-shares themselves; in good features nothing leans."""
    labels = np.repeat([0, 1], [74, 24])  # and one more of each: shares 0.75 and 0.25
    even_beliefs = np.zeros((98, 2), np.float32)
    np.testing.assert_allclose(leaning(even_beliefs, labels, 1.0, 0.0), np.log([1.5, 0.5]), atol=1e-6)
    np.testing.assert_allclose(leaning(even_beliefs, labels, 1.0, 0.5), np.log([1.5, 0.5]) / 2, atol=1e-6)
    assert not leaning(even_beliefs, labels, 1.0, 1.0).any()


@pytest.mark.usefixtures("each_fit_once")
def test_neighbours_and_final_networks_have_no_say_beside_beliefs() -> None:
    evidence, labels, _, neighbors = simulated(1_200, 6.0, even(0.4))
    believed = on_beliefs(evidence, labels)
    plain = judge(believed, labels, neighbors)
    other = judge(replace(believed, final_probability=softmax(np.zeros_like(believed.final_probability))), labels, None)
    np.testing.assert_array_equal(plain.p_mislabeled, other.p_mislabeled)


def test_a_word_holds_the_weight_of_a_witness() -> None:
    evidence, labels, _, _ = simulated(1_000, 6.0, even(0.4))
    features = 3 * np.log(evidence.final_probability.clip(1e-6))[None]  # far too sure of themselves
    data = (features, labels, np.zeros(len(labels)))
    weights = [
        np.exp(NoiseModel.even(1, features.shape[2], 0.4, 1e5, word=word).fitted(*data, steps=60).log_weights[0])
        for word in (0.0, 1.0)
    ]
    assert weights[0] < 0.75
    assert weights[1] == pytest.approx(1, abs=0.1)


def test_beliefs_about_doubtful_images_count_less_and_about_clear_ones_more() -> None:
    """An image in the middle keeps its log-beliefs; with a tilt of log 2 the clearest count twice, the most doubtful
    half."""
    evidence = np.array([[[-1.0, -2.0], [-3.0, -4.0], [-6.0, 0.0]]], np.float32)
    clear_to_doubtful = np.array([-1, 0, 1], np.float32)
    found = tilted(evidence, clear_to_doubtful, np.log(2))
    np.testing.assert_allclose(found, [[[-2, -4], [-3, -4], [-3, 0]]], rtol=1e-6)
    assert tilted(evidence, clear_to_doubtful, 0.0) is evidence


@pytest.mark.parametrize(("tilt", "found"), [(0.0, 0.0), (1.2, TILT)])
def test_doubt_is_the_beliefs_own_where_that_foretells_the_labels(tilt: float, found: float) -> None:
    """Right labels, drawn from beliefs that are right as they are, or the less right the more doubtful the image."""
    generator = np.random.default_rng(0)
    shown = softmax(12 / GOOD * generator.normal(size=(4_000, 5)))
    first = Witnesses(shown, shown, np.zeros(4_000, int), None, beliefs=True)
    probabilities = softmax(GOOD * tilted(np.log(shown), first.ambiguity(), tilt))
    labels = (probabilities.cumsum(1) < generator.random((4_000, 1))).sum(1).clip(0, 4)
    fitted = fit_noise(Witnesses(shown, shown, labels, None, beliefs=True), seed=0)
    assert fitted.tilt == found
    assert fitted.rate < 0.005, "with beliefs alike in all images .018 of the second set"


@pytest.mark.parametrize(("rate", "flagged"), [(0.0, 0), (0.03, 75)])
def test_few_plain_errors_under_sure_beliefs_are_found(rate: float, flagged: int) -> None:
    """5,000 images of ten classes, beliefs a fifth of which says nothing: as vague ones they would explain the labels
    hardly worse, and by the interval's low end alone 35 of 150 wrong labels would be found."""
    generator, rows = np.random.default_rng(0), np.arange(5_000)
    probabilities = softmax(12 * generator.normal(size=(len(rows), 10)))
    truth = (probabilities.cumsum(1) < generator.random((len(rows), 1))).sum(1).clip(0, 9)
    shown = 0.8 * probabilities + 0.2 * softmax(generator.normal(size=(len(rows), 10)))
    labels, spoilt = truth.copy(), generator.choice(len(rows), int(rate * len(rows)), replace=False)
    labels[spoilt] = (truth[spoilt] + generator.integers(1, 10, len(spoilt))) % 10
    evidence = Evidence.empty(len(rows), 10, beliefs=True)
    evidence.add(labels, [View(shown, -np.log(shown[rows, labels]), np.full(len(rows), 0.5))])
    evidence.final_probability[:] = shown
    verdicts, wrong = judge(evidence, labels, None), labels != truth
    issue = verdicts.is_label_issue
    assert (issue & wrong).sum() >= flagged
    assert wrong[issue].all() if not rate else wrong[issue].mean() >= 0.9
    assert verdicts.noise_rate.low <= wrong.mean() <= verdicts.noise_rate.high


def ladder(images: int, classes: int) -> np.ndarray:
    """Beliefs float (n, C) that fall from class 0 to the last."""
    return np.tile(softmax(-np.arange(classes, dtype=float)[None]), (images, 1))


def test_labels_of_classes_believed_least_are_wrong_at_least() -> None:
    """1,000 images of five classes, half of them without doubt; 36 of these name the two classes believed least, which
    are two of the four that a wrong label may name."""
    doubt = np.where(np.arange(1_000) < 500, -0.5, 0.5)
    labels = np.zeros(1_000, int)
    labels[:100], labels[500:900] = 2, 4
    assert least_wrong(ladder(1_000, 5), labels, doubt) == 0, (
        "second and third choices, and doubtful images, do not count"
    )
    labels[100:118], labels[118:136], labels[136:145] = 3, 4, -1
    shuffled = np.stack([np.roll(row, k) for k, row in enumerate(ladder(1_000, 5))])
    named = np.where(labels < 0, -1, (labels + np.arange(1_000)) % 5)
    assert least_wrong(shuffled, named, doubt) == pytest.approx((36 - Z * 6) / 491 * 4 / 2)
    assert least_wrong(ladder(1_000, 5), labels, doubt) == 0, "of two classes alone, which may never have been learned"
    assert least_wrong(ladder(1_000, 2), labels.clip(max=1), doubt) == 0, "two classes"


def test_plain_errors_vouch_for_a_small_rate() -> None:
    p, rate = np.array([0.5, 0.9]), NoiseRate(0.03, 0.01, 0.05)
    assert _cautious(p, rate, True, least=0.015) is p
    assert (_cautious(p, rate, True, least=0.014) < p).all()
    assert estimate_noise_rate(np.full(100, 0.03), 0.02, False, least=0.02).low == 0.02
    assert estimate_noise_rate(np.full(100, 0.03), 0.02, False, least=0.05).low == pytest.approx(0.03)
