"""Decisions as a CSV table, and what is asked of any table of decisions before it is taken in."""

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from scanmix_cli.data.wording import counted, quoted, shown
from scanmix_cli.errors import DataError
from scanmix_cli.evidence.verdicts import RELABEL
from scanmix_cli.files import write_text
from scanmix_cli.report.choices import Choice, RowFinder, problem
from scanmix_cli.report.spreadsheet import harmless, restored

COLUMNS = ("id", "row", "filename", "decision", "label", "who", "when", "source")


def write_decision_table(path: Path, decisions: Iterable[Any]) -> None:
    """One row a decision, an object with the attributes COLUMNS; raises RunError on a full disk."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for decision in decisions:
        cells = [getattr(decision, name) for name in COLUMNS]
        writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in cells])
    write_text(path, text.getvalue())


def read_decision_table(path: Path, filenames: Sequence[str]) -> tuple[list[Choice], int]:
    """The rows' choices, the last one where a row is named twice, and how many rows name no image of the run.

    Columns filename and decision are needed. Raises DataError naming the file and the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check the path") from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    missing = [name for name in ("filename", "decision") if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{path} has no column '{missing[0]}'; its header should be {','.join(COLUMNS)}")
    rows = RowFinder(filenames)
    choices: dict[int, Choice] = {}
    foreign = 0
    for line in reader:
        decision = (line["decision"] or "").strip()
        label = restored(line.get("label") or "") if decision == RELABEL else ""
        if wrong := problem(decision, label):
            raise DataError(f"{path}, line {reader.line_num}: {wrong}")
        name = restored(line["filename"] or "")
        row = rows.find(name, line.get("row") or "")
        if row is None:
            foreign += 1
        else:
            choices[row] = Choice(row, name, decision, label)
    return list(choices.values()), foreign


def require_images(path: Path, found: Collection[Any], foreign: int) -> None:
    """DataError where nothing was found and `foreign` names mean no image of the run."""
    if foreign and not found:
        raise DataError(
            f"{path} names no image of this run ({counted(foreign, 'name')} looked for): "
            "name the run that it is about with --run"
        )


def new_classes(choices: Iterable[Choice], known: Collection[str]) -> list[str]:
    """Labels of relabels that are not among the known ones, in string order."""
    return sorted({choice.label for choice in choices if choice.decision == RELABEL} - set(known))


def refuse_new_classes(path: Path, choices: Sequence[Choice], known: Collection[str]) -> None:
    """DataError naming labels that are not among the known ones: most of them are slips of the pen."""
    if new := new_classes(choices, known):
        image = next(choice.filename for choice in choices if choice.label == new[0])
        raise DataError(
            f"no class of this run is named {quoted(new)} ({path}, for {shown(image)}): mend the label, or take new "
            "classes in with `scanmix import --new-classes`"
        )
