"""What tells copies of pictures apart from others, in few bytes: kept beside the pixels, so that these stay on disk."""

import hashlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from scanmix_cli.data.decode import Picture

DIGEST = 16  # bytes that are the same for equal pictures only
GRID = 8  # means of so many cells a side and colour, which hardly change when a picture is stored anew
_ENOUGH = 32  # pixels a side that the means are taken of: more would cost more time than they tell
LENGTH = DIGEST + 3 * GRID * GRID


def make_prints(pictures: Sequence[Picture]) -> np.ndarray:
    """uint8 (pictures, LENGTH): digest of the pixels and of the original size, then the means of the cells."""
    prints = np.zeros((len(pictures), LENGTH), np.uint8)
    if not pictures:
        return prints
    for row, picture in zip(prints, pictures, strict=True):
        digest = hashlib.blake2b(np.array(picture.size, np.int32).tobytes(), digest_size=DIGEST)
        digest.update(picture.pixels.tobytes())
        digest.update(picture.frame)
        row[:DIGEST] = np.frombuffer(digest.digest(), np.uint8)
    prints[:, DIGEST:] = _cell_means(np.stack([picture.pixels for picture in pictures])).reshape(len(pictures), -1)
    return prints


def digests(prints: np.ndarray) -> np.ndarray:
    """(pictures,): the digest of each, as values that compare whole."""
    return np.ascontiguousarray(prints[:, :DIGEST]).view(f"V{DIGEST}")[:, 0]


def cells(prints: np.ndarray) -> np.ndarray:
    """uint8 (pictures, 3, GRID, GRID): the means of the cells."""
    return prints[:, DIGEST:].reshape(-1, 3, GRID, GRID)


def _cell_means(images: np.ndarray) -> np.ndarray:
    """uint8 (B, 3, size, size) to uint8 (B, 3, GRID, GRID); cells may share a pixel where GRID does not divide size."""
    step = max(images.shape[-1] // _ENOUGH, 1)
    images = images[:, :, ::step, ::step]
    size = images.shape[-1]
    edges = np.linspace(0, size, GRID + 1)
    weights = np.zeros((GRID, size), np.float32)
    for cell, (low, high) in enumerate(pairwise(edges)):
        first, last = int(low), max(int(np.ceil(high)), int(low) + 1)
        weights[cell, first:last] = 1 / (last - first)
    return np.rint(weights @ images.astype(np.float32) @ weights.T).astype(np.uint8)
