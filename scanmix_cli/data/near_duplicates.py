"""Images that are nearly the same: one stored anew, made smaller, or lightly edited."""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from scanmix_cli.data.duplicates import numbered, prints_of
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.prints import cells, digests

LARGEST_DISTANCE = 0.12  # between two images' cell means, as a share of their contrast
LEAST_CONTRAST = 4.0  # standard deviation of the cell means, 0 to 255: flat pictures look alike without being copies
_SHAPE_TOLERANCE = 0.02  # of width over height
_BRIGHTNESS_TOLERANCE = 3.0
_BANDS = 4  # the sign of every cell gives 64 bits; images that share a quarter of them are compared
_STEPS = 24  # and of these the nearest so many in brightness, which bounds the time for sets of like images


def near_duplicates(pixels: Pixels) -> np.ndarray:
    """int64 (rows of the table,): number of the set of nearly equal images, by first appearance; -1 in none.

    Exact copies count as nearly equal. Two images are when their cell means (see `prints`) differ by less than
    `LARGEST_DISTANCE` of their contrast and they have the same shape: a picture stored anew or at half the size, not
    one cut or coloured otherwise. May miss pairs in large sets of like images.
    """
    prints = prints_of(pixels)
    _, same = np.unique(digests(prints), return_inverse=True)
    if not len(same):
        return numbered(same, pixels)
    firsts = np.unique(same, return_index=True)[1]  # exact copies are looked at once
    pairs = list(_pairs(prints[firsts], pixels.source_sizes[pixels.rows[firsts]]))
    left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
    graph = coo_array((np.ones(len(left), bool), (left, right)), (len(firsts), len(firsts)))
    return numbered(connected_components(graph, directed=False)[1][same], pixels)


def _pairs(prints: np.ndarray, sizes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Index pairs of nearly equal images, in portions; some come more than once."""
    grey = cells(prints).mean(axis=1, dtype=np.float32).reshape(len(prints), -1)
    brightness, contrast = grey.mean(axis=1), grey.std(axis=1)
    bits = np.packbits(grey > np.median(grey, axis=1, keepdims=True), axis=1)
    shape = np.log(sizes[:, 0] / sizes[:, 1])
    for band in np.split(bits, _BANDS, axis=1):
        keys = np.ascontiguousarray(band).view(f"V{band.shape[1]}")[:, 0]
        keys = np.unique(keys, return_inverse=True)[1]
        order = np.lexsort((brightness, keys))
        order = order[contrast[order] >= LEAST_CONTRAST]
        for step in range(1, _STEPS + 1):
            one, other = order[:-step], order[step:]
            close = (keys[one] == keys[other]) & (brightness[other] - brightness[one] <= _BRIGHTNESS_TOLERANCE)
            if not close.any():
                break
            close &= np.abs(shape[one] - shape[other]) <= _SHAPE_TOLERANCE
            one, other = one[close], other[close]
            alike = _distances(prints, contrast, one, other) <= LARGEST_DISTANCE
            yield one[alike], other[alike]
    yield np.zeros(0, np.int64), np.zeros(0, np.int64)


def _distances(prints: np.ndarray, contrast: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Root mean square difference of two images' cells over their contrast, in blocks that bound memory."""
    found = [np.zeros(0)]
    for start in range(0, len(one), 65536):
        a, b = one[start : start + 65536], other[start : start + 65536]
        differences = cells(prints[a]).astype(np.float32) - cells(prints[b])
        found.append(np.sqrt((differences**2).mean(axis=(1, 2, 3))) / np.minimum(contrast[a], contrast[b]))
    return np.concatenate(found)
