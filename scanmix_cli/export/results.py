"""What other tools found out about a run's images, as decisions: cleanlab, Label Studio, CVAT, or a table of decisions.

A label that a person gave in Label Studio or CVAT is a decision: keep where it is the given label, else relabel. Of
cleanlab's table the label issues are taken, relabelled as it predicts; that it found no issue is no decision.
"""

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pandas as pd

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.tables import Table
from scanmix_cli.data.wording import shown
from scanmix_cli.errors import DataError
from scanmix_cli.evidence.verdicts import KEEP, RELABEL
from scanmix_cli.export.finder import ImageFinder
from scanmix_cli.report.choices import CLEANLAB, UNSURE, Choice
from scanmix_cli.report.decision_table import is_decision_table, read_decision_table, require_images
from scanmix_cli.report.result_table import column, has_column, image_names, open_result_table

OURS, LABEL_STUDIO, CVAT = "csv", "labelstudio", "cvat"
LARGEST = 1 << 30  # bytes that a packed CVAT result may unpack to
LABEL_KEYS = ("label", "choice", "choices")  # of Label Studio's flat records


@dataclass(frozen=True)
class Results:
    """Decisions of one file, the last one of each row, and how many entries name no image of the run."""

    source: str
    choices: list[Choice]
    foreign: int


def read_results(path: Path, report: pd.DataFrame, classes: Sequence[str]) -> Results:
    """Decisions about the rows of `report` from a result file, whose kind its content tells.

    Raises DataError where the file is none of the known kinds, its rows cannot be told apart, or it names no image of
    the run.
    """
    if not path.is_file():
        raise DataError(f"{path} is no file; name the result of another tool")
    results = _read(path, report, classes)
    require_images(path, results.choices, results.foreign)
    return results


def _read(path: Path, report: pd.DataFrame, classes: Sequence[str]) -> Results:
    names = report["filename"].tolist()
    finder = ImageFinder(names)
    suffix = path.suffix.casefold()
    if suffix in (".xml", ".zip"):
        return _gathered(CVAT, _cvat(path), finder, report)
    if suffix == ".json":
        tasks = _tasks(path)
        if not any("decision" in task for task in tasks):
            return _gathered(LABEL_STUDIO, _label_studio(path, tasks), finder, report)
    table = open_result_table(path, (*names, *classes))
    if is_decision_table(table):
        return Results(OURS, *read_decision_table(table, names))
    if has_column(table, "is_label_issue"):
        return _cleanlab(table, finder, report, classes)
    raise DataError(
        f"{path} is no result that can be read: needed is cleanlab's table with is_label_issue, Label Studio's JSON, "
        f"CVAT's XML, or a table with the columns filename and decision; columns found: "
        f"{', '.join(map(shown, table.columns))}"
    )


# One entry of a result: names that the image may be known by, the row number or "", the label or None for "unsure".
Entry = tuple[Sequence[str], str, str | None]


def _gathered(source: str, entries: Iterator[Entry], finder: ImageFinder, report: pd.DataFrame) -> Results:
    names, given = report["filename"].tolist(), report["given_label"].tolist()
    choices: dict[int, Choice] = {}
    foreign = 0
    for candidates, number, label in entries:
        row = finder.find(candidates, number)
        if row is None:
            foreign += 1
        else:
            choices[row] = _choice(row, names[row], given[row], label)
    return Results(source, list(choices.values()), foreign)


def _choice(row: int, filename: str, given: str, label: str | None) -> Choice:
    if label is None:
        return Choice(row, filename, UNSURE)
    return Choice(row, filename, KEEP) if label == given else Choice(row, filename, RELABEL, label)


