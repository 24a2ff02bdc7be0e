"""Where the images of a run lie: below the data's root under their names, or where `places.csv` says."""

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd

from scanmix_cli.data.samples import Samples
from scanmix_cli.data.table_rows import resolve
from scanmix_cli.errors import DataError
from scanmix_cli.files import write_text

PLACES = "places.csv"


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
    """The file of every row of the whole report; `root` says where the data lie now, if they were moved."""
    paths = resolve(report["filename"].tolist(), Path(summary["data"]["root"]) if root is None else root)
    places = run_dir / PLACES
    if not places.is_file():
        return paths
    try:
        text = places.read_text(encoding="utf-8", errors="surrogateescape")
        for row, path in list(csv.reader(io.StringIO(text, newline="")))[1:]:
            paths[int(row)] = path
    except (OSError, ValueError, IndexError) as error:
        raise DataError(f"{places} is damaged ({error}): run `scanmix train DATA` again") from None
    return paths
