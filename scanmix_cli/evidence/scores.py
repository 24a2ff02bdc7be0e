"""Scores of one image out of the evidence of many epochs: pure functions on arrays, no training, no files.

Every *signal* is a probability in 0..1 that the given label is wrong, seen from one side: the networks' probabilities,
the loss mixture, the predicted class, the neighbours' labels. `pool` and `with_base_rate` make one probability of them.
"""

from collections.abc import Sequence

import numpy as np

SIGNAL_FLOOR = 0.01  # no signal alone is believed further than 1 in 100: mixtures and softmaxes are overconfident
EXTREMIZE = 2.0
SUPPORT = 10.0  # images of a class at which half of what the signals say about it is believed
PRIOR_IMAGES, PRIOR_RATE = 20.0, 0.1  # what is assumed of the base rate before any image is seen
EM_STEPS, EM_TOLERANCE = 500, 1e-7
BLOCK = 65_536  # rows handled at once where a (rows, classes) table is built


def contest(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """float64 (N,): best other class against the given one, other / (other + given); 0 where unlabelled.

    labels int64 (N,) with -1 where unlabelled, probabilities float (N, C). It is the posterior of a two-way choice
    between the given label and its strongest rival, so it does not shrink as the number of classes grows. A draw of
    nothing against nothing is 0.5.
    """
    rows = np.flatnonzero(labels >= 0)
    result = np.zeros(len(labels))
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        here = probabilities[part].astype(np.float64)
        at_given = np.arange(len(part)), labels[part]
        given = here[at_given]
        here[at_given] = -np.inf
        other = np.maximum(here.max(axis=1), 0.0)
        total = other + given
        result[part] = np.divide(other, total, out=np.full(len(part), 0.5), where=total > 0)
    return result


def neighbor_votes(labels: np.ndarray, neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Votes of the neighbours' given labels: for the own label, and for the best other class; float64 (N,) each.

    labels int64 (N,) with -1 where unlabelled (such a neighbour has no vote), neighbors int64 (N, K) row numbers.
    Where the image itself is unlabelled its own votes are 0 and the best class counts as the other one.
    """
    images = len(labels)
    classes = max(int(labels.max(initial=-1)) + 1, 1)
    own, other = np.zeros(images), np.zeros(images)
    for start in range(0, images, BLOCK):
        part = slice(start, min(start + BLOCK, images))
        rows = np.arange(part.stop - part.start)
        votes = _count(others(labels, neighbors, part), classes)
        given = labels[part]
        known = given >= 0
        own[part][known] = votes[rows[known], given[known]]
        votes[rows[known], given[known]] = 0
        other[part] = votes.max(axis=1)
    return own, other


def others(labels: np.ndarray, neighbors: np.ndarray, part: slice) -> np.ndarray:
    """int64 (n, K): labels of the neighbours of the rows in `part`; -1, no vote, where the neighbour is the image
    itself."""
    rows = np.arange(part.start or 0, part.stop if part.stop is not None else len(neighbors))
    near = neighbors[part]
    return np.where(near == rows[:, None], -1, labels[near])


def _count(votes: np.ndarray, classes: int) -> np.ndarray:
    """float64 (n, classes): how often each class stands in each row of votes int64 (n, K); -1 is no vote."""
    row, column = np.nonzero(votes >= 0)
    flat = np.bincount(row * classes + votes[row, column], minlength=len(votes) * classes)
    return flat.reshape(len(votes), classes).astype(np.float64)


def jeffreys(successes: np.ndarray, trials: np.ndarray | int) -> np.ndarray:
    """Rate of a counted event with Jeffreys' prior, (k + 1/2) / (n + 1): few trials stay near one half."""
    return (successes + 0.5) / (trials + 1.0)


def pool(signals: Sequence[np.ndarray]) -> np.ndarray:
    """float64 (N,): log-odds that the label is wrong, EXTREMIZE times the mean log-odds of the signals float (N,).

    The sum would be right for independent witnesses, but all signals look at the same networks; the plain mean is too
    timid, since each sees a part of what is known (Satopaa et al., Int. J. Forecasting 30, 2014). Twice the mean lies
    between. No base rate is in it yet: right and wrong labels count as equally likely.
    """
    clipped = np.clip(np.stack(signals), SIGNAL_FLOOR, 1 - SIGNAL_FLOOR)
    return EXTREMIZE * np.log(clipped / (1 - clipped)).mean(axis=0)


def extremize(probabilities: np.ndarray) -> np.ndarray:
    """float32 (N, C): probabilities (N, C) to the power EXTREMIZE, renormalised.

    Means over epochs of networks trained on mixed images are timid: they say 0.6 where they are right 19 times of 20.
    """
    powered = probabilities.astype(np.float32) ** np.float32(EXTREMIZE)
    totals = powered.sum(axis=1, keepdims=True)
    even = np.full_like(powered, 1 / powered.shape[1])
    return np.divide(powered, totals, out=even, where=totals > 0)


def support(labels: np.ndarray) -> np.ndarray:
    """float64 (N,) in 0..1: how far signals about an image may be believed, m / (m + SUPPORT) with m images of its
    given class; labels int64 (N,), 0 where unlabelled (-1). From a handful of images a class cannot be learned."""
    known = labels >= 0
    counts = np.bincount(labels[known], minlength=1)
    own = np.where(known, counts[np.where(known, labels, 0)], 0)
    return own / (own + SUPPORT)


def with_base_rate(log_odds: np.ndarray) -> np.ndarray:
    """float64 (n,): probabilities from log-odds (n,) of equally likely cases, at the base rate of this very set.

    The base rate is the fixed point "mean of the probabilities that it leads to", found by EM from one half (Saerens,
    Latinne and Decaestecker, Neural Computation 14, 2002). Where hardly any label is wrong a doubt must be strong to
    count, and where most are a weak one does. A weak prior, PRIOR_IMAGES images of which PRIOR_RATE are wrong, decides
    where there are few images and keeps the rate from 0 and 1, from where EM would not return.
    """
    rate = 0.5
    for _ in range(EM_STEPS):
        p = 1 / (1 + np.exp(-(log_odds + np.log(rate / (1 - rate)))))
        before, rate = rate, float((p.sum() + PRIOR_RATE * PRIOR_IMAGES) / (len(p) + PRIOR_IMAGES))
        if abs(rate - before) < EM_TOLERANCE:
            break
    return p


def fit(probabilities: np.ndarray) -> np.ndarray:
    """float64 (N,) in 0..1: how far the best class stands above chance, (max p - 1/C) / (1 - 1/C); low fits no class.

    An image between two classes of ten still gets 0.44; only one that is spread over most classes comes near 0.
    """
    classes = probabilities.shape[1]
    if classes == 1:
        return np.ones(len(probabilities))
    best = probabilities.max(axis=1).astype(np.float64)
    return np.clip((best - 1 / classes) / (1 - 1 / classes), 0.0, 1.0)


def is_outlier(fits: np.ndarray, bar: float = 0.2) -> np.ndarray:
    """bool (N,): fits near chance (below `bar`) and far below the rest: under Tukey's outer fence, Q1 - 3 IQR.

    The fence is the set's own: where noise leaves the networks unsure about every image, none is an outlier.
    """
    if len(fits) == 0:
        return np.zeros(0, bool)
    first, third = np.quantile(fits, [0.25, 0.75])
    return (fits < bar) & (fits < first - 3 * (third - first))


def ranks(p_mislabeled: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """int64 (N,): 1 for the most suspect labelled image, ties in row order; 0 where unlabelled."""
    rows = np.flatnonzero(labelled)
    order = rows[np.argsort(-p_mislabeled[rows], kind="stable")]
    result = np.zeros(len(p_mislabeled), np.int64)
    result[order] = np.arange(1, len(order) + 1)
    return result
