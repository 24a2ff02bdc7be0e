"""The report: one row per input row, in input order."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.data.columns import names_beside
from scanmix_cli.data.decode import VALID
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import TRAIN, Samples
from scanmix_cli.evidence.verdicts import Verdicts

REPORT_COLUMNS = (
    "filename",
    "split",
    "given_label",
    "predicted_label",
    "suggested_label",
    "suggested_action",
    "is_label_issue",
    "label_score",
    "p_mislabeled",
    "p_suggested",
    "rank",
    "neighbor_agreement",
    "mean_loss",
    "p_clean_gmm",
    "is_outlier_issue",
    "outlier_score",
    "is_exact_duplicate_issue",
    "is_near_duplicate_issue",
    "duplicate_set",
    "error_code",
)
FLAGS = ("is_label_issue", "is_outlier_issue", "is_exact_duplicate_issue", "is_near_duplicate_issue")
COUNTS = ("rank", "duplicate_set")
NUMBERS = (
    "label_score",
    "p_mislabeled",
    "p_suggested",
    "neighbor_agreement",
    "mean_loss",
    "p_clean_gmm",
    "outlier_score",
)


def build_report(
    samples: Samples,
    pixels: Pixels,
    verdicts: Verdicts,
    train_rows: np.ndarray,
    held_out: tuple[np.ndarray, np.ndarray] | None = None,
    duplicates: np.ndarray | None = None,
    near: np.ndarray | None = None,
) -> pd.DataFrame:
    """The report's columns, then the user's own; the index is the row number.

    train_rows int64 (N,): the row of each verdict. held_out: int64 (M,) rows and int64 (M,) predicted classes of
    readable held-out images, which get a prediction and nothing else. duplicates int64 (rows,): number of the set of
    identical images a row belongs to, -1 in none (`data.duplicates.exact_duplicates`); near: the same of
    nearly identical ones, which the sets of identical ones are part of (`data.near_duplicates`); without them the
    duplicate columns stay blank.
    """
    rows = len(samples)
    classes = np.array(samples.classes, dtype=object)
    columns: dict[str, np.ndarray] = {"error_code": pixels.error_codes}
    for name in ("filename", "split", "given_label"):
        columns[name] = samples.table[name].to_numpy(dtype=object)
    columns["predicted_label"] = _spread("predicted_label", classes[verdicts.predicted], train_rows, rows)
    if held_out is not None:
        columns["predicted_label"][held_out[0]] = classes[held_out[1]]
    # a review may have given a label to an image that has none
    known = verdicts.labelled & (columns["given_label"][train_rows] != "")
    for name, values in _verdict_columns(verdicts, classes, known).items():
        columns[name] = _spread(name, values, train_rows, rows)
    for name, values in _duplicate_columns(duplicates, near).items():
        looked = pixels.rows if len(values) else pixels.rows[:0]  # nobody can look at an unreadable image
        columns[name] = _spread(name, values[looked], looked, rows)
    columns = {name: columns[name] for name in REPORT_COLUMNS}
    for name, shown in names_beside(REPORT_COLUMNS, samples.extra_columns).items():
        columns[shown] = _as_text(samples.table[name])
    return typed_table(columns, pd.RangeIndex(rows))


def is_labelled(report: pd.DataFrame) -> pd.Series:
    """bool, one a row: readable training images with a given label, those whose labels are judged and counted."""
    return (report["split"] == TRAIN) & (report["error_code"] == VALID) & (report["given_label"] != "")


def typed_table(columns: Mapping[str, Any], index: pd.Index) -> pd.DataFrame:
    """The columns with their types: nullable booleans and integers, floats, and text as plain objects.

    Text stays `object`: file names may hold bytes that are no UTF-8, which pandas' own string type refuses.
    """
    types = dict.fromkeys(FLAGS, "boolean") | dict.fromkeys(COUNTS, "Int64") | dict.fromkeys(NUMBERS, "float64")
    table = pd.DataFrame(
        {name: pd.Series(values, index=index, dtype=types.get(name, "object")) for name, values in columns.items()}
    )
    # said again, since pandas takes names of columns for its own string type too
    table.columns = pd.Index(list(columns), dtype=object)
    return table


def _verdict_columns(verdicts: Verdicts, classes: np.ndarray, known: np.ndarray) -> dict[str, np.ndarray]:
    """Columns over the N judged images; what says nothing about an image without a given label (where `known`, bool
    (N,), is false) is missing there."""
    columns = {
        "suggested_label": classes[verdicts.suggested],
        "suggested_action": verdicts.suggested_action,
        "is_label_issue": verdicts.is_label_issue & known,
        "label_score": np.where(known, verdicts.label_score, np.nan),
        "p_mislabeled": np.where(known, verdicts.p_mislabeled, np.nan),
        "p_suggested": verdicts.p_suggested,
        "rank": np.where(known, verdicts.rank, np.nan),
        "mean_loss": np.where(known, verdicts.mean_loss, np.nan),
        "p_clean_gmm": np.where(known, verdicts.p_clean_gmm, np.nan),
        "is_outlier_issue": verdicts.is_outlier_issue,
        "outlier_score": verdicts.outlier_score,
    }
    agreement = verdicts.neighbor_agreement
    return columns | {"neighbor_agreement": np.full(len(verdicts), np.nan) if agreement is None else agreement}


def _duplicate_columns(duplicates: np.ndarray | None, near: np.ndarray | None) -> dict[str, np.ndarray]:
    """Columns over all rows; empty arrays, hence blank columns, where nobody looked for duplicates."""
    if duplicates is None:
        return dict.fromkeys(("is_exact_duplicate_issue", "is_near_duplicate_issue", "duplicate_set"), np.zeros(0))
    inside, sets = duplicates >= 0, duplicates if near is None else near
    return {
        "is_exact_duplicate_issue": inside,
        "is_near_duplicate_issue": np.zeros(0) if near is None else (near >= 0) & ~inside,
        "duplicate_set": np.where(sets >= 0, sets, np.nan),
    }


def _spread(name: str, values: np.ndarray, at: np.ndarray, rows: int) -> np.ndarray:
    """object (rows,): the values at their rows, missing elsewhere ("" in text columns)."""
    missing = None if name in FLAGS + COUNTS + NUMBERS else ""
    column = np.full(rows, missing, dtype=object)
    column[at] = values
    if name in COUNTS:
        column[at] = [None if value != value else int(value) for value in values]
    return column


def _as_text(column: pd.Series) -> np.ndarray:
    missing = column.isna().to_numpy()
    texts = ["" if gone else str(value) for value, gone in zip(column.tolist(), missing, strict=True)]
    return np.array(texts, dtype=object)
