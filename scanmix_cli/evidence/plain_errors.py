"""Plain label errors that no doubt of the beliefs explains: how many labels are wrong at least.

Given labels cannot tell a few even wrong labels under sure beliefs from right labels under vaguer ones, as far as one
exponent of the beliefs goes: what one loses on the surest images the other loses on the rest. But they show it in
another way. Where beliefs err, the true class is among those that they hold possible, so that right labels get rare
from the first choice to the last; wrong labels that look at no image fall on all other classes alike
(docs/verdicts.md, measured on runs with known truth). Counted are images without doubt, where hardly anything else
falls on a class believed least; doubtful ones are held to be labelled wrong at least as often.
"""

import numpy as np

from scanmix_cli.evidence.noise_rate import Z
from scanmix_cli.evidence.scores import blocks

UNEVEN = 3  # times the median class, and one: more labels of a class do not count, it may never have been learned


def least_wrong(beliefs: np.ndarray, labels: np.ndarray, doubt: np.ndarray) -> float:
    """The share of labels that is wrong at least, with 95 % confidence: of the less doubtful half of the images, by
    the labels that name a class of the half believed least.

    beliefs float (N, C), labels int64 (N,), -1 left out; doubt float (N,) in -1..1, evenly spread. Two classes have no
    such half.
    """
    classes = beliefs.shape[1]
    far = (classes - 1) // 2
    rows = np.flatnonzero((labels >= 0) & (doubt < 0))
    if not far or not len(rows):
        return 0.0
    seen = np.zeros(classes)
    for part in blocks(rows, classes):
        given = labels[part]
        believed = beliefs[part]
        before = (believed > believed[np.arange(len(part)), given][:, None]).sum(axis=1)
        seen += np.bincount(given[before >= classes - far], minlength=classes)
    count = float(np.minimum(seen, UNEVEN * np.median(seen) + 1).sum())
    return max(count - Z * float(np.sqrt(count)), 0.0) / len(rows) * (classes - 1) / far
