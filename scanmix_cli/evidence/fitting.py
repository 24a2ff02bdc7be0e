"""Fitting the model of wrong labels to the evidence of a run: how free it is, and at which rate it settles."""

from dataclasses import dataclass, replace

import numpy as np

from scanmix_cli.evidence.alike_errors import CLEAR
from scanmix_cli.evidence.belief_worth import DOUBT, TILT, goodness, leaning, tilted, worth
from scanmix_cli.evidence.image_noise import confusion, follows_image
from scanmix_cli.evidence.noise_model import NoiseModel, softmax
from scanmix_cli.evidence.noise_rate import Z
from scanmix_cli.evidence.plain_errors import least_wrong
from scanmix_cli.evidence.scores import pair_counts
from scanmix_cli.evidence.swapped import swapped
from scanmix_cli.evidence.witnesses import Witnesses
from scanmix_cli.streams import stream

MOST_ROWS, FEWEST_ROWS, CELLS = 10_000, 2_000, 500_000  # images the model is fitted to; rows times classes at most
STARTS = (0.02, 0.3, 0.8)  # rates of wrong labels from which the first fit sets out
EVEN, STIFFNESSES = 1e5, (30.0, 3.0)  # all classes alike; then the freer models, tried in turn
FREE_CLASSES = 200  # of more classes a sample holds too few labels each to tell how they differ: they are alike
UNKNOWN = 0.3  # standard error, as a share, of a rate that the loss mixture or somebody else names
HUMBLE = 3.0  # a higher rate must be so much likelier (in log-likelihood) to be believed before a lower one
HIT_MORE = 0.5  # slope from which doubtful images are said to be hit more often: e times the odds of the surest
SURE = 3.0  # a freer model must foretell unseen labels better by so many standard errors
A_CLASS = 20  # images to fit a class, fewer leave no freedom to the classes
RAISED = 3.0  # the odds of a wrong label, at most, by the neighbours' given labels alone
DROP = Z**2 / 2  # of the log-likelihood within the 90 % interval of one parameter: half the 0.9 quantile of chi-square
LAST = 150  # steps of a fit whose freedom is settled
REFITTED = 25  # steps in which the witnesses get used to another rate
HALF = 0.5  # exponent of the confusion of classes where wrong labels follow the image
MADE_SAY, MADE_WEIGHT = 0.1, 1.15  # the same where a classifier made them, and the weight of the beliefs there
NO_RATE = 1e-4  # stands for no wrong label at all
Data = tuple[np.ndarray, np.ndarray, np.ndarray]


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
    plain: float = 0.0  # `plain_errors.least_wrong`: so many labels are wrong whatever beliefs are worth
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
        fitted = _fit_beliefs(full, good, witnesses.made_by_classifier() if good == 1 else 0.0)
        if not fitted.none_wrong:
            fitted = replace(fitted, plain=good * least_wrong(witnesses.mean, witnesses.labels, doubt))
    else:
        fitted = _fit_witnesses(witnesses, rows, full)
    if fitted.rate >= least:
        return fitted
    model = _settled(fitted.model, least, _tilted(full, fitted.tilt))
    return replace(fitted, model=model, rate=least, rate_error=UNKNOWN * least, none_wrong=False)


