"""Decoded pixels of a Samples table, at training resolution."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pixels:
    """Readable images and what became of every row.

    `images` uint8 (readable, 3, size, size); `rows` int64 (readable,) the row of each image in the Samples table,
    ascending; `error_codes` and `messages` text (rows of the table,), "VALID" and "" where readable.
    """

    images: np.ndarray
    rows: np.ndarray
    error_codes: np.ndarray
    messages: np.ndarray
    source_sizes: np.ndarray  # int32 (rows of the table, 2): original width and height, 0 where unreadable
