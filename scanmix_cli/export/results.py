"""What other tools found out about a run's images, as decisions: cleanlab, Label Studio, CVAT, our own tables.

A label that a person gave in Label Studio or CVAT is a decision: keep where it is the given label, else relabel.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pandas as pd

from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.wording import shown
from scanmix_cli.errors import DataError
from scanmix_cli.export.finder import ImageFinder
from scanmix_cli.export.verdict_tables import Results, choice_of, is_report, read_cleanlab, read_report_table
from scanmix_cli.report.choices import Choice, Unfound
from scanmix_cli.report.decision_table import is_decision_table, read_decision_table, require_images
from scanmix_cli.report.result_table import has_column, open_result_table

OURS, LABEL_STUDIO, CVAT = "csv", "labelstudio", "cvat"
LARGEST = 1 << 30  # bytes that a packed CVAT result may unpack to
_SERVED = re.compile(r"^(\w+://[^/]*)?/data/")  # where Label Studio serves files
_UPLOADED = re.compile(r"(?:(?:.*/)?upload/(?:\d+/)?)?[0-9a-f]{8}-([^/]+)")  # and what it calls an uploaded one
LABEL_KEYS = ("label", "choice", "choices")  # of Label Studio's flat records


def read_results(path: Path, report: pd.DataFrame, classes: Sequence[str], places: Sequence[str] = ()) -> Results:
    """Decisions about the rows of `report`, a run's with decisions in place, from a result file; its content tells
    which kind it is. `places`: where the file of every row lies.

    Raises DataError where the file is none of the known kinds, its rows cannot be told apart, or it names no image of
    the run.
    """
    if not path.is_file():
        raise DataError(f"{path} is no file; name the result of another tool")
    results = _read(path, report, classes, places)
    require_images(path, len(results.choices) + results.undecided + results.agreed, results.unfound)
    return results


def _read(path: Path, report: pd.DataFrame, classes: Sequence[str], places: Sequence[str]) -> Results:
    names = report["filename"].tolist()
    finder = ImageFinder(report, places)
    suffix = path.suffix.casefold()
    if suffix in (".xml", ".zip"):
        return _gathered(CVAT, _cvat(path), finder, report)
    if suffix == ".json":
        tasks = _tasks(path)
        if not any("decision" in task or "suggested_action" in task for task in tasks):
            return _gathered(LABEL_STUDIO, _label_studio(path, tasks), finder, report)
    table = open_result_table(path, (*names, *classes))
    if is_decision_table(table):
        return Results(OURS, *read_decision_table(table, names, (report["split"] == TRAIN).tolist()))
    if is_report(table):
        return read_report_table(table, finder, report)
    if has_column(table, "is_label_issue"):
        return read_cleanlab(table, finder, report, classes)
    raise DataError(
        f"{path} is no result that can be read: needed is a report, cleanlab's table with is_label_issue, Label "
        f"Studio's JSON, CVAT's XML, or a table with the columns filename and decision; columns found: "
        f"{', '.join(map(shown, table.columns))}"
    )


# One entry of a result: names that the image may be known by, the row number or "", the label or None for "unsure".
Entry = tuple[Sequence[str], str, str | None]


def _gathered(source: str, entries: Iterator[Entry], finder: ImageFinder, report: pd.DataFrame) -> Results:
    names, given = report["filename"].tolist(), report["given_label"].tolist()
    choices: dict[int, Choice] = {}
    unfound = Unfound()
    for candidates, number, label in entries:
        row = unfound.only(finder.rows(candidates, number, exported=source == CVAT), candidates[0])
        if row is not None:
            choices[row] = choice_of(row, names[row], given[row], label)
    return Results(source, list(choices.values()), unfound)


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
    """An export's tasks by row and file name, others by their address; an uploaded file has a name alone."""
    filename, number = str(data.get("filename", "")), str(data.get("row", ""))
    if filename and number:
        return (filename,), number
    address = unquote(str(data.get("image", "")), errors="surrogateescape").split("?d=")[-1]
    uploaded = _UPLOADED.fullmatch(address)
    names = (filename, _SERVED.sub("", address), uploaded[1] if uploaded else "")
    return tuple(filter(None, names)) or ("",), number
