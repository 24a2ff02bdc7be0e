"""Which classes are swapped in pairs, by the labels of images without doubt.

Doubtful images name a similar class because beliefs confuse the two, whatever the labels do; sure ones hardly do. So
where most wrong labels of the surer half of each class fall to one other class, that is how labels go wrong, and what
doubtful images show besides is the beliefs' own confusion (docs/verdicts.md).
"""

import numpy as np

from scanmix_cli.evidence.noise_matrix import PAIRWISE
from scanmix_cli.evidence.noise_rate import Z
from scanmix_cli.evidence.scores import pair_counts, surest

CHANCE = 2.0  # times as often as the mean pair of classes, with 95 % confidence


def swapped(chosen: np.ndarray, labels: np.ndarray, doubt: np.ndarray, classes: int) -> np.ndarray | None:
    """bool (C, C): the class of the row is taken for that of the column; None where such pairs hold less than PAIRWISE
    of the labels of sure images that are not the first choice.

    chosen int64 (n,): the first choice of the beliefs, labels int64 (n,), doubt float (n,).
    """
    sure = surest(chosen, -doubt)
    seen = pair_counts(chosen[sure], labels[sure], classes)
    np.fill_diagonal(seen, 0)
    chance = seen.sum() / max(classes * (classes - 1), 1)
    pairs = (seen == seen.max(axis=1, keepdims=True)) & (seen - Z * np.sqrt(seen) > CHANCE * chance)
    return pairs if pairs.any() and seen[pairs].sum() >= PAIRWISE * seen.sum() else None
