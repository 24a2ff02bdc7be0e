"""Where the images of a run lie: below the data's root under their names, or where `places.csv` says."""

import csv
import io
import os
from pathlib import Path
from typing import Any

import pandas as pd

from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import TEST
from scanmix_cli.data.table_rows import resolve
from scanmix_cli.errors import DataError
from scanmix_cli.files import write_text

PLACES = "places.csv"
_PROBES = 50


def save_places(run_dir: Path, samples: Samples) -> None:
    """Write `row,path` of the rows whose file is not root/filename; no file where there are none.

    There are some with `--test` and where the table of `--labels` names images by a part of their path.
    """
    paths = [str(path) for path in samples.table["path"]]
    expected = resolve(samples.table["filename"].tolist(), samples.root)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("row", "path"))
    other = [(row, Path(path).absolute()) for row, path in enumerate(paths) if path and path != expected[row]]
    writer.writerows(other)
    if other:
        write_text(run_dir / PLACES, text.getvalue())


def image_paths(run_dir: Path, report: pd.DataFrame, summary: dict[str, Any], root: Path | None = None) -> list[str]:
    """The file of every row of the whole report; `root` says where the data lie now, if they were moved.

    It stands in for the old root or, where nothing is found so, for the folder that the images had in common.
    """
    old = Path(summary["data"]["root"])
    cells = report["filename"].tolist()
    places = run_dir / PLACES
    try:
        text = places.read_text(encoding="utf-8", errors="surrogateescape") if places.is_file() else ""
        for row, path in list(csv.reader(io.StringIO(text, newline="")))[1:]:
            cells[int(row)] = path
    except (OSError, ValueError, IndexError) as error:
        raise DataError(f"{places} is damaged ({error}): run `scanmix train DATA` again") from None
    if root is None:
        return resolve(cells, old)
    moved = resolve(_below(cells, old, _stood_in_for(cells, report, old, root)), root)
    return [_still(cell, path) for cell, path in zip(cells, moved, strict=True)]


def _stood_in_for(cells: list[str], report: pd.DataFrame, old: Path, root: Path) -> str:
    """The folder that `root` stands in for: the first one below which images are found again."""
    paths = [os.path.join(old, cell) for cell in cells]
    trained = (report["split"] != TEST).tolist()
    groups = ([path for path, of in zip(paths, trained, strict=True) if of], paths)
    folders = [str(old), *(os.path.commonpath(map(os.path.dirname, group)) for group in groups if group)]
    known = [folder for folder in folders if any(path.startswith(f"{folder}/") for path in paths)]
    for folder in known:
        probes = [cell for cell in _below(cells, old, folder) if not os.path.isabs(cell)]
        if any(map(os.path.exists, resolve(probes[:: max(1, len(probes) // _PROBES)], root))):
            return folder
    return known[0] if known else str(old)


def _below(cells: list[str], old: Path, folder: str) -> list[str]:
    """The paths relative to `folder`; those that are not below it as they were, and "" stays ""."""
    paths = [os.path.join(old, cell) if cell else "" for cell in cells]
    return [path.removeprefix(f"{folder}/") for path in paths]


def _still(cell: str, moved: str) -> str:
    """An absolute path holds on where only that has a file."""
    return cell if os.path.isabs(cell) and not os.path.exists(moved) and os.path.exists(cell) else moved
