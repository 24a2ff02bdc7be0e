"""Images that are copies of each other, pixel for pixel."""

import hashlib

import numpy as np

from scanmix_cli.data.pixels import Pixels


def exact_duplicates(pixels: Pixels) -> np.ndarray:
    """int64 (rows of the table,): number of the set of equal images, by first appearance; -1 where there is no copy.

    Equal means the same original width and height and the same decoded pixels, whatever the file format.
    """
    first_row: dict[bytes, int] = {}
    first = np.full(len(pixels.error_codes), -1, np.int64)
    sizes = np.ascontiguousarray(pixels.source_sizes[pixels.rows])
    for image, size, row in zip(pixels.images, sizes, pixels.rows.tolist(), strict=True):
        digest = hashlib.sha256(size.tobytes())
        digest.update(image.tobytes())
        first[row] = first_row.setdefault(digest.digest(), row)
    _, members, counts = np.unique(first, return_inverse=True, return_counts=True)
    repeated = (counts[members] > 1) & (first >= 0)
    sets = np.full(len(first), -1, np.int64)
    # First rows ascend, so numbering them in order numbers the sets by first appearance.
    sets[repeated] = np.unique(first[repeated], return_inverse=True)[1]
    return sets
