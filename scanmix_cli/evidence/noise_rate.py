"""How many labels of the set are wrong: an estimate with an interval."""

from dataclasses import dataclass, replace

import numpy as np

LEVEL = 0.90
Z = 1.6449  # normal quantile of 0.95: two-sided 90 %
MODEL_SHARE = 0.03  # of the rate: what a model of wrong labels is off by even where everything else is known


@dataclass(frozen=True)
class NoiseRate:
    """Estimated share of wrong labels and its 90 % interval, all in 0..1."""

    estimate: float
    low: float
    high: float


NOTHING_KNOWN = NoiseRate(0.0, 0.0, 1.0)


def estimate_noise_rate(
    p_mislabeled: np.ndarray, model_error: float, none_wrong: bool, least: float = 0.0
) -> NoiseRate:
    """Mean of p_mislabeled float (n,), interval by a normal approximation.

    Two variances add up: sum of p (1 - p) / n^2, what is still open about these n labels, and that of the model, whose
    standard error is model_error. Where "no label is wrong" explains the labels as well (none_wrong) it reaches down to
    0. Where a share `least` is known to be wrong at least, the low end is no lower, nor above the estimate. Without a
    labelled image nothing is known: 0 with the interval 0..1.
    """
    total, open_cases = float(p_mislabeled.sum()), float((p_mislabeled * (1 - p_mislabeled)).sum())
    rate = _of_sums(len(p_mislabeled), total, open_cases, model_error, none_wrong)
    return replace(rate, low=max(rate.low, min(least, rate.estimate)))


def _of_sums(n: int, total: float, open_cases: float, model_error: float, none_wrong: bool) -> NoiseRate:
    """From the sums over n images of p and of p (1 - p)."""
    if n == 0:
        return NOTHING_KNOWN
    rate, open_question = total / n, open_cases / n**2
    half = Z * float(np.sqrt(open_question + model_error**2))
    return NoiseRate(rate, 0.0 if none_wrong else max(rate - half, 0.0), min(rate + half, 1.0))


def error_of_model(rate: float, fitted_rate: float, rate_error: float) -> float:
    """Standard error of the set's rate: as far as the likelihood knows it, the gap between the rate that the model was
    given and the one that its verdicts lead to, and MODEL_SHARE of the rate."""
    return float(np.sqrt(rate_error**2 + (rate - fitted_rate) ** 2 + (MODEL_SHARE * rate) ** 2))


def class_noise_rates(
    p_mislabeled: np.ndarray, labels: np.ndarray, classes: int, model_error: float, none_wrong: bool
) -> list[NoiseRate]:
    """One for each class: the share of wrong ones among the labels that name it. labels int64 (N,), -1 left out; the
    model's error is that of the whole set, in proportion to the rate."""
    known = labels >= 0
    p, given = p_mislabeled[known], labels[known]
    whole = float(p.mean()) if len(p) else 0.0
    counts, totals, open_cases = (np.bincount(given, w, classes) for w in (None, p, p * (1 - p)))
    rates = []
    for n, total, still_open in zip(counts.tolist(), totals.tolist(), open_cases.tolist(), strict=True):
        share = total / n / whole if n and whole > 0 else 1.0
        rates.append(_of_sums(n, total, still_open, model_error * share, none_wrong))
    return rates
