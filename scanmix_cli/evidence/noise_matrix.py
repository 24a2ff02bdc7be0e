"""Which classes are taken for which: P(given label | true label)."""

import numpy as np

from scanmix_cli.evidence.scores import BLOCK


def noise_matrix(labels: np.ndarray, truth: np.ndarray, classes: int) -> np.ndarray:
    """float64 (C, C): row = true class, column = given class, each row sums to 1.

    labels int64 (N,) with -1 where unlabelled (left out). truth is either int64 (N,), the supposed true class, or
    float (N, C), the probability of each true class, which is counted in parts. A class that no labelled image belongs
    to gets the identity row: nothing speaks against its labels.
    """
    counts = np.zeros((classes, classes))  # row = given while counting
    rows = np.flatnonzero(labels >= 0)
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        if truth.ndim == 1:
            np.add.at(counts, (labels[part], truth[part]), 1.0)
        else:
            np.add.at(counts, labels[part], truth[part].astype(np.float64))
    counts = counts.T
    totals = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, totals, out=np.eye(classes), where=totals > 0)


def true_label_posterior(labels: np.ndarray, probabilities: np.ndarray, p_mislabeled: np.ndarray) -> np.ndarray:
    """float32 (N, C): P(true class) in keeping with p_mislabeled; rows of unlabelled images are left as they are.

    The given label has 1 - p_mislabeled; the other classes share p_mislabeled in proportion to their probabilities
    float (N, C), evenly where those are all 0. So the matrix made of it agrees with the noise rate.
    """
    result = probabilities.astype(np.float32)
    rows = np.flatnonzero(labels >= 0)
    given = labels[rows]
    result[rows, given] = 0
    rest = result[rows].sum(axis=1)
    classes = result.shape[1]
    scale = np.divide(p_mislabeled[rows], rest, out=np.zeros(len(rows)), where=rest > 0)
    even = np.where(rest > 0, 0.0, p_mislabeled[rows] / max(classes - 1, 1))
    result[rows] = result[rows] * scale[:, None].astype(np.float32) + even[:, None].astype(np.float32)
    result[rows, given] = (1 - p_mislabeled[rows]).astype(np.float32)
    return result
