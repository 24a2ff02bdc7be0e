"""How many labels of the set are wrong: an estimate with an interval."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.90
Z = 1.6449  # normal quantile of 0.95: two-sided 90 %


@dataclass(frozen=True)
class NoiseRate:
    """Estimated share of wrong labels and its 90 % interval, all in 0..1."""

    estimate: float
    low: float
    high: float


def estimate_noise_rate(p_mislabeled: np.ndarray, signals: Sequence[np.ndarray]) -> NoiseRate:
    """Mean of p_mislabeled float (n,) over the labelled images, interval by a normal approximation.

    Two variances add up: p (1 - p) / n, the sampling of n labels with error rate p, and the standard error of the mean
    over the signals (each float (n,), an estimate of its own), for what the signals do not agree on. Without a labelled
    image nothing is known: 0 with the interval 0..1.
    """
    n = len(p_mislabeled)
    if n == 0:
        return NoiseRate(0.0, 0.0, 1.0)
    rate = float(p_mislabeled.mean())
    views = np.array([signal.mean() for signal in signals])
    between = views.var(ddof=1) / len(views) if len(views) > 1 else 0.0
    half = Z * float(np.sqrt(rate * (1 - rate) / n + between))
    return NoiseRate(rate, max(rate - half, 0.0), min(rate + half, 1.0))
