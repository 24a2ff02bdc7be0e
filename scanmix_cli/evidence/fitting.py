"""Fitting the model of wrong labels to the evidence of a run: how free it is, and at which rate it settles."""

from dataclasses import dataclass, replace

import numpy as np

from scanmix_cli.evidence.alike_errors import CLEAR
from scanmix_cli.evidence.belief_worth import DOUBT, TILT, goodness, leaning, tilted, worth
from scanmix_cli.evidence.image_noise import HALF, confusion, follows_image
from scanmix_cli.evidence.model_search import (
    EVEN,
    Data,
    clearly,
    expected_rate,
    first_fit,
    foretold,
    likeliest,
    refitted,
    settled,
    spread_of_rate,
    with_freedom,
)
from scanmix_cli.evidence.noise_model import NoiseModel, softmax
from scanmix_cli.evidence.noise_rate import Z
from scanmix_cli.evidence.plain_errors import least_wrong
from scanmix_cli.evidence.surest import TIMES, wrong_at_surest
from scanmix_cli.evidence.swapped import swapped
from scanmix_cli.evidence.witnesses import Witnesses
from scanmix_cli.streams import stream

MOST_ROWS, FEWEST_ROWS, CELLS = 10_000, 2_000, 500_000  # images the model is fitted to; rows times classes at most
UNKNOWN = 0.3  # standard error, as a share, of a rate that the loss mixture or somebody else names
HIT_MORE = 0.5  # slope from which doubtful images are said to be hit more often: e times the odds of the surest
RAISED = 3.0  # the odds of a wrong label, at most, by the neighbours' given labels alone
LAST = 150  # steps of a fit whose freedom is settled
BACKED = 0.5  # share of the estimate from which plain errors vouch for it
MADE_SAY, MADE_WEIGHT = 0.1, 1.15  # the same where a classifier made them, and the weight of the beliefs there


@dataclass(frozen=True)
class Fitted:
    """The model for all that is known of an image, and how far its rate can be relied upon."""

    model: NoiseModel
    free: bool  # the classes differ in how labels go wrong
    rate: float  # the rate it was given
    rate_error: float  # its standard error: what the likelihood leaves open, and half the gap to the next reading
    none_wrong: bool  # that no label is wrong explains the labels as well
    follows_image: bool = False  # doubtful images are labelled wrong more often
    tilt: float = 0.0  # by which beliefs about doubtful images count less, `belief_worth.tilted`
    plain: float = 0.0  # `least_wrong`, `wrong_at_surest`: so many labels are wrong whatever doubts are worth
    made: float = 0.0  # `alike_errors.made_alike`: how clearly a classifier made the wrong labels


def fit_noise(witnesses: Witnesses, seed: int, least: float = 0.0) -> Fitted:
    """Fit on a sample of the labelled images; raises ValueError where there is none.

    Where a rate of wrong labels of `least` is known from elsewhere, such as a review of some of them, a lower one found
    here is raised to it: few wrong labels hardly change the likelihood.
    """
    rows, doubt = _sample(witnesses, stream(seed)), witnesses.ambiguity()
    labels = witnesses.labels[rows]
    full = (witnesses.full(rows), labels, doubt[rows])
    if witnesses.beliefs:
        good = goodness(np.exp(full[0][0]), labels, witnesses.clusters)
        most = wrong_at_surest(witnesses.mean, witnesses.labels)[1]
        fitted = _fit_beliefs(full, good, witnesses.made_by_classifier() if good == 1 else 0.0, most)
        if not fitted.none_wrong:
            fitted = replace(fitted, plain=good * least_wrong(witnesses.mean, witnesses.labels, doubt))
        fitted = _heeding(fitted, full, witnesses)
    else:
        fitted = _fit_witnesses(witnesses, rows, full)
    if fitted.rate >= least:
        return fitted
    return replace(_raised(fitted, full, least), rate_error=UNKNOWN * least)


