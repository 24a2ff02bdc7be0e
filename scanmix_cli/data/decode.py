"""From a file to a square RGB picture, by content and never by suffix; every failure has a code."""

import io
import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from PIL import Image, UnidentifiedImageError

from scanmix_cli.data.colour import mode_name, to_rgb
from scanmix_cli.data.content import ends_early, foreign_kind
from scanmix_cli.data.leniency import LENIENCY
from scanmix_cli.data.png_texts import without_large_texts
from scanmix_cli.files import shortage

VALID = "VALID"
MISSING_FILE = "ERROR_MISSING_FILE"
ZERO_SIZE_FILE = "ERROR_ZERO_SIZE_FILE"
CORRUPT_IMAGE = "ERROR_CORRUPT_IMAGE"
TRUNCATED_IMAGE = "ERROR_TRUNCATED_IMAGE"
TOO_LARGE = "ERROR_TOO_LARGE"
UNSUPPORTED = "ERROR_UNSUPPORTED"
SHORTAGE = "SHORTAGE"  # of the machine, for now: says nothing of the file, and no row is to have it

T = TypeVar("T")

MAX_PIXELS = 178_956_970  # where Pillow itself refuses to open: twice its default Image.MAX_IMAGE_PIXELS
MAX_BYTES = 1 << 30
NO_MEMORY = "not enough memory to decode"
_TOO_MANY = f"more pixels than the {MAX_PIXELS} that are read at most"

# Formats with a mark of their own at the start: without one (TGA, DIB) garbage passes for a picture; EPS runs programs.
_FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM", "JPEG2000", "AVIF", "ICO", "QOI")
_ANIMATIONS = frozenset({"GIF", "WEBP", "PNG", "AVIF", "TIFF"})
_FRAME = (16, 16)
_ORIENTATION_TAG = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

Image.init()
_AVAILABLE = [name for name in _FORMATS if name in Image.OPEN]


