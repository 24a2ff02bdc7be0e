"""Small pictures for the page: from the pixel cache of a run, or from the files themselves."""

import base64
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from scanmix_cli.data.decode import DecodeError, decode_file
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.table_rows import resolve

ImageOf = Callable[[int], np.ndarray | None]  # row of the report -> uint8 (3, height, width), None without a picture
LARGEST = 160  # pixels of the longer side in the page


def from_pixels(pixels: Pixels) -> ImageOf:
    """Look-up by row number in decoded pixels."""

    def image_of(row: int) -> np.ndarray | None:
        at = int(np.searchsorted(pixels.rows, row))
        return pixels.images[at] if at < len(pixels.rows) and pixels.rows[at] == row else None

    return image_of


def from_files(report: pd.DataFrame, root: Path) -> ImageOf:
    """Look-up by row number in the image files below `root`; None where the file is not there any more."""
    paths = dict(zip(report.index, resolve(report["filename"].tolist(), root), strict=True))

    def image_of(row: int) -> np.ndarray | None:
        try:
            return decode_file(paths[row], LARGEST)[0]
        except DecodeError:
            return None

    return image_of


def data_uri(image: np.ndarray) -> str:
    """The picture as a `data:` address: PNG where it is tiny, so that no pixel is lost, else JPEG.

    image uint8 (3, height, width).
    """
    picture = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
    picture.thumbnail((LARGEST, LARGEST))
    tiny = max(picture.size) <= 64
    stream = io.BytesIO()
    picture.save(stream, "PNG" if tiny else "JPEG", **({"optimize": True} if tiny else {"quality": 85}))
    kind = "png" if tiny else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"
