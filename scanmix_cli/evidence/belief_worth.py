"""How far the word of beliefs goes: measured on runs with known truth, not fitted to the labels.

Given labels cannot tell a sure classifier of wrong labels from a vague one of right labels, so nothing that is fitted
to them can temper beliefs. What was measured instead (docs/verdicts.md): means over epochs of beliefs are vaguer than
they are right, in weak features less so than in good ones. Weak features show in two ways: the beliefs are unsure
themselves, and they agree with the given labels far less often where they are less sure. Wrong labels alone, of
whatever rate, are found where the beliefs are sure as well.
"""

import numpy as np

from scanmix_cli.evidence.noise_model import softmax

GOOD, WEAK = 1.6, 1.3  # exponents of mean beliefs in good and in weak features
ASSURED, UNSURE = 0.72, 0.6  # assurance from which they count as good, and up to which as weak
TILT = 0.2  # of the exponent's logarithm in good features, from the median image to the most doubtful
DOUBT = 1.5  # the factor by which an exponent may be off
SUREST, FEWEST = 0.05, 20  # the surest share of the images, at least so many
MOST = 0.5  # of the surest name the given label, or that sign says nothing


def goodness(beliefs: np.ndarray, labels: np.ndarray, clusters: float = 0.0) -> float:
    """0 for weak features, 1 for good ones, by the assurance of mean beliefs float (n, C) about images with the given
    labels int64 (n,), or by how sure settled votes are: where most labels are wrong, good features make beliefs unsure,
    but not votes that are passed on until they settle."""
    assured = max(assurance(beliefs, labels), clusters)
    return float(np.clip((assured - UNSURE) / (ASSURED - UNSURE), 0.0, 1.0))


def worth(good: float) -> float:
    """The exponent of mean beliefs in features of this goodness."""
    return float(WEAK * (GOOD / WEAK) ** good)


def tilted(evidence: np.ndarray, ambiguity: np.ndarray, tilt: float) -> np.ndarray:
    """Log-beliefs float32 (K, n, C) times exp(-tilt ambiguity): the doubtful count less, the sure more; ambiguity
    float32 (n,) in -1..1."""
    return evidence * np.exp(-np.float32(tilt) * ambiguity)[:, None] if tilt else evidence


def assurance(beliefs: np.ndarray, labels: np.ndarray) -> float:
    """The larger of two signs of good features, both in 0..1: how sure beliefs (n, C) are on average, and how often
    they name the given label, as a share of how often the surest of them do, if those do in MOST cases, and by more
    than a standard error: where even the surest do not, they may be no better than the others."""
    largest = beliefs.max(axis=1)
    named = beliefs.argmax(axis=1) == labels
    surest = np.argsort(-largest, kind="stable")[: max(int(SUREST * len(labels)), FEWEST)]
    among = float(named[surest].mean())
    clear = among - float(np.sqrt(among * (1 - among) / len(surest))) > MOST
    return max(float(largest.mean()), min(float(named.mean()) / among, 1.0) if clear else 0.0)


def leaning(evidence: np.ndarray, labels: np.ndarray, weight: float, good: float) -> np.ndarray:
    """float64 (C,): the bias that gives beliefs with this weight the classes' shares among the given labels int64 (n,);
    evidence float (n, C): log-beliefs. The belief loop holds them half-way to even shares, which means nothing where
    features are good: sure beliefs stay what they are, and uneven shares may come of wrong labels."""
    believed = softmax(np.float32(weight) * evidence).mean(axis=0, dtype=np.float64)
    given = np.bincount(labels, minlength=len(believed)) + 1.0
    return (1 - good) * np.log(given / given.sum() / believed)
