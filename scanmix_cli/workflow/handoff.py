"""`scanmix export` as a function: a finished run in, a folder that another tool opens out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from scanmix_cli.data.decode import MISSING_FILE, VALID
from scanmix_cli.data.metadata import METADATA_NAMES
from scanmix_cli.data.sources import TEST
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.errors import DataError, RunError
from scanmix_cli.export.content import Content, content_of
from scanmix_cli.export.destination import destination, require_apart
from scanmix_cli.export.formats import Format, folders_for, format_named, suited
from scanmix_cli.export.items import Item, choose_items
from scanmix_cli.export.pictures import LINKS, lay_pictures, none_there
from scanmix_cli.export.tables import write_manifest
from scanmix_cli.report.decided import read_decided_report
from scanmix_cli.report.files import read_summary
from scanmix_cli.report.places import image_paths
from scanmix_cli.workflow.classifier import load_classifier, save_classifier
from scanmix_cli.workflow.predict import run_on_files, truncated_of

ONNX = "onnx"


@dataclass(frozen=True)
class Export:
    """What was written, the file names of originals that are gone or cannot be read any more, and how many hard links
    had to become copies."""

    folder: Path
    rows: int
    gone: list[str]
    copied_instead: int = 0
    unreadable: list[str] = field(default_factory=list)  # where the classifier looks at the images


def export_run(
    run: Path,
    to: str,
    out: Path,
    *,
    link: str = LINKS[0],
    only: str | None = None,
    min_confidence: float | None = None,
    root: Path | None = None,
    device: str = "auto",
) -> Export:
    """Write the rows of a run into `out`, a new or empty folder, in the layout `to`; originals are only read.

    only: "keep", "suspects" or "all" (default: what the layout is for); root: where the data lie now, if they were
    moved; device: for layouts that need the classifier. Decisions made about the run count. Raises SettingsError,
    DataError, and RunError on a full disk; nothing of an export that failed stays.
    """
    layout = format_named(to)
    report, decided = read_decided_report(run)
    summary = read_summary(run)
    paths = image_paths(run, report, summary, root)
    require_apart(out, _sources(paths, report), _data_folder(summary) if root is None else None)
    items = choose_items(report, paths, layout.only if only is None else only, min_confidence, decided)
    items = suited(items, layout)
    name = run.resolve().name
    with destination(out) as folder:
        if layout.folder_of is None:
            content, gone, unreadable = _with_values(run, name, summary["classes"], items, layout, device, root)
            copied = 0
        else:
            classes = _all_classes(summary["classes"], items)
            folders = folders_for(items, classes)
            placed = lay_pictures(items, folder, [layout.folder_of(item, folders) for item in items], link, root)
            content = content_of(name, classes, placed.items, placed.paths)
            gone, unreadable, copied = placed.gone, [], placed.copied_instead
        layout.write(folder, content)
        write_manifest(folder, content)
    return Export(out, len(content.items), gone, copied, unreadable)


def export_onnx(run: Path, out: Path) -> Path:
    """The classifier of a run into the new or empty folder `out`, with model.onnx; RunError where that has to fail."""
    classifier = load_classifier(run)
    with destination(out) as folder:
        note = save_classifier(folder, classifier)
        if note.problem:
            raise RunError(note.problem)
    return out


def _sources(paths: list[str], report: pd.DataFrame) -> list[list[str]]:
    """The readable images of the data, and those of `--test`, which may lie elsewhere."""
    rows = list(zip(paths, report["error_code"] == VALID, report["split"] == TEST, strict=True))
    return [[path for path, readable, tested in rows if readable and tested == test] for test in (False, True)]


def _data_folder(summary: dict[str, Any]) -> Path | None:
    """The folder that the run was trained on; None where a table named its images."""
    tables = [Path(table).name for table in summary["data"].get("tables", [])]
    return Path(summary["data"]["root"]) if set(tables) <= set(METADATA_NAMES) else None


def _all_classes(classes: list[str], items: list[Item]) -> list[str]:
    """The run's classes and those that only decisions brought in, in string order."""
    return sorted({*classes, *(item.label for item in items)} - {""})


def _with_values(
    run: Path, name: str, classes: list[str], items: list[Item], layout: Format, device: str, root: Path | None
) -> tuple[Content, list[str], list[str]]:
    """Content with the classifier's outputs, and the file names of images that are gone and that cannot be read."""
    if not items:
        raise DataError("no row fits the choice, so there is nothing to export; try --only all")
    classifier, compute = load_classifier(run), choose_compute(device)
    function = classifier.probabilities if layout.networks == "probabilities" else classifier.features
    sources = [item.source for item in items]
    found = run_on_files(classifier, sources, lambda images: function(images, compute), truncated_of(run))
    left_out = [(item, code) for item, code in zip(items, found.error_codes, strict=True) if code != VALID]
    if len(left_out) == len(items):
        raise _nothing_left(left_out, root)
    kept = [items[k] for k in found.rows]
    gone = [item.filename for item, code in left_out if code == MISSING_FILE]
    unreadable = [item.filename for item, code in left_out if code != MISSING_FILE]
    return content_of(name, classes, kept, [item.source for item in kept], found.values), gone, unreadable


def _nothing_left(left_out: list[tuple[Item, str]], root: Path | None) -> DataError:
    """The error for an export of which no image can be read."""
    for item, code in left_out:
        if code != MISSING_FILE:
            return DataError(
                f"none of the {len(left_out)} images can be read, such as {item.source} ({code}); "
                "put them back as they were"
            )
    return none_there([item for item, _ in left_out], root)
