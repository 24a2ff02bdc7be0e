"""Images that are copies of each other, pixel for pixel."""

import numpy as np

from scanmix_cli.data.decode import Picture
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.prints import digests, make_prints


def exact_duplicates(pixels: Pixels) -> np.ndarray:
    """int64 (rows of the table,): number of the set of equal images, by first appearance; -1 where there is no copy.

    Equal means the same original width and height and the same decoded pixels, whatever the file format.
    """
    return numbered(digests(prints_of(pixels)), pixels)


def numbered(keys: np.ndarray, pixels: Pixels) -> np.ndarray:
    """Sets of equal keys, one key per readable image: int64 (rows of the table,), as `exact_duplicates`."""
    sets = np.full(len(pixels.error_codes), -1, np.int64)
    _, first, members, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    repeated = counts[members] > 1
    # The first image of each set ascends with its number.
    sets[pixels.rows[repeated]] = np.unique(first[members[repeated]], return_inverse=True)[1]
    return sets


def prints_of(pixels: Pixels) -> np.ndarray:
    """uint8 (readable, prints.LENGTH), made from the images where decoding did not."""
    if pixels.prints is not None:
        return pixels.prints
    sizes = map(tuple, pixels.source_sizes[pixels.rows].tolist())
    return make_prints([Picture(image, size, "", b"") for image, size in zip(pixels.images, sizes, strict=True)])
