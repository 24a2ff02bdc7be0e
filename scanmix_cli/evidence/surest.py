"""How many labels are wrong, at least and at most, by the images that a classifier is surest of.

Where features cannot tell two classes, a classifier on them contradicts right labels, again and again in the same way.
It does so where it is in doubt; wrong labels are among the surest images too. Of the surest tenth of each class some
98 to 100 % were of that class, by features of outside weights; labels that people got wrong, or a classifier, were
there up to three times as rare as elsewhere, and no more frequent (docs/verdicts.md).
"""

import numpy as np
from scipy.stats import binomtest

TENTH = 0.1  # of the images of each predicted class
TIMES = 3.0  # as often as among the surest ones may labels be wrong
LEVEL = 0.98  # of the interval of their share: two tails of one hundredth


def wrong_at_surest(probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Of the labelled images of each predicted class the surest TENTH: the share of their labels that are not that
    class, as its Clopper-Pearson interval. From 0 to 1 without labels.

    probabilities float (N, C), formed without the image's own label; labels int64 (N,), -1 where unlabelled.
    """
    rows = np.flatnonzero(labels >= 0)
    if not len(rows):
        return 0.0, 1.0
    chosen, sureness = probabilities[rows].argmax(axis=1), probabilities[rows].max(axis=1)
    order = np.lexsort((-sureness, chosen))  # by class, the surest first
    _, starts, counts = np.unique(chosen[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, counts)
    surest = order[place < np.repeat(np.ceil(TENTH * counts), counts)]
    wrong = int((chosen[surest] != labels[rows[surest]]).sum())
    interval = binomtest(wrong, len(surest)).proportion_ci(LEVEL)
    return float(interval.low), float(interval.high)