def _fit_witnesses(witnesses: Witnesses, rows: np.ndarray, full: Data) -> Fitted:
    """The rate of wrong labels is read three times, and the largest reading counts, since all err to the low side.

    1. From the neighbours' predictions: no network was trained on the image's own label there, but they are vague.
    2. From all that is known, with as much freedom as the first allowed: sharp, but the networks have seen the label,
       and where few images carry much noise they lean towards it.
    3. From the neighbours' given labels, with the same noise in all classes: untouched by training, but uneven noise
       passes for weak neighbours; and where weak features fall into clusters it errs to the high side, so that it
       raises the odds of the others at most RAISED times.

    Networks that learned the labels by heart say nothing about how many are wrong; there the loss mixture's rate is
    taken, and doubted.
    """
    _, labels, ambiguity = full
    around = (witnesses.around(rows), labels, ambiguity)
    loose = _refitted(_freedom(_first_fit(*around), around), around, LAST)
    sharp = NoiseModel.even(len(full[0]), len(loose.bias), 0.5, loose.stiffness, loose.sloped)
    sharp = _best([_refitted(sharp, full, 100), _refitted(replace(sharp, level=-2.0), full, 100)], full)
    readings = [(_expected_rate(loose, *around), loose, around), (_expected_rate(sharp, *full), sharp, full)]
    if witnesses.neighbors is not None:
        votes = (witnesses.votes(rows)[None], labels, ambiguity)
        even, known = _first_fit(*votes), max(rate for rate, _, _ in readings)
        most = RAISED * known / (1 - known + RAISED * known)
        readings.append((min(_expected_rate(even, *votes), most), even, votes))
    readings.sort(key=lambda reading: reading[0], reverse=True)
    rate, model, data = readings[0]
    error, none_wrong = _spread_of_rate(model, data)
    error = float(np.hypot(error, (rate - readings[1][0]) / 2))
    if model.stiffness > loose.stiffness:
        model = loose.at_rate(rate, around[0], ambiguity)  # the classes' own noise, at the rate found
    final = replace(sharp, level=model.level, slope=model.slope, shift=model.shift, spread_logits=model.spread_logits)
    final = final.fitted(*full, steps=80, noise=False)
    if witnesses.learned_by_heart is None:
        # the witnesses have been trained on the labels, so their own rate is too low
        final = _settled(final, (rate + _expected_rate(final, *full)) / 2, full)
    else:
        rate = witnesses.learned_by_heart
        final, error, none_wrong = _settled(final, rate, full), UNKNOWN * rate, False
    return Fitted(final, loose.stiffness < EVEN, rate, error, none_wrong, _hits_doubtful(loose))


def _fit_beliefs(plain: Data, good: float, made: float) -> Fitted:
    """Beliefs are taken at their word, for what it is worth (`belief_worth`): the image's own label had no part in
    them, and a sure classifier with wrong labels explains even noise no better than a vague one with right labels.

    Half the difference that a weight DOUBT times smaller or larger makes is part of the error, all of it where features
    are weak: there it is known least. Where wrong labels follow the image (`image_noise`), beliefs count as they are
    and the confusion of classes half, and next to nothing where a classifier made them, for its label says no more
    of the image than the image does. Elsewhere those about doubtful images count less if that foretells the given
    labels clearly better: what beliefs are unsure of is their own doubt before it is a label's. So are the classes that
    they confuse, where labels are `swapped` in pairs.
    """
    features, labels, _ = plain
    follows, word = made >= CLEAR or follows_image(features[0], labels), worth(good)

    def first(data: Data, word: float) -> NoiseModel:
        return _first_fit(*data, word=word, lean=leaning(data[0][0], labels, word, good))

    tilt, data, middle = 0.0, plain, first(plain, word)
    if good and not follows:
        doubting = _tilted(plain, TILT * good)
        doubted = first(doubting, word)
        if _clearly(_foretold(doubted, doubting), _foretold(middle, plain)):
            tilt, data, middle = TILT * good, doubting, doubted
    firsts = [first(data, word / DOUBT), middle, first(data, word * DOUBT)]
    pairs = swapped(features[0].argmax(axis=1), labels, plain[2], features.shape[2])
    freest = _freedom(replace(middle, pairs=pairs), data)
    freed = [replace(one, stiffness=freest.stiffness, sloped=freest.sloped, pairs=pairs) for one in firsts]
    fits = [_refitted(model, data, LAST) for model in freed]
    lower, rate, upper = (_expected_rate(fit, *data) for fit in fits)
    error, none_wrong = _spread_of_rate(fits[1], data)
    gap = max(abs(rate - lower), abs(upper - rate))
    error, free = float(np.hypot(error, gap * (1 - good / 2))), fits[1].stiffness < EVEN
    fitted = Fitted(fits[1], free, rate, error, none_wrong, _hits_doubtful(fits[1]), tilt)
    if none_wrong or not follows:
        return fitted
    weight, say = 1 + made * (MADE_WEIGHT - 1), HALF + made * (MADE_SAY - HALF)
    model = NoiseModel.of_confusion(confusion(softmax(weight * features[0]), labels), say, weight)
    half = _expected_rate(model, *data)
    return Fitted(model, True, half, float(np.hypot(fitted.rate_error, half - rate)), False, True, made=made)


