"""Tables with a verdict about each image, as decisions: cleanlab's, and the report of a run.

Of cleanlab's table the label issues are taken, relabelled as it predicts; that it found no issue is no decision. A
report may have been edited: what it says to relabel, to drop, or to keep against the run is a decision, review is none.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scanmix_cli.data.tables import Table
from scanmix_cli.data.wording import shown
from scanmix_cli.errors import DataError
from scanmix_cli.evidence.verdicts import DROP, KEEP, RELABEL, REVIEW
from scanmix_cli.export.finder import ImageFinder
from scanmix_cli.report.choices import CLEANLAB, LONGEST_NUMBER, UNSURE, Choice, Unfound, named_by_number
from scanmix_cli.report.result_table import column, has_column, image_names
from scanmix_cli.report.table import is_labelled

REPORT = "report"
ACTIONS = (KEEP, RELABEL, REVIEW, DROP)


@dataclass(frozen=True)
class Results:
    """Decisions of one file, the last one of each row, and how many entries are none."""

    source: str
    choices: list[Choice]
    unfound: Unfound
    undecided: int = 0  # of a report: still to review
    agreed: int = 0  # of a report: keep a label that the run keeps


def choice_of(row: int, filename: str, given: str, label: str | None) -> Choice:
    if label is None:
        return Choice(row, filename, UNSURE)
    return Choice(row, filename, KEEP) if label == given else Choice(row, filename, RELABEL, label)


def is_report(table: Table) -> bool:
    """Whether its columns are those of a run's report, or of the manifest of an export."""
    return has_column(table, "suggested_action") and has_column(table, "suggested_label")


def read_report_table(table: Table, finder: ImageFinder, report: pd.DataFrame) -> Results:
    """Decisions from a report that may have been edited; `report` is the run's own, decisions in place."""
    names = image_names(table)
    if names is None:
        raise DataError(f"{table.path} has no column 'filename', by which images are known; write the report anew")
    given, own_labels, own_actions = (
        report[name].tolist() for name in ("given_label", "suggested_label", "suggested_action")
    )
    rows = _rows_by_label(table, names, finder, report)
    choices: dict[int, Choice] = {}
    unfound = Unfound()
    undecided = agreed = 0
    cells = zip(names, rows, column(table, "suggested_action"), column(table, "suggested_label"), strict=True)
    for line, (name, found, action, label) in enumerate(cells, start=1):
        action = action.strip().casefold()
        row = found[0] if len(found) == 1 else None
        if wrong := _problem(action, label, () if row is None else (given[row], own_labels[row])):
            raise DataError(f"{table.path}, row {line}: {wrong}")
        if not action:  # held out, or no picture
            continue
        if row is None:
            unfound.only(found, name)
        elif action == REVIEW:
            undecided += 1
        elif action == RELABEL:
            choices[row] = choice_of(row, report["filename"].iloc[row], given[row], label)
        elif action == own_actions[row] == KEEP:  # nobody need have looked at it
            agreed += 1
        else:
            choices[row] = Choice(row, report["filename"].iloc[row], action)
    return Results(REPORT, list(choices.values()), unfound, undecided, agreed)


def _problem(action: str, label: str, known: Sequence[str]) -> str:
    """What is wrong with a row of a report, "" where nothing is; `known`: the row's given and suggested label."""
    if action not in ("", *ACTIONS):
        return f"suggested_action '{shown(action)}' is unknown; use one of {', '.join(ACTIONS)}"
    if action == RELABEL and not label:
        return "suggested_action 'relabel' needs a label; mend that row"
    if action in (KEEP, REVIEW) and label and known and label not in known:
        return (
            f"suggested_label '{shown(label)}' is new, but suggested_action is still {action}; "
            "write relabel there, or take the label back"
        )
    return ""


def _rows_by_label(table: Table, names: Sequence[str], finder: ImageFinder, report: pd.DataFrame) -> list[list[int]]:
    """The rows that each line may mean: a file that the data list several times is told by its given label and its
    split, then by order."""
    known = ("given_label", "split") if has_column(table, "split") else ("given_label",)
    rows = defaultdict(list)
    for row, own in enumerate(zip(*(report[name] for name in ("filename", *known)), strict=True)):
        rows[own].append(row)
    lines = zip(column(table, "row"), names, *(column(table, name) for name in known), strict=True)
    found: list[list[int]] = []
    for number, *key in lines:
        left = rows.get(tuple(key), [])
        found.append([left.pop(left.index(named_by_number(left, number)[0]))] if left else finder.rows(key[:1], number))
    return found


def read_cleanlab(table: Table, finder: ImageFinder, report: pd.DataFrame, classes: Sequence[str]) -> Results:
    if not has_column(table, "predicted_label"):
        raise DataError(
            f"{table.path} has no column 'predicted_label'; write it with the labels that cleanlab predicts"
        )
    names, numbers = image_names(table), column(table, "row")
    by_order = _rows_by_order(table, report) if names is None else []
    issues, labels = column(table, "is_label_issue"), column(table, "predicted_label")
    filenames, given = report["filename"].tolist(), report["given_label"].tolist()
    choices: dict[int, Choice] = {}
    unfound = Unfound()
    for k, (issue, predicted) in enumerate(zip(issues, labels, strict=True)):
        if issue.strip().casefold() not in ("true", "1"):
            continue
        row = by_order[k] if names is None else unfound.only(finder.rows((names[k],), numbers[k]), names[k])
        if row is None:
            continue
        label = _class_name(predicted, classes)
        choices[row] = choice_of(row, filenames[row], "", None if label in ("", given[row]) else label)
    return Results(CLEANLAB, list(choices.values()), unfound)


def _rows_by_order(table: Table, report: pd.DataFrame) -> list[int]:
    """The row of each line of a table without file names: that of `--to cleanlab`, or all rows of the report."""
    exported = np.flatnonzero(is_labelled(report)).tolist()
    for rows in (exported, list(range(len(report)))):
        if len(rows) == len(table):
            return rows
    raise DataError(
        f"{table.path} has {len(table)} rows and no column 'filename', but the run has {len(exported)} labelled images "
        f"in {len(report)} rows; add the column"
    )


def _class_name(cell: str, classes: Sequence[str]) -> str:
    """A class by its name, or by its number as cleanlab counts classes."""
    if cell not in classes and cell.isdecimal() and len(cell) <= LONGEST_NUMBER and int(cell) < len(classes):
        return classes[int(cell)]
    return cell
