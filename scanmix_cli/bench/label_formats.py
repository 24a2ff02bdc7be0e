"""From a label file to named columns, one reader a format. Nothing here runs code from a file."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import DataError


def read_columns(path: Path) -> dict[str, Any]:
    """The columns of a label file by name: arrays, or lists of numbers or text cells. Raises DataError."""
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise DataError(f"label file {path} has the ending {path.suffix!r}: give one of {', '.join(_READERS)}")
    if not path.is_file():
        raise DataError(f"label file {path} does not exist: check the path")
    return read(path)


def read_npy(path: Path) -> dict[str, Any]:
    try:
        return {"labels": np.load(path, allow_pickle=False)}
    except (ValueError, EOFError, OSError) as error:
        raise DataError(
            f"label file {path} is not a plain NumPy array ({error}): save integers with numpy.save"
        ) from error


def read_npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception as error:  # zipfile and numpy raise many kinds for a damaged archive
        raise DataError(
            f"label file {path} is not a plain NumPy archive ({error}): save integers with numpy.savez"
        ) from error


def read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise DataError(f"label file {path} is not JSON ({error}): write a flat list of class numbers") from error
    if isinstance(content, dict) and "noise_labels" in content:
        content = content["noise_labels"]
    if not isinstance(content, list):
        raise DataError(f"label file {path} holds no list: write a flat list, or an object with a list noise_labels")
    return {"labels": content}


def read_csv(path: Path) -> dict[str, Any]:
    """Columns by name; a single column without a header (its first cell is a number) is called `label`."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"label file {path} is not a UTF-8 CSV table ({error}): save it as UTF-8 text") from error
    if not rows:
        raise DataError(f"label file {path} is empty: write one label a line under a header")
    header = rows[0]
    if len(header) == 1 and header[0].strip().isdigit():
        return {"label": [cell for row in rows for cell in row[:1]]}
    for number, row in enumerate(rows[1:]):
        if len(row) != len(header):
            raise DataError(
                f"label file {path} has {len(row)} cells in row {number} under {len(header)} columns: mend it"
            )
    return {name: [row[k] for row in rows[1:]] for k, name in enumerate(header)}


def read_pt(path: Path) -> dict[str, Any]:
    """The dictionary of arrays in a CIFAR-10N or CIFAR-100N file, through torch's weights-only reader.

    Beyond tensors and basic types that reader is allowed NumPy arrays of numbers, nothing else.
    """
    try:
        with torch.serialization.safe_globals(_numpy_globals()):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged or a refused file
        message = f"label file {path} is not a dictionary of label arrays in PyTorch's format"
        raise DataError(f"{message}: use the CIFAR-10N or CIFAR-100N file as published") from error
    if not isinstance(content, dict) or not content:
        raise DataError(f"label file {path} holds no dictionary: use the CIFAR-10N or CIFAR-100N file as published")
    return {str(name): values for name, values in content.items()}


def _numpy_globals() -> list[Any]:
    """What it takes to rebuild a NumPy array of numbers, under the module names of NumPy 1 and 2."""
    reconstruct: Any = np.zeros(1).__reduce__()[0]
    scalar: Any = np.int64(0).__reduce__()[0]
    functions: list[Any] = []
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        functions += [(reconstruct, f"{module}._reconstruct"), (scalar, f"{module}.scalar")]
    dtypes = {type(np.dtype(code)) for code in np.typecodes["AllInteger"] + np.typecodes["Float"] + "?"}
    return [*functions, np.ndarray, np.dtype, *dtypes]


_READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".json": read_json,
    ".csv": read_csv,
    ".pt": read_pt,
}
