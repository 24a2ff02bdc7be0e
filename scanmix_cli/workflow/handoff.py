"""`scanmix export` as a function: a finished run in, a folder that another tool opens out."""

from dataclasses import dataclass
from pathlib import Path

from scanmix_cli.data.decode import VALID
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.errors import DataError, RunError
from scanmix_cli.export.content import Content, content_of
from scanmix_cli.export.destination import destination, require_apart
from scanmix_cli.export.formats import Format, format_named, suited
from scanmix_cli.export.items import Item, choose_items
from scanmix_cli.export.pictures import LINKS, lay_pictures
from scanmix_cli.export.tables import write_manifest
from scanmix_cli.report.decided import read_decided_report
from scanmix_cli.report.files import read_summary
from scanmix_cli.report.places import image_paths
from scanmix_cli.workflow.classifier import load_classifier, save_classifier
from scanmix_cli.workflow.predict import run_on_files

ONNX = "onnx"


@dataclass(frozen=True)
class Export:
    """What was written, the file names of originals that are gone, and how many hard links had to become copies."""

    folder: Path
    rows: int
    gone: list[str]
    copied_instead: int = 0


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
    require_apart(out, [path for path, code in zip(paths, report["error_code"], strict=True) if code == VALID])
    items = choose_items(report, paths, layout.only if only is None else only, min_confidence, decided)
    items = suited(items, layout)
    name = run.resolve().name
    with destination(out) as folder:
        if layout.folder_of is None:
            content, gone = _with_values(run, name, summary["classes"], items, layout, device)
            copied = 0
        else:
            placed = lay_pictures(items, folder, layout.folder_of, link)
            content = content_of(name, _all_classes(summary["classes"], items), placed.items, placed.paths)
            gone, copied = placed.gone, placed.copied_instead
        layout.write(folder, content)
        write_manifest(folder, content)
    return Export(out, len(content.items), gone, copied)


def export_onnx(run: Path, out: Path) -> Path:
    """The classifier of a run into the new or empty folder `out`, with model.onnx; RunError where that has to fail."""
    classifier = load_classifier(run)
    with destination(out) as folder:
        note = save_classifier(folder, classifier)
        if note.problem:
            raise RunError(note.problem)
    return out


def _all_classes(classes: list[str], items: list[Item]) -> list[str]:
    """The run's classes and those that only decisions brought in, in string order."""
    return sorted({*classes, *(item.label for item in items)} - {""})


def _with_values(
    run: Path, name: str, classes: list[str], items: list[Item], layout: Format, device: str
) -> tuple[Content, list[str]]:
    """Content with the classifier's outputs, and the file names of images that cannot be read any more."""
    if not items:
        raise DataError("no row fits the choice, so there is nothing to export; try --only all")
    classifier, compute = load_classifier(run), choose_compute(device)
    function = classifier.probabilities if layout.networks == "probabilities" else classifier.features
    found = run_on_files(classifier, [item.source for item in items], lambda images: function(images, compute))
    if not len(found.rows):
        raise DataError(
            f"none of the {len(items)} images is where it was, such as {items[0].source}; "
            "put them back, or name their folder with --root"
        )
    kept = [items[k] for k in found.rows]
    gone = [item.filename for item, code in zip(items, found.error_codes, strict=True) if code != VALID]
    return content_of(name, classes, kept, [item.source for item in kept], found.values), gone
