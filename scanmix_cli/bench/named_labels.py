"""Labels of a table that names its images, put in data order."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scanmix_cli.data.columns import PATH_NAMES
from scanmix_cli.data.text import normal_name
from scanmix_cli.errors import DataError

Images = Sequence[tuple[str, str]]  # name and path of each, in data order; empty where images have none


def name_column(columns: Mapping[str, Any]) -> str | None:
    """The column of image names; None where there is none."""
    texts = [
        name for name, cells in columns.items() if isinstance(cells, list) and isinstance(next(iter(cells), 0), str)
    ]
    return next((name for known in PATH_NAMES for name in texts if normal_name(name) == known), None)


def row_of_each(path: Path, column: str, cells: Sequence[str], labels: np.ndarray, images: Images) -> np.ndarray:
    """int64 (images,): the row of the label file that names each image.

    Names are those of the data, paths from the label file's folder on, or file names alone where no two are alike.
    Raises DataError where an image is not named, or by rows of different labels.
    """
    for named, wanted in _ways(path, cells, images):
        if named == wanted:
            return np.arange(len(images))
        rows = {name: row for row, name in enumerate(named)}
        if all(name in rows for name in wanted):
            needed = set(wanted)
            for row, name in enumerate(named):
                if name in needed and labels[row] != labels[rows[name]]:
                    raise DataError(f"label file {path} gives {cells[row]!r} two labels: keep one of the rows")
            return np.array([rows[name] for name in wanted], dtype=np.int64)
    known = set(_ways(path, cells, images)[0][0])
    missing = [name for name, _ in images if os.path.normpath(name) not in known]
    raise DataError(
        f"label file {path} does not name {len(missing)} of the {len(images)} images in column {column!r}, such as "
        f"{missing[0]!r}: write names as the data have them, or leave that column out where labels are in data order"
    )


def _ways(path: Path, cells: Sequence[str], images: Images) -> list[tuple[list[str], list[str]]]:
    """Names in the file and names of the images, in the ways in which they may agree."""
    plain = [cell.replace("\\", "/") for cell in cells]
    folder = os.path.abspath(path.parent)
    places = [os.path.abspath(place) for _, place in images]
    ways = [
        ([os.path.normpath(cell) for cell in plain], [os.path.normpath(name) for name, _ in images]),
        ([os.path.normpath(os.path.join(folder, cell)) for cell in plain], places),
    ]
    short = [os.path.basename(place) for place in places]
    if len(set(short)) == len(set(places)):
        ways.append(([os.path.basename(cell) for cell in plain], short))
    return ways
