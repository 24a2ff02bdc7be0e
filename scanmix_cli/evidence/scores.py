"""Scores of one image: pure functions on arrays, no training, no files."""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import xlogy

SUPPORT = 20.0  # images of a class at which 1 - 1/e of what the model says about it is believed
BLOCK = 4_000_000  # cells handled at once where a (rows, classes) table is built


def blocks(rows: np.ndarray, classes: int) -> list[np.ndarray]:
    """The rows int64 (n,) in parts whose tables of rows and classes have BLOCK cells at most."""
    size = max(BLOCK // max(classes, 1), 1)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def others(labels: np.ndarray, neighbors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """int64 (n, K): labels of the neighbours of the images `rows`; -1, no vote, where the neighbour is the image
    itself."""
    near = neighbors[rows]
    return np.where(near == rows[:, None], -1, labels[near])


def count_votes(votes: np.ndarray, classes: int) -> np.ndarray:
    """float64 (n, classes): how often each class stands in each row of votes int64 (n, K); -1 is no vote."""
    row, column = np.nonzero(votes >= 0)
    flat = np.bincount(row * classes + votes[row, column], minlength=len(votes) * classes)
    return flat.reshape(len(votes), classes).astype(np.float64)


def sums_by_class(values: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """float64 (classes, D): sums of the rows of `values` float (n, D) by their class, labels int64 (n,)."""
    count = len(labels)
    members = csr_array((np.ones(count), (labels, np.arange(count))), (classes, count))
    return members @ values


def surest(chosen: np.ndarray, sureness: np.ndarray, share: float = 0.5) -> np.ndarray:
    """bool (n,): the surest `share` of the images of each class, and those that are as sure as the least sure of them;
    chosen int64 (n,), sureness float (n,)."""
    sure, order = np.zeros(len(chosen), bool), np.argsort(chosen, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(chosen[order])) + 1) if len(chosen) else []:
        sure[rows] = sureness[rows] >= np.quantile(sureness[rows], 1 - share)
    return sure


def pair_counts(chosen: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """int64 (C, C): how many images of each chosen class int64 (n,) bear each label int64 (n,)."""
    return np.bincount(chosen * classes + labels, minlength=classes**2).reshape(classes, classes)


def support(labels: np.ndarray) -> np.ndarray:
    """float64 (N,) in 0..1: how far the model may be believed about an image, 1 - exp(-m / SUPPORT) with m images of
    its given class; labels int64 (N,), 0 where unlabelled (-1). From a handful of images a class cannot be learned."""
    known = labels >= 0
    counts = np.bincount(labels[known], minlength=1)
    own = np.where(known, counts[np.where(known, labels, 0)], 0)
    return 1 - np.exp(-own / SUPPORT)


def fit(probabilities: np.ndarray) -> np.ndarray:
    """float64 (N,) in 0..1: one less the entropy over that of an even spread, log C; low fits no class.

    An image between two classes of ten still gets 0.7; only one that is spread over most classes comes near 0.
    """
    classes = probabilities.shape[1]
    if classes == 1:
        return np.ones(len(probabilities))
    entropy = -xlogy(probabilities, probabilities).sum(axis=1, dtype=np.float64)
    return np.clip(1 - entropy / np.log(classes), 0.0, 1.0)


def is_outlier(fits: np.ndarray, classes: int, bar: float = 0.2) -> np.ndarray:
    """bool (N,): fits near chance (below `bar`) and far below the rest: under Q2 - 7 (Q3 - Q2). None of two classes:
    there what fits no class and what lies between the two look the same.

    Where fits are spread as a normal distribution is, that is Tukey's outer fence, Q1 - 3 IQR; the lower half is not
    asked, for there lie the outliers, of which there may be many. The fence is the set's own: where noise leaves the
    networks unsure about every image, none is an outlier.
    """
    if len(fits) == 0 or classes < 3:
        return np.zeros(len(fits), bool)
    middle, third = np.quantile(fits, [0.5, 0.75])
    return (fits < bar) & (fits < middle - 7 * (third - middle))


def ranks(p_mislabeled: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """int64 (N,): 1 for the most suspect labelled image, ties in row order; 0 where unlabelled."""
    rows = np.flatnonzero(labelled)
    order = rows[np.argsort(-p_mislabeled[rows], kind="stable")]
    result = np.zeros(len(p_mislabeled), np.int64)
    result[order] = np.arange(1, len(order) + 1)
    return result
