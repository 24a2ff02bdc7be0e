"""Which rows of a run are exported, under which name and with which label."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.errors import SettingsError
from scanmix_cli.evidence.verdicts import DROP
from scanmix_cli.export.names import unique_stems
from scanmix_cli.report.cleaning import takes_suggestion

ONLY = ("keep", "suspects", "all")


@dataclass(frozen=True)
class Item:
    """One image of an export."""

    row: int  # of report.csv
    filename: str  # as report.csv has it
    source: str  # where the original lies
    stem: str  # file name in the export, without suffix; no two are alike
    split: str
    label: str  # by the rule of cleaned.csv; "" where there is none
    given_label: str
    predicted_label: str
    suggested_label: str
    suggested_action: str
    is_label_issue: bool
    p_mislabeled: float | None
    confidence: float | None  # that `label` is right; None on held-out rows, whose labels nobody judged


def choose_items(
    report: pd.DataFrame,
    paths: Sequence[str],
    only: str,
    min_confidence: float | None = None,
    decided: Collection[int] = (),
) -> list[Item]:
    """The readable rows that `only` names, in row order.

    keep: what cleaned.csv holds, and the labelled held-out rows as they are; suspects: rows with a label issue; all:
    every readable row. min_confidence leaves out judged rows whose label is less sure. decided: rows that a person or
    another tool decided, which are certain. Raises SettingsError on an unknown choice.
    """
    if only not in ONLY:
        raise SettingsError(f"--only {only!r} is unknown; choose one of {', '.join(ONLY)}")
    if min_confidence is not None and not 0 <= min_confidence <= 1:
        raise SettingsError(f"--min-confidence is {min_confidence}: give a probability between 0 and 1")
    labels, confidence = cleaned(report, decided)
    issue = report["is_label_issue"].fillna(False).to_numpy(dtype=bool)
    chosen = (report["error_code"] == VALID).to_numpy(copy=True)
    if only == "keep":
        chosen &= (labels != "") & (report["suggested_action"] != DROP).to_numpy()
    elif only == "suspects":
        chosen &= issue
    if min_confidence is not None:
        chosen &= np.isnan(confidence) | (confidence >= min_confidence)
    stems = unique_stems(report["filename"].tolist())
    names = ("filename", "split", "given_label", "predicted_label", "suggested_label", "suggested_action")
    texts = [report[name].tolist() for name in names]
    wrong = report["p_mislabeled"].tolist()
    return [
        Item(
            row=row,
            filename=texts[0][row],
            source=paths[row],
            stem=stems[row],
            split=texts[1][row],
            label=labels[row],
            given_label=texts[2][row],
            predicted_label=texts[3][row],
            suggested_label=texts[4][row],
            suggested_action=texts[5][row],
            is_label_issue=bool(issue[row]),
            p_mislabeled=number(wrong[row]),
            confidence=number(confidence[row]),
        )
        for row in np.flatnonzero(chosen).tolist()
    ]


def cleaned(report: pd.DataFrame, decided: Collection[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Text (rows,) and float64 (rows,): the label of every row by the rule of cleaned.csv, and how sure it is.

    Sure as 1 - p_mislabeled for a given label and p_suggested for a suggested one; 1 where decided; NaN where nobody
    judged: held-out and unreadable rows.
    """
    given = report["given_label"].to_numpy(dtype=object)
    changed = takes_suggestion(report)
    labels = np.where(changed, report["suggested_label"].to_numpy(dtype=object), given)
    unsure = 1 - report["p_mislabeled"].to_numpy(dtype=np.float64)
    suggested = report["p_suggested"].to_numpy(dtype=np.float64)
    confidence = np.where(changed | (given == ""), suggested, unsure)
    confidence[list(decided)] = 1.0
    confidence[(report["split"] != TRAIN).to_numpy()] = np.nan
    return labels, confidence


def number(value: float) -> float | None:
    """None for NaN, six decimals else, as the report's tables have it."""
    return None if np.isnan(value) else round(float(value), 6)
