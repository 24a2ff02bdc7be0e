"""Which classes are taken for which: P(given label | true label), and what kind of mistakes that makes."""

from dataclasses import dataclass

import numpy as np

from scanmix_cli.evidence.noise_model import TINY
from scanmix_cli.evidence.noise_rate import Z
from scanmix_cli.evidence.scores import blocks, sums_by_class

HARDLY = 0.001  # share of wrong labels below which there is no saying how they go wrong
NEARLY_NONE = 1e-9  # images, in place of none
PAIRWISE = 0.6  # share of the wrong labels that fall to each class's commonest mistake, from which they come in pairs


@dataclass(frozen=True)
class Confusion:
    """Images of class `true` are labelled `given` with probability `share`; 90 % interval, class numbers."""

    true: int
    given: int
    share: float
    low: float
    high: float
    images: float  # expected number of such labels in this set


def count_truth(labels: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """float64 (C, C): expected number of images by true class (row) and given class (column).

    labels int64 (N,) with -1 where unlabelled (left out), truth float (N, C): probability of each true class.
    """
    classes = truth.shape[1]
    counts = np.zeros((classes, classes))  # row = given while counting
    for part in blocks(np.flatnonzero(labels >= 0), classes):
        counts += sums_by_class(truth[part], labels[part], classes)
    return counts.T


def noise_matrix(counts: np.ndarray) -> np.ndarray:
    """float64 (C, C): row = true class, column = given class, each row sums to 1; from `count_truth`.

    A class that no labelled image belongs to, as one that no label names, gets the identity row: nothing speaks
    against its labels.
    """
    totals = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, totals, out=np.eye(len(counts)), where=totals > 0)


def fitted_noise_matrix(
    beliefs: np.ndarray, labels: np.ndarray, start: np.ndarray, prior: np.ndarray | float, steps: int
) -> np.ndarray:
    """float64 (C, C): the noise matrix by which beliefs float (n, C) foretell labels int64 (n,), none unlabelled, best:
    `steps` of EM (Dawid and Skene 1979) from the matrix `start` on, with `prior` images, float (C, C) or as many in
    every cell, that are counted beside those seen."""
    matrix = start
    for _ in range(steps):
        counts = prior + sums_by_class(label_posterior(beliefs, labels, matrix), labels, beliefs.shape[1]).T
        matrix = counts / counts.sum(axis=1, keepdims=True)
    return matrix


def label_posterior(beliefs: np.ndarray, labels: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """float64 (n, C): P(true class | image, given label), beliefs float (n, C) times the chance that such a class is
    given that label, matrix float64 (C, C) or a power of it; labels int64 (n,), none unlabelled."""
    joint = beliefs * matrix.T[labels]
    return joint / (joint.sum(axis=1, keepdims=True) + TINY)


def share_intervals(matrix: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Low and high ends, float64 (C, C), of the 90 % intervals (Wilson) of the shares of a noise matrix; images float64
    (C,): labelled images by true class. Of a class without any nothing is known: 0 to 1."""
    middle, half = _wilson(matrix, np.maximum(images, NEARLY_NONE)[:, None])
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def confusions(counts: np.ndarray, most: int) -> list[Confusion]:
    """The pairs of classes with the largest expected number of wrong labels, at least one each; Wilson intervals."""
    off = counts - np.diag(np.diag(counts))
    order = np.argsort(-off, axis=None, kind="stable")[:most]
    found = []
    for true, given in (divmod(int(at), len(counts)) for at in order):
        images, total = float(off[true, given]), float(counts[true].sum())
        if images >= 1:
            share = images / total
            middle, half = (float(part) for part in _wilson(np.float64(share), np.float64(total)))
            found.append(Confusion(true, given, share, max(middle - half, 0.0), min(middle + half, 1.0), images))
    return found


def noise_kind(counts: np.ndarray, uneven: bool, sloped: bool, made: bool = False) -> str:
    """The kind of wrong labels in words; uneven: the classes differ, sloped: doubtful images are hit more often, made:
    a classifier made them."""
    off = counts - np.diag(np.diag(counts))
    total = off.sum()
    if total < max(1, HARDLY * counts.sum()):
        return "hardly any"
    top = float(off.max(axis=1).sum() / total)
    if not uneven or len(counts) < 3:
        kind = "uniform: wrong labels are spread evenly over the other classes"
    elif top >= PAIRWISE:
        kind = "pairwise: most wrong labels of a class name the same other class"
    else:
        kind = "between similar classes: some pairs of classes are confused more than others"
    if made:
        return kind + ", and images that look alike bear the same wrong label, as from a classifier"
    return kind + (", and images that are hard to tell are hit more often" if sloped else "")


def _wilson(share: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half width of Wilson's 90 % intervals of shares of `count` cases."""
    scale = 1 + Z**2 / count
    middle = (share + Z**2 / (2 * count)) / scale
    return middle, Z * np.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2)) / scale
