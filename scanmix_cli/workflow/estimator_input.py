"""What `ScanMixClassifier` is given: labels of any usual type as text, images of any usual kind as files."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from scanmix_cli.data.decode import DecodeError, as_rgb
from scanmix_cli.errors import RunError


def read_labels(y: Any) -> tuple[np.ndarray, list[str], list[str]]:
    """The classes, sorted; the text of each; and that of every label, "" where there is none.

    Raises ValueError for fewer than two classes and for labels that cannot be told apart.
    """
    if y is None:
        raise ValueError("ScanMixClassifier requires y to be passed, but the target y is None")
    values = _objects(y)
    if values.ndim != 1:
        raise ValueError(f"y has {values.ndim} dimensions; give one label an image")
    given = pd.Series([_decoded(value) for value in values], dtype=object)
    missing = (given.isna() | given.map(lambda value: isinstance(value, str) and not value)).to_numpy(dtype=bool)
    known = [value for value, gone in zip(given, missing, strict=True) if not gone]
    try:
        classes, numbers = np.unique(np.array(known), return_inverse=True)
        same = len(set(known)) == len(classes)
    except (TypeError, ValueError):  # no order among them
        same = False
    if not same:
        raise ValueError(
            f"y mixes labels that cannot be told apart or put in order ({_kinds(known)}); "
            "give each class a text of its own"
        )
    if len(classes) < 2:
        raise ValueError(f"ScanMixClassifier needs labels of two classes or more, but y has {len(classes)} class")
    names = [str(label) for label in classes.tolist()]
    if missing.any() and all(isinstance(label, float) and label.is_integer() for label in classes.tolist()):
        names = [str(int(label)) for label in classes.tolist()]  # whole numbers that only a blank has made floats
    texts = np.full(len(given), "", dtype=object)
    texts[~missing] = np.array(names, dtype=object)[numbers]
    return classes, names, texts.tolist()


def _objects(y: Any) -> np.ndarray:
    """The labels as Python objects; pandas' and NumPy's blanks among them."""
    if isinstance(y, np.ma.MaskedArray):
        values = np.ma.getdata(y).astype(object)
        values[np.ma.getmaskarray(y)] = None
        return values
    if isinstance(y, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return np.asarray(y.astype(object), dtype=object)
    return np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None).astype(object)


def _decoded(label: Any) -> Any:
    if label is np.ma.masked:
        return None
    if not isinstance(label, bytes):
        return label
    try:
        return label.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"y has the label {label!r}, which is no UTF-8 text; decode it") from None


def _kinds(labels: Iterable[Any]) -> str:
    return ", ".join(sorted({type(label).__name__ for label in labels}))


@contextmanager
def image_files(X: Any) -> Iterator[list[str]]:
    """Paths of the images: those given, or of PNG files that stay as long as the block, which hold every value."""
    images = _sequence(X)
    if len(images) and all(isinstance(item, (str, Path)) for item in images):
        yield [str(item) for item in images]
        return
    if len(images) and all(isinstance(item, Image.Image) for item in images):
        pictures: Iterable[Image.Image] = (_picture(number, image) for number, image in enumerate(images))
    else:
        pictures = map(Image.fromarray, _pixels(images))
    with temporary_folder() as folder:
        paths = [f"{folder}/{number}.png" for number in range(len(images))]
        _write(pictures, paths)
        yield paths


def _write(pictures: Iterable[Image.Image], paths: list[str]) -> None:
    """Raises RunError where the system has no room for them."""
    try:
        for picture, path in zip(pictures, paths, strict=True):
            picture.save(path, compress_level=1)
    except OSError as error:
        raise _no_room(error) from error


def _sequence(X: Any) -> Any:
    """X, or the list that it gives one by one; ValueError for what holds no images."""
    advice = "give a sequence of paths or pictures, or an array of uint8"
    if isinstance(X, (str, bytes, Path)):
        raise ValueError(f"X is one text or path ({X!r}); {advice}")
    if isinstance(X, pd.DataFrame):
        if X.shape[1] != 1:
            raise ValueError(f"X is a table of {X.shape[1]} columns; give the one column that holds the paths")
        return X.iloc[:, 0].tolist()
    if not isinstance(X, Iterable):
        raise ValueError(f"X is {X!r}; {advice}")
    return X if hasattr(X, "__len__") else list(X)


def _picture(number: int, image: Image.Image) -> Image.Image:
    try:
        image.load()  # Pillow opens files without reading them
        return as_rgb(image)
    except (DecodeError, OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"image {number} of X cannot be read ({error}); mend it or leave it out") from error


def _pixels(X: Sequence[Any]) -> np.ndarray:
    """uint8 (N, H, W) or (N, H, W, 3)."""
    try:
        images = np.asarray(X)
    except ValueError:  # of several sizes
        raise ValueError("X holds arrays of several shapes; give arrays of one shape, or paths") from None
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] not in (1, 3)):
        raise ValueError(
            f"X is an array of {images.dtype} with shape {images.shape}; give paths of images, or uint8 of shape "
            "(N, H, W), (N, H, W, 1) or (N, H, W, 3)"
        )
    if not images.size:
        raise ValueError(f"X has {len(images)} images of shape {images.shape[1:]}; give one image or more")
    return images[..., 0] if images.ndim == 4 and images.shape[3] == 1 else images


@contextmanager
def temporary_folder() -> Iterator[str]:
    """A folder that is there as long as the block; RunError where the system has no room for one."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="scanmix-")
    except OSError as error:
        raise _no_room(error) from error
    with folder as name:
        yield name


def _no_room(error: OSError) -> RunError:
    reason = error.strerror or str(error)
    return RunError(f"temporary files cannot be written ({reason}): make room, or set TMPDIR to another folder")
