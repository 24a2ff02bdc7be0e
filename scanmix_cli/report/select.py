"""Which rows of a report to show, and in which order."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scanmix_cli.errors import SettingsError
from scanmix_cli.evidence.verdicts import DROP
from scanmix_cli.report.cleaning import takes_suggestion

NAMES_SHOWN = 30  # a sentence with a thousand class names helps nobody


def select(
    report: pd.DataFrame,
    classes: Sequence[str],
    *,
    everything: bool = False,
    top: int | None = None,
    given_class: str | None = None,
    review_budget: int | None = None,
    min_precision: float | None = None,
    threshold: float | None = None,
) -> pd.DataFrame:
    """Rows of the report; without any choice those with a label issue, most suspect first.

    One choice says which rows:
      everything     every row in input order, unreadable and held-out ones included;
      threshold      labelled rows with p_mislabeled at or above it;
      min_precision  the longest ranked list of which this share or more is expected to be wrong (mean p_mislabeled);
      top            the `top` most suspect rows, flagged or not; after threshold or min_precision, of those;
      review_budget  the rows where a person's look is expected to put most labels of cleaned.csv right.
    given_class keeps the rows with that given label and goes with all of them.

    Raises SettingsError on an unknown class, a value out of range or two choices that exclude each other.
    """
    _check(everything, top, review_budget, min_precision, threshold)
    if given_class is not None:
        if given_class not in classes:
            raise SettingsError(f"no class is named {given_class!r}: the classes are {_listed(classes)}")
        report = report[report["given_label"] == given_class]
    if everything:
        return report
    ranked = report[report["rank"].notna()].sort_values("rank", kind="stable")
    if threshold is not None:
        ranked = ranked[ranked["p_mislabeled"] >= threshold]
    elif min_precision is not None:
        ranked = ranked.head(_longest(ranked["p_mislabeled"].to_numpy(), min_precision))
    elif review_budget is not None:
        gain = expected_gain(ranked)
        return ranked.iloc[np.argsort(-gain, kind="stable")[:review_budget]]
    elif top is None:
        ranked = ranked[ranked["is_label_issue"].fillna(False).astype(bool)]
    return ranked if top is None else ranked.head(top)


def expected_gain(rows: pd.DataFrame) -> np.ndarray:
    """float64 (rows,): probability that cleaned.csv is wrong about the row, which a look would put right.

    A given label that goes on is wrong with p_mislabeled, a suggested one with 1 - p_suggested; drop loses an image
    whose label was right with 1 - p_mislabeled.
    """
    wrong, sure = rows["p_mislabeled"].to_numpy(), rows["p_suggested"].to_numpy()
    dropped = (rows["suggested_action"] == DROP).to_numpy()
    return np.where(takes_suggestion(rows), 1 - sure, np.where(dropped, 1 - wrong, wrong))


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _longest(p_ranked: np.ndarray, precision: float) -> int:
    """Length of the longest prefix of the ranked probabilities whose mean is at least `precision`."""
    means = np.cumsum(p_ranked) / np.arange(1, len(p_ranked) + 1)
    # the mean of a falling sequence falls, so the prefixes that qualify are the first ones
    return int((means >= precision).sum())


def _check(
    everything: bool, top: int | None, review_budget: int | None, min_precision: float | None, threshold: float | None
) -> None:
    pools = {
        "--all": everything,
        "--threshold": threshold is not None,
        "--min-precision": min_precision is not None,
        "--review-budget": review_budget is not None,
    }
    used = [name for name, given in pools.items() if given]
    if len(used) > 1:
        raise SettingsError(f"{used[0]} and {used[1]} each choose the rows: give one of them")
    if top is not None and used in (["--all"], ["--review-budget"]):
        raise SettingsError(f"{used[0]} and --top each choose the rows: give one of them")
    for name, share in (("--threshold", threshold), ("--min-precision", min_precision)):
        if share is not None and not 0 <= share <= 1:
            raise SettingsError(f"{name} is {share}: give a probability between 0 and 1")
