"""Labels from a file, checked against the data set they are meant for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from .label_formats import read_columns
from .named_labels import Images, name_column, row_of_each

# Keys of the CIFAR-10N and CIFAR-100N files, by the name of the noise.
HUMAN_KEYS = {
    "human-aggre": "aggre_label",
    "human-rand1": "random_label1",
    "human-rand2": "random_label2",
    "human-rand3": "random_label3",
    "human-worst": "worse_label",
    "human": "noisy_label",
}
CLEAN_KEY = "clean_label"
_DEFAULT_KEYS = ("label", "labels", "noise_labels", "noisy_label")


def read_labels(
    path: Path,
    classes: Sequence[str],
    count: int,
    clean: np.ndarray | None = None,
    key: str | None = None,
    images: Images = (),
) -> np.ndarray:
    """One class number per image, in data order: int64 (count,).

    `.npy` an integer array; `.npz` and `.pt` (CIFAR-10N, CIFAR-100N) the array `key`, or the only one there is;
    `.json` a flat list or an object with `noise_labels`; `.csv` one label column, `key` where there are several, of
    class names or, if none of them is a class name, class numbers; a column of file names says whose label each is,
    where the data have `images` with names, and may name others too. A file that carries `clean_label` is compared with
    `clean`, int64 (count,), so that labels in another image order are refused.

    Raises DataError, naming file and row, for anything that does not fit `count` images and these classes.
    """
    path = Path(path)
    columns = read_columns(path)
    chosen = _choose_key(path, columns, key)
    labels = _as_integers(path, columns[chosen], classes)
    names = name_column(columns) if images else None
    names = None if names == chosen else names
    _check_range(path, labels, len(classes), count if names is None else len(labels))
    rows = slice(None) if names is None else row_of_each(path, names, columns[names], labels, images)
    if clean is not None and CLEAN_KEY in columns:
        _check_order(path, _as_integers(path, columns[CLEAN_KEY], classes)[rows], clean)
    return labels[rows]


def _choose_key(path: Path, columns: dict[str, Any], key: str | None) -> str:
    if key is not None:
        if key not in columns:
            raise DataError(f"label file {path} has no {key!r}: choose one of {', '.join(columns)}")
        return key
    candidates = [name for name in columns if name not in (CLEAN_KEY, name_column(columns))] or list(columns)
    usual = [name for name in candidates if name in _DEFAULT_KEYS]
    if len(candidates) == 1 or len(usual) == 1:
        return (usual or candidates)[0]
    raise DataError(f"label file {path} holds several columns: choose one of {', '.join(columns)}")


def _as_integers(path: Path, values: Any, classes: Sequence[str]) -> np.ndarray:
    """int64 (N,) from an integer array or tensor, a list of integers, or text cells."""
    if isinstance(values, list) and values and all(isinstance(value, str) for value in values):
        return _from_text(path, values, classes)
    try:
        array = np.asarray(values)
    except ValueError:  # lists of lists of unequal length
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise DataError(f"label file {path} holds an array of {array.ndim} dimensions: give one class number per image")
    if array.size and not (np.issubdtype(array.dtype, np.integer)):
        raise DataError(f"label file {path} holds {array.dtype} values: give integer class numbers")
    return array.astype(np.int64)


def _from_text(path: Path, cells: list[str], classes: Sequence[str]) -> np.ndarray:
    """Class names win over class numbers: "10" is a number only where no cell is a class name."""
    index = {name: k for k, name in enumerate(classes)}
    if any(cell in index for cell in cells):
        numbers = index
    else:
        numbers = {cell: int(cell) for cell in set(cells) if cell.strip().isdecimal()}
    for row, cell in enumerate(cells):
        if cell not in numbers:
            raise DataError(f"label file {path} has {cell!r} in row {row}, which is no class: use {_some(classes)}")
    return np.array([numbers[cell] for cell in cells], dtype=np.int64)


def _some(classes: Sequence[str]) -> str:
    return ", ".join(classes[:10]) + (f" and {len(classes) - 10} more" if len(classes) > 10 else "")


def _check_range(path: Path, labels: np.ndarray, classes: int, count: int) -> None:
    if len(labels) != count:
        raise DataError(
            f"label file {path} has {len(labels)} labels for {count} images: give one per image, in data order "
            "(without those that cannot be read or have no label), or name them in a CSV with a column file_name"
        )
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if len(outside):
        row = int(outside[0])
        raise DataError(f"label file {path} has class {labels[row]} in row {row}: give numbers from 0 to {classes - 1}")


def _check_order(path: Path, theirs: np.ndarray, clean: np.ndarray) -> None:
    if len(theirs) != len(clean):
        raise DataError(f"label file {path} has {len(theirs)} clean labels for {len(clean)} images: get the file again")
    differing = np.flatnonzero(theirs != clean)
    if len(differing):
        row = int(differing[0])
        raise DataError(
            f"label file {path} is for another image order: {len(differing)} of its {len(clean)} clean labels differ, "
            f"first in row {row} ({theirs[row]} against {clean[row]}); use it with the data set it was published for"
        )
