"""Whether neighbours are labelled wrong alike, as they are where a classifier made the labels.

People who look at images one by one err here and there; a classifier gives images that look alike the same wrong label.
Of pairs of neighbours that are believed to be of one class and both labelled as another, how many bear the same label,
beyond what the confusion of classes makes of it? The agreement is corrected for chance like Scott's pi (Public Opinion
Quarterly 19, 1955): 0 by chance, 1 always. Beliefs err alike among neighbours too, so only their surer half is asked.
"""

from collections.abc import Callable

import numpy as np

from scanmix_cli.evidence.image_noise import LEAST_WRONG, MOST_PAIRED, enough
from scanmix_cli.evidence.noise_model import TINY
from scanmix_cli.evidence.scores import pair_counts, surest
from scanmix_cli.streams import few

PEOPLE, MADE = 0.06, 0.11  # agreement up to which people may have erred, and from which a classifier has
CLEAR = 0.5  # of the way between them, from where wrong labels are held to follow the image
SURE = 2.0  # standard errors that count against it
MOST = 20_000  # images whose neighbours are asked
WRONG = 2  # labels of a class held to be wrong, at least, of which pairs can be made


def made_alike(
    believed: np.ndarray, sureness: np.ndarray, labels: np.ndarray, near: Callable[[np.ndarray], np.ndarray]
) -> float:
    """0 to 1: how clearly a classifier made the wrong labels. Not where each class is taken for one other: swapped
    labels agree whoever swapped them; nor where no more labels are wrong than beliefs, which err alike too, may be.

    believed int64 (N,) and sureness float (N,): the likeliest class and its probability; labels int64 (N,), -1 where
    unlabelled; near: the neighbours int64 (n, K) of rows int64 (n,), which are few of large sets.
    """
    known = np.flatnonzero(labels >= 0)
    if not len(known):
        return 0.0
    asked = known[surest(believed[known], sureness[known])]
    rows = asked[labels[asked] != believed[asked]]
    own = 1 - float(sureness[asked].mean())  # errors of the beliefs, by their own account
    if not enough(len(rows) / len(asked), len(asked), max(LEAST_WRONG, own)):
        return 0.0
    classes = int(max(believed.max(initial=0), labels.max(initial=0))) + 1
    seen = pair_counts(believed[rows], labels[rows], classes)
    if seen.max(axis=1).sum() > MOST_PAIRED * seen.sum():
        return 0.0
    wrong = np.zeros(len(labels), bool)
    wrong[rows] = True
    rows = rows[few(len(rows), MOST)]
    found, error = agreement(believed, labels, wrong, rows, near(rows), by_chance(seen))
    return float(np.clip((found - SURE * error - PEOPLE) / (MADE - PEOPLE), 0, 1))


def by_chance(seen: np.ndarray) -> np.ndarray:
    """float64 (C,): how often two wrong labels of a class are the same; seen (C, C): how often each is. Exact for draws
    without replacement, so that few labels do not seem to disagree; 1 where there is nothing to draw from."""
    total = seen.sum(axis=1)
    pairs = np.maximum(total * (total - 1), 1)
    return np.where(total < WRONG, 1.0, (seen * (seen - 1)).sum(axis=1) / pairs)


def agreement(
    believed: np.ndarray,
    labels: np.ndarray,
    wrong: np.ndarray,
    rows: np.ndarray,
    near: np.ndarray,
    chance: np.ndarray,
) -> tuple[float, float]:
    """The agreement of the rows with their neighbours, and its standard error, images taken for independent; 0 and 0
    without a pair. wrong bool (N,); rows int64 (n,) are wrong ones, near int64 (n, K); chance float (C,)."""
    pairs = wrong[near] & (believed[near] == believed[rows, None]) & (near != rows[:, None])
    same = (pairs & (labels[near] == labels[rows, None])).sum(axis=1)
    count = pairs.sum(axis=1)
    if not count.any():
        return 0.0, 0.0
    share, expected = same.sum() / count.sum(), (chance[believed[rows]] * count).sum() / count.sum()
    error = np.sqrt(np.square(same - share * count).sum()) / count.sum()
    return float((share - expected) / (1 - expected + TINY)), float(error / (1 - expected + TINY))