def _sample(witnesses: Witnesses, generator: np.random.Generator) -> np.ndarray:
    labelled = np.flatnonzero(witnesses.labels >= 0)
    if not len(labelled):
        raise ValueError("no labelled image")
    most = min(MOST_ROWS, max(FEWEST_ROWS, CELLS // witnesses.mean.shape[1]))
    return labelled if len(labelled) <= most else np.sort(generator.choice(labelled, most, replace=False))


def _first_fit(
    features: np.ndarray,
    labels: np.ndarray,
    ambiguity: np.ndarray,
    *,
    word: float = 0.0,
    lean: np.ndarray | float = 0.0,
) -> NoiseModel:
    """All classes alike. The likelihood has more than one hill: of the tops found from several starts, the one with the
    fewest wrong labels of those that are about as high as the highest."""
    stiffness = EVEN if features.shape[2] <= FREE_CLASSES else np.inf
    settings = (len(features), features.shape[2])
    starts = (NoiseModel.even(*settings, rate, stiffness, word=word, lean=lean) for rate in STARTS)
    fits = [start.fitted(features, labels, ambiguity, steps=40) for start in starts]
    scores = [fit.score(features, labels, ambiguity) for fit in fits]
    high = [fit for fit, score in zip(fits, scores, strict=True) if score >= max(scores) - HUMBLE]
    return min(high, key=lambda fit: fit.level)


def _best(fits: list[NoiseModel], data: Data) -> NoiseModel:
    return max(fits, key=lambda fit: fit.score(*data))


def _refitted(model: NoiseModel, data: Data, steps: int) -> NoiseModel:
    """The better of two fits with the model's freedom: from where it stands, and from the witness's first choices taken
    for the truth, since a model that believes every label has no slope from which to learn how they go wrong."""
    features, labels, _ = data
    classes = len(model.bias)
    chosen = features[0].argmax(axis=1)
    rate = float(np.clip((chosen != labels).mean(), 0.01, 0.99))
    again = NoiseModel.even(len(features), classes, rate, model.stiffness, model.sloped, model.word, model.lean)
    if not model.alike:
        seen = pair_counts(chosen, labels, classes)
        again = replace(again, spread_logits=np.log(_evened(seen + 1.0, model.pairs)), pairs=model.pairs)
    return _best([start.fitted(*data, steps=steps) for start in (model, again)], data)


def _evened(seen: np.ndarray, pairs: np.ndarray | None) -> np.ndarray:
    """Counts float64 (C, C) of wrong labels, alike in each row but for the pairs; the diagonal means nothing."""
    if pairs is None:
        return seen
    rest = ~pairs & ~np.eye(len(seen), dtype=bool)
    mean = np.where(rest, seen, 0).sum(axis=1) / np.maximum(rest.sum(axis=1), 1)
    return np.where(pairs, seen, np.maximum(mean, 1.0)[:, None])


def _freedom(model: NoiseModel, data: Data) -> NoiseModel:
    """The model, not fitted again, with noise of each class's own and a slope, as far as each helps with labels not
    fitted to."""
    images, classes = len(data[1]), len(model.bias)
    unseen = _unseen(model, data)
    if images >= A_CLASS * classes and not model.alike:
        for stiffness in STIFFNESSES:
            freer = replace(model, stiffness=stiffness)
            better = _unseen(freer, data)
            if _clearly(better, unseen):
                model, unseen = freer, better
    sloped = replace(model, sloped=True)
    return sloped if _clearly(_unseen(sloped, data), unseen) else model


def _hits_doubtful(model: NoiseModel) -> bool:
    """Whether labels of doubtful images are wrong so much more often that it is worth saying. A slighter slope, sure as
    it may be, can be the beliefs' own: their doubt is not the same in all images."""
    return model.sloped and model.slope >= HIT_MORE


def _unseen(model: NoiseModel, data: Data) -> np.ndarray:
    """float64 (n,): log-likelihood of every label under a fit to the other half of the images."""
    half = np.arange(len(data[1])) % 2 == 0
    result = np.zeros(len(half))
    for seen in (half, ~half):
        features, labels, ambiguity = data
        if not seen.any() or seen.all():
            continue
        fit = _refitted(model, (features[:, seen], labels[seen], ambiguity[seen]), 80)
        result[~seen] = _foretold(fit, (features[:, ~seen], labels[~seen], ambiguity[~seen]))
    return result


def _foretold(model: NoiseModel, data: Data) -> np.ndarray:
    """float64 (n,): log-likelihood of every given label."""
    return np.log(model.explain(*data)[3])


def _tilted(data: Data, tilt: float) -> Data:
    features, labels, ambiguity = data
    return tilted(features, ambiguity, tilt), labels, ambiguity


def _clearly(better: np.ndarray, before: np.ndarray) -> bool:
    gain = better - before
    return bool(gain.sum() > SURE * gain.std() * np.sqrt(len(gain)))


def _expected_rate(model: NoiseModel, features: np.ndarray, labels: np.ndarray, ambiguity: np.ndarray) -> float:
    posterior = model.explain(features, labels, ambiguity)[2]
    return float(1 - posterior[np.arange(len(labels)), labels].mean())


def _settled(model: NoiseModel, rate: float, data: Data) -> NoiseModel:
    """The model at the level where it finds this rate of wrong labels."""
    low, high = -15.0, 15.0
    for _ in range(20):
        middle = (low + high) / 2
        found = _expected_rate(replace(model, level=middle), *data)
        low, high = (middle, high) if found < rate else (low, middle)
    return replace(model, level=(low + high) / 2)


def _spread_of_rate(model: NoiseModel, data: Data) -> tuple[float, bool]:
    """Standard error of the rate: the width of the interval in which the profile likelihood falls by less than DROP,
    over that of a standard normal's; whether 0 is as good as the top.

    The ends are marched to, from one binomial standard error on in steps that double, and read off a parabola.
    """
    model = model.fitted(*data, steps=REFITTED, noise=False)
    rate = min(max(float(1 / (1 + np.exp(-np.clip(model.level, -30, 30)))), NO_RATE), 1 - NO_RATE)
    best = model.score(*data)

    def fall(other: float) -> float:
        moved = replace(model, level=float(np.log(other / (1 - other))))
        return best - moved.fitted(*data, steps=REFITTED, noise=False).score(*data)

    def reach(sign: int) -> float:
        step, before, end = float(np.sqrt(rate * (1 - rate) / len(data[1]))), (0.0, 0.0), 1 - NO_RATE
        most = end - rate if sign > 0 else rate - NO_RATE
        while before[0] < most:
            at = (min(step, most), fall(rate + sign * min(step, most)))
            if at[1] >= DROP:
                roots = [np.sqrt(max(height, 0.0)) for height in (before[1], DROP, at[1])]
                return before[0] + (at[0] - before[0]) * float((roots[1] - roots[0]) / (roots[2] - roots[0]))
            before, step = at, 2 * step
        return most

    none_wrong = rate <= NO_RATE or fall(NO_RATE) <= DROP
    return (reach(-1) + reach(1)) / (2 * Z), bool(none_wrong)