class DecodeError(Exception):
    """One file cannot be used; `code` is one of the ERROR_ codes or SHORTAGE, `message` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class AnimationWarning(UserWarning):
    """An animated image or one of several pages, of which only the first is used."""


class SalvageWarning(UserWarning):
    """A file cut short, of which the part that is there is used."""


class Picture(NamedTuple):
    """A decoded file."""

    pixels: np.ndarray  # uint8 (3, size, size)
    size: tuple[int, int]  # width and height as seen upright
    kind: str  # file format and pixel mode, such as "JPEG RGB"
    frame: bytes  # a few pixels of the whole picture where the square shows only a part, to tell copies by


def decode_file(path: Path | str, size: int, *, salvage: bool = False) -> Picture:
    """The picture in a file; raises DecodeError.

    The short side is resized to `size` and the centre cut out. A picture of exactly size x size keeps every value.
    With `salvage`, what is there of a file cut short is used; what is missing is grey or black.
    """
    return decode_bytes(read_content(path), size, salvage=salvage)


def decode_whole(path: Path | str, longest: int) -> Image.Image:
    """All of the picture in a file, upright and RGB, its long side at most `longest` and never enlarged.

    What is there of a file cut short is used. Raises DecodeError.
    """
    data = read_content(path)
    _require_content(data)

    def whole(image: Image.Image) -> Image.Image:
        share = min(1.0, longest / max(image.size))
        # half of the short side to come: `_upright` lets a JPEG be reduced to twice the size it is told
        picture = _rgb(_upright(image, max(1, round(share * min(image.size) / 2)))[0])
        picture.thumbnail((longest, longest), Image.Resampling.BICUBIC)
        return picture

    try:
        with LENIENCY.off():
            return _opened(data, whole)
    except DecodeError as error:
        if error.code != TRUNCATED_IMAGE:
            raise
    with LENIENCY.on():
        return _opened(data, whole)


def stored_size(path: Path | str) -> tuple[int, int]:
    """Width and height of the picture in a file, as stored and without decoding it; raises DecodeError."""
    return _opened(read_content(path), lambda image: image.size)


def read_content(path: Path | str) -> bytes:
    """The bytes of a file; raises DecodeError, also where reading would not end: pipes, devices."""
    if not path:
        raise DecodeError(MISSING_FILE, "the row names no file")
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise DecodeError(MISSING_FILE, "cannot be opened: no regular file")
        if status.st_size > MAX_BYTES:
            raise DecodeError(TOO_LARGE, f"{status.st_size} bytes; at most {MAX_BYTES} are read")
        with open(path, "rb") as file:
            return file.read(MAX_BYTES)
    except OSError as error:
        if told := shortage(error):
            raise DecodeError(SHORTAGE, told) from None
        raise DecodeError(MISSING_FILE, f"cannot be opened: {error.strerror}") from None
    except ValueError:  # a zero byte in the name
        raise DecodeError(MISSING_FILE, "cannot be opened: no valid file name") from None


def _require_content(data: bytes) -> None:
    if not data:
        raise DecodeError(ZERO_SIZE_FILE, "the file is empty")


def decode_bytes(data: bytes, size: int, *, salvage: bool = False) -> Picture:
    """As `decode_file`, from the content of a file."""
    _require_content(data)
    if not salvage:
        return _decode(data, size)
    try:
        with LENIENCY.off():
            return _decode(data, size)
    except DecodeError as error:
        if error.code != TRUNCATED_IMAGE:
            raise
        return _salvaged(data, size, error)


def _salvaged(data: bytes, size: int, error: DecodeError) -> Picture:
    """What is there of a picture cut short; raises `error` where nothing can be seen of it."""
    try:
        with LENIENCY.on():
            picture = _decode(data, size)
    except DecodeError as other:
        raise (other if other.code == SHORTAGE else error) from None
    if (picture.pixels == picture.pixels[:, :1, :1]).all():
        raise error
    warnings.warn("file cut short, what is there of the picture is used", SalvageWarning, stacklevel=2)
    return picture


def _decode(data: bytes, size: int) -> Picture:
    def square(image: Image.Image) -> Picture:
        kind = f"{image.format} {mode_name(image.mode)}"
        upright, source_size = _upright(image, size)
        picture = _rgb(upright)
        pixels = np.ascontiguousarray(np.asarray(_square(picture, size)).transpose(2, 0, 1))
        return Picture(pixels, source_size, kind, _frame(picture))

    return _opened(data, square)


def _opened(data: bytes, use: Callable[[Image.Image], T]) -> T:
    """What `use` makes of the opened picture; whatever goes wrong becomes a DecodeError."""
    try:
        with Image.open(io.BytesIO(data), formats=_AVAILABLE) as image:
            if image.width * image.height > MAX_PIXELS:
                raise DecodeError(TOO_LARGE, f"{image.width} x {image.height} pixels; at most {MAX_PIXELS} are read")
            return use(image)
    except DecodeError:
        raise
    except Exception as error:  # a broken file can make a format reader raise anything, and must cost only its own row
        if isinstance(error, ValueError) and (smaller := without_large_texts(data)) != data:
            return _opened(smaller, use)  # texts beside the picture may be larger than Pillow unpacks
        raise _failure(error, data) from None


def _upright(image: Image.Image, size: int) -> tuple[Image.Image, tuple[int, int]]:
    """The first frame turned as its EXIF data says, and its (width, height); a large JPEG comes reduced."""
    if image.format in _ANIMATIONS and getattr(image, "is_animated", False):
        several = "several pages, only the first" if image.format == "TIFF" else "animated image, only the first frame"
        warnings.warn(f"{several} is used", AnimationWarning, stacklevel=2)
    source_size = image.size
    # Twice the final size, so that the decoder's coarse reduction leaves the resizing filter enough to work on.
    width, height = (-(-side * 2 * size // min(source_size)) for side in source_size)
    reduced = image.draft(None, (width, height)) is not None and image.size != source_size
    image.load()
    if not reduced:
        source_size = image.size  # older versions of Pillow turn TIFF while loading
    orientation = _orientation(image)
    if orientation is None:
        return image, source_size
    return image.transpose(_UPRIGHT[orientation]), source_size[::-1] if orientation >= 5 else source_size


def _orientation(image: Image.Image) -> int | None:
    try:
        orientation = image.getexif().get(_ORIENTATION_TAG)
    except Exception:  # damaged EXIF data can raise anything, and is no reason to lose the picture
        return None
    return orientation if isinstance(orientation, int) and orientation in _UPRIGHT else None


def as_rgb(image: Image.Image) -> Image.Image:
    """An opened picture upright and RGB, as one from a file is; raises DecodeError."""
    orientation = _orientation(image)
    return _rgb(image if orientation is None else image.transpose(_UPRIGHT[orientation]))


def _rgb(image: Image.Image) -> Image.Image:
    try:
        return to_rgb(image)
    except ValueError as error:
        raise DecodeError(UNSUPPORTED, str(error)) from None


def _square(picture: Image.Image, size: int) -> Image.Image:
    """Centre square of the picture at `size`, without resizing what is cut away."""
    if picture.size == (size, size):
        return picture
    width, height = picture.size
    side = min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    return picture.resize((size, size), Image.Resampling.BICUBIC, box=(left, top, left + side, top + side))


def _frame(picture: Image.Image) -> bytes:
    """Single pixels all over a picture, nothing where the square holds all of it."""
    return b"" if picture.width == picture.height else picture.resize(_FRAME, Image.Resampling.NEAREST).tobytes()


def _failure(error: Exception, data: bytes) -> DecodeError:
    if isinstance(error, (Image.DecompressionBombError, MemoryError)):
        bomb = isinstance(error, Image.DecompressionBombError)
        return DecodeError(TOO_LARGE, _TOO_MANY if bomb else NO_MEMORY)
    if isinstance(error, OSError) and (told := shortage(error)):
        return DecodeError(SHORTAGE, told)
    if isinstance(error, UnidentifiedImageError) and (kind := foreign_kind(data)):
        return DecodeError(UNSUPPORTED, f"the content is {kind}, not a picture in a supported format")
    if "truncated" in str(error).lower() or ends_early(data):
        return DecodeError(TRUNCATED_IMAGE, "the file ends before the picture does")
    if isinstance(error, UnidentifiedImageError):
        return DecodeError(CORRUPT_IMAGE, "the content is no picture that can be read")
    return DecodeError(CORRUPT_IMAGE, f"the picture is damaged: {error or type(error).__name__}")
