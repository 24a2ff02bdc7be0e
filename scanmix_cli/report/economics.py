"""What a look at the ranked list is expected to bring."""

from typing import Any

import numpy as np
import pandas as pd

LADDER = (10, 25, 50)  # lengths of list that are told, and these times 10, 100, ...


def expected_errors(p_ranked: np.ndarray) -> np.ndarray:
    """float64 (n + 1,): expected number of wrong labels among the first k of the ranked list, k = 0..n.

    The sum of the first k probabilities p_mislabeled.
    """
    return np.concatenate([[0.0], np.cumsum(np.nan_to_num(p_ranked))])


def expected_wrong(rows: pd.DataFrame) -> float:
    """Expected number of wrong labels among rows of a report."""
    return float(np.nansum(rows["p_mislabeled"].to_numpy(np.float64)))


def errors_curve(report: pd.DataFrame) -> list[dict[str, Any]]:
    """`first` k of the ranked labels and how many of them are expected to be `wrong`: k on a ladder, then the suspects
    and all labels; shortest list first. Any other k is a sum over report.csv."""
    ranked = report[report["rank"].notna()].sort_values("rank", kind="stable")
    errors = expected_errors(ranked["p_mislabeled"].to_numpy(np.float64))
    count, issues = len(ranked), int(ranked["is_label_issue"].fillna(False).sum())
    ladder = {step * 10**power for step in LADDER for power in range(len(str(count)))}
    lengths = sorted({k for k in ladder | {issues, count} if 0 < k <= count})
    return [{"first": k, "wrong": round(float(errors[k]), 3)} for k in lengths]