def _fit_witnesses(witnesses: Witnesses, rows: np.ndarray, full: Data) -> Fitted:
    """The rate of wrong labels is read three times, and the largest reading counts, since all err to the low side.

    1. From the neighbours' predictions: no network was trained on the image's own label there, but they are vague.
    2. From all that is known, with as much freedom as the first allowed: sharp, but the networks have seen the label,
       and where few images carry much noise they lean towards it.
    3. From the neighbours' given labels, with the same noise in all classes: untouched by training, but uneven noise
       passes for weak neighbours; and where weak features fall into clusters it errs to the high side, so that it
       raises the odds of the others at most RAISED times.

    Networks that learned the labels by heart say nothing about how many are wrong; there the loss mixture's rate is
    taken, and doubted. Features that stand still confuse the same classes every time, which passes for a regular
    confusion of labels, but not on the images that they are surest of. If more labels seem wrong than those allow
    (`surest`), the classes are all alike; and so many as they show are wrong, whatever a vaguer witness explains.
    """
    around = (witnesses.around(rows), *full[1:])
    even = first_fit(*around)
    fitted = _read(witnesses, rows, full, around, refitted(with_freedom(even, around), around, LAST))
    if witnesses.regression is None:
        return fitted
    least, most = wrong_at_surest(witnesses.regression, witnesses.labels)
    if fitted.rate > TIMES * most:
        fitted = _read(witnesses, rows, full, around, refitted(even, around, LAST))
    if fitted.none_wrong and least < BACKED * fitted.rate:
        return fitted
    return replace(fitted, plain=least, none_wrong=False)


def _read(witnesses: Witnesses, rows: np.ndarray, full: Data, around: Data, loose: NoiseModel) -> Fitted:
    """The three readings with the freedom that `loose` has, which is the first of them, fitted to `around`."""
    _, labels, ambiguity = full
    sharp = NoiseModel.even(len(full[0]), len(loose.bias), 0.5, loose.stiffness, loose.sloped)
    sharp = likeliest([refitted(sharp, full, 100), refitted(replace(sharp, level=-2.0), full, 100)], full)
    readings = [(expected_rate(loose, *around), loose, around), (expected_rate(sharp, *full), sharp, full)]
    if witnesses.neighbors is not None:
        votes = (witnesses.votes(rows)[None], labels, ambiguity)
        even, known = first_fit(*votes), max(rate for rate, _, _ in readings)
        raised = RAISED * known / (1 - known + RAISED * known)
        readings.append((min(expected_rate(even, *votes), raised), even, votes))
    readings.sort(key=lambda reading: reading[0], reverse=True)
    rate, model, data = readings[0]
    error, none_wrong = spread_of_rate(model, data)
    error = float(np.hypot(error, (rate - readings[1][0]) / 2))
    if model.stiffness > loose.stiffness:
        model = loose.at_rate(rate, around[0], ambiguity)  # the classes' own noise, at the rate found
    final = replace(sharp, level=model.level, slope=model.slope, shift=model.shift, spread_logits=model.spread_logits)
    final = final.fitted(*full, steps=80, noise=False)
    if witnesses.learned_by_heart is None:
        # the witnesses have been trained on the labels, so their own rate is too low
        final = settled(final, (rate + expected_rate(final, *full)) / 2, full)
    else:
        rate = witnesses.learned_by_heart
        final, error, none_wrong = settled(final, rate, full), UNKNOWN * rate, False
    return Fitted(final, loose.stiffness < EVEN, rate, error, none_wrong, _hits_doubtful(loose))


