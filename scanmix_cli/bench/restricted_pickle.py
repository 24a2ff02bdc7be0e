"""Python pickles of plain data, read without running anything that they name."""

import pickle
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError


def load_plain_pickle(path: Path) -> Any:
    """What a pickle of NumPy arrays of numbers and basic types holds; text of Python 2 is read as Latin-1.

    Raises DataError for a missing or damaged file and for one that names any other class or function.
    """
    try:
        return _PlainUnpickler(BytesIO(path.read_bytes()), encoding="latin1").load()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check that the data set is complete") from error
    except _Refused as error:
        raise DataError(
            f"{path} asks for {error}, which plain data never needs: get the file from its publisher"
        ) from error
    except Exception as error:  # a damaged pickle can raise nearly anything
        raise DataError(f"{path} is damaged ({error}): get the file from its publisher again") from error


class _Refused(Exception):
    """A pickle names something outside the list; the text is that name."""


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise _Refused(f"{module}.{name}")
        return _ALLOWED[module, name]


def _latin1_bytes(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes in the older pickle protocols: `_codecs.encode(text, "latin1")`, and no other codec."""
    if encoding != "latin1":
        raise _Refused(f"the codec {encoding}")
    return text.encode("latin1")


def _number_dtype(code: str, align: int = 0, copy: int = 1) -> np.dtype:
    """`numpy.dtype` for numbers. The copy matters, as the pickle then sets its state; `align` is for records only."""
    dtype = np.dtype(code, copy=True)
    if dtype.hasobject:
        raise _Refused("an array of objects")
    return dtype


_MULTIARRAY = ("numpy.core.multiarray", "numpy._core.multiarray")
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): _number_dtype,
    ("_codecs", "encode"): _latin1_bytes,
    **{(module, "_reconstruct"): np.zeros(1).__reduce__()[0] for module in _MULTIARRAY},
    **{(module, "scalar"): np.int64(0).__reduce__()[0] for module in _MULTIARRAY},
}
