"""Small pictures for the page: from the pixel cache of a run, or from the files themselves."""

from collections.abc import Callable, Sequence

import numpy as np

from scanmix_cli.data.decode import DecodeError, decode_file
from scanmix_cli.data.pixels import Pixels

ImageOf = Callable[[int], np.ndarray | None]  # row of the report -> uint8 (3, height, width), None without a picture
LARGEST = 160  # pixels of a side: suspects
NEARBY = 64  # pixels of a side: the images around them


def from_pixels(pixels: Pixels) -> ImageOf:
    """Look-up by row number in decoded pixels."""

    def image_of(row: int) -> np.ndarray | None:
        at = int(np.searchsorted(pixels.rows, row))
        return pixels.images[at] if at < len(pixels.rows) and pixels.rows[at] == row else None

    return image_of


def from_files(paths: Sequence[str], largest: int = LARGEST) -> ImageOf:
    """Look-up by row number in image files, not enlarged; None where the file is gone."""

    def image_of(row: int) -> np.ndarray | None:
        try:
            picture = decode_file(paths[row], largest, salvage=True)
            short = min(picture.size)
            return picture.pixels if short >= largest else decode_file(paths[row], short, salvage=True).pixels
        except DecodeError:
            return None

    return image_of


def from_run(paths: Sequence[str], pixels: Pixels) -> ImageOf:
    """Large pictures of a run at hand: the decoded ones where they are large enough, else the files."""
    return from_pixels(pixels) if pixels.images.shape[-1] >= LARGEST else from_files(paths)
