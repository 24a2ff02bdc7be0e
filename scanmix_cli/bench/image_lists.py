"""Lists of image files as the large benchmarks publish them: a file name and a class number per line."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..errors import DataError


def read_lines(path: Path, missing: str) -> list[str]:
    """Lines of a UTF-8 text file without blank ones; a missing file is a DataError with the sentence `missing`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(missing) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text ({error}): get the list from its publisher again") from error
    return [line.strip() for line in text.splitlines() if line.strip()]


def split_label(path: Path, row: int, line: str) -> tuple[str, int]:
    """File name and class number of a line `<file name> <label>`; the name itself may hold spaces."""
    name, _, label = line.replace("\t", " ").rpartition(" ")
    if not name.strip() or not label.isdecimal():
        raise DataError(f"{path} has {line!r} in row {row}: a file name and a class number are needed")
    return name.strip(), int(label)


def read_labelled_list(path: Path, missing: str) -> tuple[list[str], np.ndarray]:
    """File names and int64 labels, row by row; repeated names stay repeated."""
    pairs = [split_label(path, row, line) for row, line in enumerate(read_lines(path, missing))]
    if not pairs:
        raise DataError(f"{path} is empty: get the list from its publisher again")
    return [name for name, _ in pairs], np.array([label for _, label in pairs], dtype=np.int64)


def check_labels(path: Path, labels: np.ndarray, classes: int) -> None:
    """Raises DataError where a label is not below `classes`."""
    outside = np.flatnonzero(labels >= classes)
    if len(outside):
        row = int(outside[0])
        raise DataError(f"{path} has class {labels[row]} in row {row}: classes go from 0 to {classes - 1}")


def check_files(paths: Sequence[str], where: Path) -> None:
    """Raises DataError, with counts, unless all files listed in `where` exist. Each folder is read once."""
    listings: dict[str, set[str]] = {}
    missing = []
    for row, path in enumerate(paths):
        folder, name = os.path.split(path)
        if folder not in listings:
            listings[folder] = set(_names_in(folder))
        if name not in listings[folder]:
            missing.append(row)
    if missing:
        row = missing[0]
        raise DataError(
            f"{len(missing)} of the {len(paths)} images listed in {where} are missing, first {paths[row]} (row {row}): "
            "complete the download, rows are never dropped"
        )


def _names_in(folder: str) -> Iterable[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return ()
