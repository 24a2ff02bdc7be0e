"""Finding the model of wrong labels under which the given ones are likeliest: from which starts, with how much freedom
of the classes, at which rate, and how sharply the likelihood tells that rate.
"""

from dataclasses import replace

import numpy as np

from scanmix_cli.evidence.noise_model import NoiseModel
from scanmix_cli.evidence.noise_rate import Z
from scanmix_cli.evidence.scores import pair_counts
from scanmix_cli.streams import parts

STARTS = (0.02, 0.3, 0.8)  # rates of wrong labels from which the first fit sets out
EVEN, STIFFNESSES = 1e5, (30.0, 3.0)  # all classes alike; then the freer models, tried in turn
FREE_CLASSES = 200  # of more classes a sample holds too few labels each to tell how they differ: they are alike
HUMBLE = 3.0  # a higher rate must be so much likelier (in log-likelihood) to be believed before a lower one
SURE = 3.0  # a freer model must foretell unseen labels better by so many standard errors
A_CLASS = 20  # images to fit a class, fewer leave no freedom to the classes
DROP = Z**2 / 2  # of the log-likelihood within the 90 % interval of one parameter: half the 0.9 quantile of chi-square
REFITTED = 25  # steps in which the witnesses get used to another rate
NO_RATE = 1e-4  # stands for no wrong label at all
Data = tuple[np.ndarray, np.ndarray, np.ndarray]  # features (K, n, C), labels (n,), ambiguity (n,)


def first_fit(
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


def likeliest(fits: list[NoiseModel], data: Data) -> NoiseModel:
    return max(fits, key=lambda fit: fit.score(*data))


def refitted(model: NoiseModel, data: Data, steps: int) -> NoiseModel:
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
    return likeliest([start.fitted(*data, steps=steps) for start in (model, again)], data)


def _evened(seen: np.ndarray, pairs: np.ndarray | None) -> np.ndarray:
    """Counts float64 (C, C) of wrong labels, alike in each row but for the pairs; the diagonal means nothing."""
    if pairs is None:
        return seen
    rest = ~pairs & ~np.eye(len(seen), dtype=bool)
    mean = np.where(rest, seen, 0).sum(axis=1) / np.maximum(rest.sum(axis=1), 1)
    return np.where(pairs, seen, np.maximum(mean, 1.0)[:, None])


def with_freedom(model: NoiseModel, data: Data) -> NoiseModel:
    """The model, not fitted again, with noise of each class's own and a slope, as far as each helps with labels not
    fitted to."""
    images, classes = len(data[1]), len(model.bias)
    unseen = _unseen(model, data)
    if images >= A_CLASS * classes and not model.alike:
        for stiffness in STIFFNESSES:
            freer = replace(model, stiffness=stiffness)
            better = _unseen(freer, data)
            if clearly(better, unseen):
                model, unseen = freer, better
    sloped = replace(model, sloped=True)
    return sloped if clearly(_unseen(sloped, data), unseen) else model


def _unseen(model: NoiseModel, data: Data) -> np.ndarray:
    """float64 (n,): log-likelihood of every label under a fit to the other half of the images."""
    half = parts(len(data[1]), 2) == 0
    result = np.zeros(len(half))
    for seen in (half, ~half):
        features, labels, ambiguity = data
        if not seen.any() or seen.all():
            continue
        fit = refitted(model, (features[:, seen], labels[seen], ambiguity[seen]), 80)
        result[~seen] = foretold(fit, (features[:, ~seen], labels[~seen], ambiguity[~seen]))
    return result


def foretold(model: NoiseModel, data: Data) -> np.ndarray:
    """float64 (n,): log-likelihood of every given label."""
    return np.log(model.explain(*data)[3])


def clearly(better: np.ndarray, before: np.ndarray) -> bool:
    gain = better - before
    return bool(gain.sum() > SURE * gain.std() * np.sqrt(len(gain)))


def expected_rate(model: NoiseModel, features: np.ndarray, labels: np.ndarray, ambiguity: np.ndarray) -> float:
    posterior = model.explain(features, labels, ambiguity)[2]
    return float(1 - posterior[np.arange(len(labels)), labels].mean())


def settled(model: NoiseModel, rate: float, data: Data) -> NoiseModel:
    """The model at the level where it finds this rate of wrong labels."""
    low, high = -15.0, 15.0
    for _ in range(20):
        middle = (low + high) / 2
        found = expected_rate(replace(model, level=middle), *data)
        low, high = (middle, high) if found < rate else (low, middle)
    return replace(model, level=(low + high) / 2)


def spread_of_rate(model: NoiseModel, data: Data) -> tuple[float, bool]:
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
