"""Scores of a benchmark cell: how well wrong labels were found, and how accurate the networks are.

Pure functions on NumPy arrays. `wrong` is bool (N,): the given label differs from the true one; `p_mislabeled` float
(N,): high is suspect; `flagged` bool (N,): the reported cut. A score that is undefined for the input (AUROC where no
label is wrong) is None.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    precision_recall_fscore_support,
    roc_auc_score,
)

FINAL_EPOCHS = 10  # the published "last" is the mean of this many final epochs
CALIBRATION_BINS = 15


def detection_scores(wrong: np.ndarray, p_mislabeled: np.ndarray, flagged: np.ndarray) -> dict[str, float | None]:
    """Ranking scores, scores at the reported cut, and the trivial baselines beside them."""
    both = bool(wrong.any()) and not bool(wrong.all())
    precision, recall, f1, _ = precision_recall_fscore_support(wrong, flagged, average="binary", zero_division=0)
    return {
        "auroc": float(roc_auc_score(wrong, p_mislabeled)) if both else None,
        "ap": float(average_precision_score(wrong, p_mislabeled)) if wrong.any() else None,
        "best_f1": best_f1(wrong, p_mislabeled),
        "f1": float(f1),
        "precision": float(precision),
        "recall": float(recall),
        "flagged_share": float(flagged.mean()),
        "flag_all_f1": flag_all_f1(float(wrong.mean())),
        "random_ap": float(wrong.mean()),
        "clean_recall": float((~flagged)[~wrong].mean()) if not wrong.all() else None,
        "calibration_error": calibration_error(wrong, p_mislabeled),
    }


def best_f1(wrong: np.ndarray, p_mislabeled: np.ndarray) -> float | None:
    """The highest F1 that any cut of the ranking reaches."""
    if not wrong.any():
        return None
    precision, recall, _ = precision_recall_curve(wrong, p_mislabeled)
    total = precision + recall
    return float(np.max(np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)))


def flag_all_f1(rate: float) -> float:
    """F1 of calling every label wrong when a share `rate` is: precision is the rate, recall 1."""
    return 2 * rate / (1 + rate)


def calibration_error(wrong: np.ndarray, p_mislabeled: np.ndarray, bins: int = CALIBRATION_BINS) -> float:
    """Expected calibration error of `p_mislabeled` in 0..1 (Guo et al. 2017, Eq. 3): equal-width bins, the gap between
    mean probability and share of wrong labels, weighed by the labels in each bin."""
    predicted, observed, counts = reliability(wrong, p_mislabeled, bins)
    filled = counts > 0
    return float((counts[filled] * np.abs(predicted[filled] - observed[filled])).sum() / counts.sum())


def reliability(
    wrong: np.ndarray, p_mislabeled: np.ndarray, bins: int = CALIBRATION_BINS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean probability, share of wrong labels and number of labels in each bin, all (bins,); NaN in empty bins."""
    place = np.minimum((p_mislabeled * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    nothing = np.full(bins, np.nan)
    predicted = np.divide(np.bincount(place, p_mislabeled, bins), counts, out=nothing.copy(), where=counts > 0)
    observed = np.divide(np.bincount(place, wrong, bins), counts, out=nothing.copy(), where=counts > 0)
    return predicted, observed, counts


def share_right(clean: np.ndarray, given: np.ndarray, suggested: np.ndarray, flagged: np.ndarray) -> float:
    """Share of labels that are right once every flagged one is replaced by its suggestion; class numbers (N,)."""
    return float((np.where(flagged, suggested, given) == clean).mean())


def final_mean(accuracies: Sequence[float]) -> float:
    """The published "last": mean accuracy of the final `FINAL_EPOCHS`, of all where there are fewer."""
    return float(np.mean(accuracies[-FINAL_EPOCHS:]))


def matched_accuracy(clusters: np.ndarray, labels: np.ndarray, classes: int) -> float:
    """Accuracy of cluster numbers int64 (N,) under the one-to-one match with classes that makes it highest."""
    table = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(table, (clusters, labels), 1)
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum() / len(labels))


def top_k_accuracy(logits: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Share of rows of logits (N, C) whose label is among the `k` largest entries."""
    k = min(k, logits.shape[1])
    best = np.argpartition(-logits, k - 1, axis=1)[:, :k]
    return float((best == labels[:, None]).any(axis=1).mean())