def _cvat(path: Path) -> Iterator[Entry]:
    """Images with their last tag; what bears none was not decided."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                if (length := archive.getinfo("annotations.xml").file_size) > LARGEST:
                    raise DataError(f"{path} unpacks to {length} bytes, which no result of CVAT does; export it again")
                content = archive.read("annotations.xml")
        else:
            content = path.read_bytes()
        root = ElementTree.fromstring(content)
    except DataError:
        raise
    except Exception as error:  # a locked or damaged archive and an odd encoding each raise something else
        raise DataError(f"{path} is no CVAT result ({error}); export it as `CVAT for images 1.1`") from None
    if root.tag != "annotations":
        raise DataError(f"{path} is no CVAT result, since it begins with <{root.tag}>; export `CVAT for images 1.1`")
    for image in root.iter("image"):
        labels = [tag.get("label", "") for tag in image.iter("tag")]
        if labels:
            yield (image.get("name", ""),), "", labels[-1]


def _tasks(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON file; raises DataError where it is no list of them."""
    try:
        tasks = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} is no Label Studio result ({error}); export it as JSON or JSON-MIN") from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DataError(f"{path} is no Label Studio result, which is a list of tasks; export it as JSON or JSON-MIN")
    return tasks


def _label_studio(path: Path, tasks: Sequence[Mapping[str, Any]]) -> Iterator[Entry]:
    try:
        for task in tasks:
            yield from _annotated(task) if "annotations" in task else _flat(task)
    except (AttributeError, KeyError, IndexError, TypeError):  # lists, tables and texts in each other's places
        raise DataError(
            f"{path} holds a task that is not laid out as Label Studio does it; export it as JSON or JSON-MIN"
        ) from None


def _annotated(task: Mapping[str, Any]) -> Iterator[Entry]:
    """The last annotation of a task; one that was skipped is unsure, and a task without any was not decided."""
    for annotation in sorted(task["annotations"], key=lambda entry: str(entry.get("updated_at", "")))[-1:]:
        if annotation.get("was_cancelled"):
            yield *_named(task.get("data", {})), None
            continue
        for result in annotation.get("result", []):
            if result.get("type") == "choices" and result["value"].get("choices"):
                yield *_named(task.get("data", {})), str(result["value"]["choices"][0])


def _flat(task: Mapping[str, Any]) -> Iterator[Entry]:
    label = next((task[key] for key in LABEL_KEYS if task.get(key)), None)
    if isinstance(label, dict):  # several choices
        label = next(iter(label.get("choices", [])), None)
    if label is not None:
        yield *_named(task), str(label)


def _named(data: Mapping[str, Any]) -> tuple[Sequence[str], str]:
    address = unquote(str(data.get("image", "")), errors="surrogateescape").split("?d=")[-1]
    return (str(data.get("filename", "")), address), str(data.get("row", ""))


def _cleanlab(table: Table, finder: ImageFinder, report: pd.DataFrame, classes: Sequence[str]) -> Results:
    if not has_column(table, "predicted_label"):
        raise DataError(
            f"{table.path} has no column 'predicted_label'; write it with the labels that cleanlab predicts"
        )
    names, numbers = image_names(table), column(table, "row")
    by_order = _rows_by_order(table, report) if names is None else []
    issues, labels = column(table, "is_label_issue"), column(table, "predicted_label")
    filenames, given = report["filename"].tolist(), report["given_label"].tolist()
    choices: dict[int, Choice] = {}
    foreign = 0
    for k, (issue, predicted) in enumerate(zip(issues, labels, strict=True)):
        if issue.strip().casefold() not in ("true", "1"):
            continue
        row = by_order[k] if names is None else finder.find((names[k],), numbers[k])
        if row is None:
            foreign += 1
            continue
        label = _class_name(predicted, classes)
        choices[row] = _choice(row, filenames[row], "", None if label in ("", given[row]) else label)
    return Results(CLEANLAB, list(choices.values()), foreign)


def _rows_by_order(table: Table, report: pd.DataFrame) -> list[int]:
    """The row of each line of a table without file names: that of `--to cleanlab`, or all rows of the report."""
    labelled = (report["split"] == TRAIN) & (report["error_code"] == VALID) & (report["given_label"] != "")
    exported = [row for row, inside in enumerate(labelled) if inside]
    for rows in (exported, list(range(len(report)))):
        if len(rows) == len(table):
            return rows
    raise DataError(
        f"{table.path} has {len(table)} rows and no column 'filename', but the run has {len(exported)} labelled images "
        f"in {len(report)} rows; add the column"
    )


def _class_name(cell: str, classes: Sequence[str]) -> str:
    """A class by its name, or by its number as cleanlab counts classes."""
    if cell not in classes and cell.isdecimal() and int(cell) < len(classes):
        return classes[int(cell)]
    return cell