def _fit_beliefs(plain: Data, good: float, made: float, most: float) -> Fitted:
    """Beliefs are taken at their word, for what it is worth (`belief_worth`): the image's own label had no part in
    them, and a sure classifier with wrong labels explains even noise no better than a vague one with right labels.

    Half the difference that a weight DOUBT times smaller or larger makes is part of the error, all of it where features
    are weak: there it is known least. Where wrong labels follow the image (`image_noise`), beliefs count as they are
    and the confusion of classes half, and next to nothing where a classifier made them, for its label says no more
    of the image than the image does. Elsewhere those about doubtful images count less if that foretells the given
    labels clearly better: what beliefs are unsure of is their own doubt before it is a label's. So are the classes that
    they confuse, where labels are `swapped` in pairs. If more labels seem wrong than the images allow that beliefs are
    surest of, `most` of which are wrong (`surest`), and no classifier made them, the classes are all alike.
    """
    features, labels, _ = plain
    follows, word = made >= CLEAR or follows_image(features[0], labels), worth(good)

    def first(data: Data, word: float) -> NoiseModel:
        return first_fit(*data, word=word, lean=leaning(data[0][0], labels, word, good))

    tilt, data, middle = 0.0, plain, first(plain, word)
    if good and not follows:
        doubting = _tilted(plain, TILT * good)
        doubted = first(doubting, word)
        if clearly(foretold(doubted, doubting), foretold(middle, plain)):
            tilt, data, middle = TILT * good, doubting, doubted
    firsts = [first(data, word / DOUBT), middle, first(data, word * DOUBT)]
    pairs = swapped(features[0].argmax(axis=1), labels, plain[2], features.shape[2])
    freest = with_freedom(replace(middle, pairs=pairs), data)
    freed = [replace(one, stiffness=freest.stiffness, sloped=freest.sloped, pairs=pairs) for one in firsts]
    fitted = _read_beliefs(freed, data, good, tilt)
    if fitted.rate > TIMES * most and made < CLEAR:
        return _read_beliefs(firsts, data, good, tilt)
    if fitted.none_wrong or not follows:
        return fitted
    weight, say = 1 + made * (MADE_WEIGHT - 1), HALF + made * (MADE_SAY - HALF)
    model = NoiseModel.of_confusion(confusion(softmax(weight * features[0]), labels), say, weight)
    half = expected_rate(model, *data)
    return Fitted(model, True, half, float(np.hypot(fitted.rate_error, half - fitted.rate)), False, True, made=made)


def _read_beliefs(models: list[NoiseModel], data: Data, good: float, tilt: float) -> Fitted:
    """The fit of the second model, which takes beliefs at their word, and its rate, whose error counts by how far the
    rates of the others are from it."""
    fits = [refitted(model, data, LAST) for model in models]
    lower, rate, upper = (expected_rate(fit, *data) for fit in fits)
    error, none_wrong = spread_of_rate(fits[1], data)
    gap = max(abs(rate - lower), abs(upper - rate))
    error, free = float(np.hypot(error, gap * (1 - good / 2))), fits[1].stiffness < EVEN
    return Fitted(fits[1], free, rate, error, none_wrong, _hits_doubtful(fits[1]), tilt)


def _heeding(fitted: Fitted, full: Data, witnesses: Witnesses) -> Fitted:
    """Weak features tell how many labels were drawn evenly before a network knew them by heart (`Evidence.even`); what
    beliefs say later is too little. The rate is raised to the low end of that share of wrong labels, and its interval
    reaches up to the share. Labels that go wrong otherwise are not among them, so a higher rate stays."""
    others = 1 - 1 / witnesses.mean.shape[1]  # an even draw hits the true class now and then
    wrong, error = others * witnesses.even, others * witnesses.even_error
    if fitted.rate < (least := wrong - Z * error):
        fitted = _raised(fitted, full, least)
    gap = max(wrong - fitted.rate, 0.0)
    return replace(fitted, rate_error=float(np.hypot(fitted.rate_error, gap / Z)))


def _raised(fitted: Fitted, full: Data, rate: float) -> Fitted:
    """The same model where it finds a higher rate."""
    model = settled(fitted.model, rate, _tilted(full, fitted.tilt))
    return replace(fitted, model=model, rate=rate, none_wrong=False)


def _sample(witnesses: Witnesses, generator: np.random.Generator) -> np.ndarray:
    labelled = np.flatnonzero(witnesses.labels >= 0)
    if not len(labelled):
        raise ValueError("no labelled image")
    most = min(MOST_ROWS, max(FEWEST_ROWS, CELLS // witnesses.mean.shape[1]))
    return labelled if len(labelled) <= most else np.sort(generator.choice(labelled, most, replace=False))


def _hits_doubtful(model: NoiseModel) -> bool:
    """Whether labels of doubtful images are wrong so much more often that it is worth saying. A slighter slope, sure as
    it may be, can be the beliefs' own: their doubt is not the same in all images."""
    return model.sloped and model.slope >= HIT_MORE


def _tilted(data: Data, tilt: float) -> Data:
    features, labels, ambiguity = data
    return tilted(features, ambiguity, tilt), labels, ambiguity
