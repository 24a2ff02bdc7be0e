"""How many labels are wrong, at least and at most, by the images that a classifier is surest of.

Where features cannot tell two classes, a classifier on them contradicts right labels, again and again in the same way.
It does so where it is in doubt; wrong labels are among the surest images too. By features of outside weights 98 to
100 % of the surest tenth of each class were of that class. Even wrong labels were as frequent there as elsewhere,
labels that people got wrong up to three times, those of another classifier six times as rare (docs/verdicts.md, on
whose sets the constants were chosen). So it is with beliefs of a trained network.
"""

import numpy as np

from scanmix_cli.evidence.scores import surest

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
    asked = surest(chosen, sureness, TENTH)
    from scipy.stats import binomtest  # only where it is used: half a second to load

    wrong = int((chosen != labels[rows])[asked].sum())
    interval = binomtest(wrong, int(asked.sum())).proportion_ci(LEVEL)
    return float(interval.low), float(interval.high)
