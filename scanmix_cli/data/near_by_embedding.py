"""Near copies that a trained network points at: cut or shifted further than cell means can tell."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from scanmix_cli.data.duplicates import numbered
from scanmix_cli.data.near_duplicates import HIGHEST_BAR, SMALLEST, correlations, least_correlation
from scanmix_cli.data.pixels import Pixels

LENIENCE = 0.1  # so much less correlation is enough for images that are each other's nearest in the feature space
_BLOCK = 2_048


def joined_by_embedding(
    sets: np.ndarray, pixels: Pixels, rows: np.ndarray, neighbors: np.ndarray, own_bar: float
) -> np.ndarray:
    """The `sets` of `near_sets`, int64 (rows of the table,), with the pairs of images that are each other's nearest
    neighbours in a network's feature space and whose fine structure correlates nearly as far as that of other copies;
    quite as far in a set whose own bar is the highest there is, for pictures that are alike are near in it anyway.

    rows int64 (N,): row in the table of each image that the network was trained on; neighbors int64 (N, K): the nearest
    first, as numbers among the N; the image itself may come before them.
    """
    count = len(neighbors)
    if count < 2 or neighbors.shape[1] < 2 or pixels.images.shape[-1] < SMALLEST or not np.isfinite(own_bar):
        return sets
    everyone, places = np.arange(count), np.searchsorted(pixels.rows, rows)
    nearest = np.where(neighbors[:, 0] == everyone, neighbors[:, 1], neighbors[:, 0])
    one = np.flatnonzero((nearest[nearest] == everyone) & (everyone < nearest))
    strict = own_bar >= HIGHEST_BAR
    bar = own_bar if strict else least_correlation(pixels.images, places, neighbors) - LENIENCE
    alike = [one[:0]]
    for start in range(0, len(one) if np.isfinite(bar) else 0, _BLOCK):
        left = one[start : start + _BLOCK]
        found = correlations(pixels.images, places[left], places[nearest[left]]) >= bar
        alike.append(left[found])
    left = np.concatenate(alike)
    return _joined(sets, pixels, rows[left], rows[nearest[left]])


def _joined(sets: np.ndarray, pixels: Pixels, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sets int64 (n,) and pairs of rows, numbered anew by first appearance."""
    members = np.flatnonzero(sets >= 0)
    first = np.full(int(sets.max(initial=-1)) + 1, -1)
    first[sets[members[::-1]]] = members[::-1]
    ends = np.concatenate([left, members]), np.concatenate([right, first[sets[members]]])
    graph = coo_array((np.ones(len(ends[0]), bool), ends), (len(sets), len(sets)))
    return numbered(connected_components(graph, directed=False)[1][pixels.rows], pixels)
