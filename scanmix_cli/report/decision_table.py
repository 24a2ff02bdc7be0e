"""Decisions as a table, and what is asked of any table of decisions before it is taken in."""

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from scanmix_cli.data.tables import JSON_SUFFIXES, Table
from scanmix_cli.data.wording import counted, quoted, shown
from scanmix_cli.errors import DataError
from scanmix_cli.evidence.verdicts import RELABEL
from scanmix_cli.report.choices import Choice, Origin, RowFinder, Unfound, problem
from scanmix_cli.report.export import unicode_text, write_table
from scanmix_cli.report.result_table import column, has_column, image_names

COLUMNS = ("id", "row", "filename", "decision", "label", "who", "when", "source")


def write_decision_table(path: Path, current: Mapping[int, Any]) -> int:
    """Write decisions, objects with the attributes COLUMNS, by row, in the format of the ending, one of TABLES; returns
    their number. Raises RunError on a full disk."""
    decisions = [decision for _, decision in sorted(current.items())]
    types = dict.fromkeys(COLUMNS, "object") | {"id": "int64", "row": "int64"}
    columns = {
        name: pd.Series([getattr(decision, name) for decision in decisions], dtype=kind) for name, kind in types.items()
    }
    write_table(pd.DataFrame(columns), path)
    return len(decisions)


def is_decision_table(table: Table) -> bool:
    """Whether its columns are those of decisions, or it is the JSON of none."""
    return _is_empty_json(table) or (has_column(table, "decision") and image_names(table) is not None)


def _is_empty_json(table: Table) -> bool:
    """JSON has no header: that of no decisions has no columns."""
    return not table.columns and table.path.suffix.casefold() in JSON_SUFFIXES


def read_decision_table(
    table: Table, filenames: Sequence[str], training: Sequence[bool] = ()
) -> tuple[list[Choice], Unfound]:
    """The rows' choices, the last one where a row is named twice, and how many rows name no one image of the run.

    training: which rows of the run are trained on; they come first where held-out ones have the same name.

    A column of file names and one of decisions are needed; id, who and source tell whose they are. Raises DataError
    naming the file and the row.
    """
    if _is_empty_json(table):
        return [], Unfound()
    names = image_names(table)
    if names is None or not has_column(table, "decision"):
        raise DataError(
            f"{table.path} has no column '{'filename' if names is None else 'decision'}'; columns found: "
            f"{', '.join(map(shown, table.columns))}; its header should be {','.join(COLUMNS)}"
        )
    # Parquet has escapes in place of bytes that are no UTF-8
    rows, escaped = (RowFinder(own, training) for own in (filenames, [unicode_text(name) for name in filenames]))
    choices: dict[int, Choice] = {}
    unfound = Unfound()
    cells = (column(table, name) for name in ("row", "decision", "label", "who", "source", "id"))
    for line, (name, number, decision, label, *origin) in enumerate(zip(names, *cells, strict=True), start=1):
        decision = decision.strip().casefold()
        label = label if decision == RELABEL else ""
        if wrong := problem(decision, label):
            raise DataError(f"{table.path}, row {line}: {wrong}")
        row = unfound.only(rows.find_all(name, number) or escaped.find_all(name, number), name)
        if row is not None:
            choices[row] = Choice(row, filenames[row], decision, label, Origin(*origin))
    return list(choices.values()), unfound


def require_images(path: Path, found: int, unfound: Unfound) -> None:
    """DataError where there are names and none of them means one image of the run."""
    if found:
        return
    if unfound.repeated:
        raise DataError(
            f"{path} names no image that is the only one of its name in this run ({shown(unfound.such)} is there "
            "several times): add the column row, the image's row of report.csv counted from 0"
        )
    if foreign := unfound.foreign:
        raise DataError(
            f"{path} names no image of this run ({counted(foreign, 'name')} looked for): "
            "name the run that it is about with --run"
        )


def told_repeated(count: int) -> str:
    """What a closing line says of the names that several images have."""
    return f"{count} name several images of this run (add the column row, counted from 0 in report.csv)"


def new_classes(choices: Iterable[Choice], known: Collection[str]) -> list[str]:
    """Labels of relabels that are not among the known ones, in string order."""
    return sorted({choice.label for choice in choices if choice.decision == RELABEL} - set(known))


def refuse_new_classes(path: Path, choices: Sequence[Choice], known: Collection[str], run: Path) -> None:
    """DataError naming labels that are not among the known ones: most of them are slips of the pen."""
    if new := new_classes(choices, known):
        image = next(choice.filename for choice in choices if choice.label == new[0])
        command = shlex.join(["scanmix", "import", str(path), "--run", str(run), "--new-classes"])
        raise DataError(
            f"no class of this run is named {quoted(new)} ({path}, for {shown(image)}): mend the label, or take new "
            f"classes in with `{command}`"
        )
