"""Images that are nearly the same: one stored anew, made smaller, moved by a little, or with other colours."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft2, rfft2
from scipy.ndimage import uniform_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from scanmix_cli.data.duplicates import numbered, prints_of
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.prints import cells, digests
from scanmix_cli.streams import few

LOWEST_BAR, HIGHEST_BAR = 0.7, 0.95  # for the correlation of two copies' fine structure, at the best place
ABOVE_OTHERS = 0.25  # the bar, above what pictures that are alike but no copies reach in this set
TELLING = 0.85  # beyond this others are no different from copies: written characters reach 0.9, garments 0.7
OTHERS = 0.98  # the quantile of the farthest candidates' correlations that stands for pictures that are no copies
LARGEST_DISTANCE = 0.06  # or: of their cell means, as a share of the contrast
LEAST_CONTRAST = 4.0  # standard deviation of the cell means, 0 to 255: flat pictures look alike without being copies
CANDIDATES, FEWER = 8, 1  # nearest images, by the cell means, that each is compared with; of more than MANY images
MANY = 100_000
SIDE = 32  # pixels a side of the compared pictures
SMALLEST = 16  # pixels a side that have a fine structure
_SURROUNDINGS = 9  # pixels a side whose mean is taken away, so that only the fine structure is left
_SHIFT = 3  # pixels to each side
_FAINTEST = 4.0  # standard deviation, 0 to 255: what is left of a smooth picture is only the traces of its storage
_LIMIT = 2.0  # standard deviations: a few glaring pixels must not decide
_EXACT = 20_000  # images, at most, that are all compared by their cell means; more are grouped first
_BLOCK = 2_048  # pairs at a time
_PICTURES = 128  # read at a time, in which large ones take the more memory
_JUDGED_FROM, _JUDGED_BY = 50, 2_000  # images from which the set has a bar of its own; pairs that it is read off


class NearSets(NamedTuple):
    """What `near_sets` found."""

    sets: np.ndarray  # int64 (rows of the table,): number of the set of nearly equal images, by first appearance; or -1
    bar: float  # the correlation that two images of this set needed; infinite where it does not tell copies from others


def near_sets(pixels: Pixels) -> NearSets:
    """The sets of nearly equal images.

    Exact copies count as nearly equal. Candidates are nearest neighbours by the grey cell means (see `prints`), freed
    of brightness and contrast. Two are nearly equal when their fine structure correlates at a shift of a few pixels, so
    a picture made smaller, cut a little or coloured otherwise is found, or when their cell means hardly differ. How far
    it has to correlate depends on how far pictures of the set do that are no copies; where they all share their
    strokes, only the cell means count.
    """
    prints = prints_of(pixels)
    _, same = np.unique(digests(prints), return_inverse=True)
    if not len(same):
        return NearSets(numbered(same, pixels), HIGHEST_BAR)
    firsts = np.unique(same, return_index=True)[1]  # exact copies are looked at once
    left, right, bar = _alike(prints[firsts], pixels.images, firsts)
    graph = coo_array((np.ones(len(left), bool), (left, right)), (len(firsts), len(firsts)))
    return NearSets(numbered(connected_components(graph, directed=False)[1][same], pixels), bar)


def _alike(prints: np.ndarray, images: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Both images of every nearly equal pair, int64 (pairs,) as numbers among `rows`, and the bar."""
    grey = cells(prints).mean(axis=1, dtype=np.float32).reshape(len(prints), -1)
    contrast = grey.std(axis=1)
    with_contrast = np.flatnonzero(contrast >= LEAST_CONTRAST)
    if len(with_contrast) < 2:
        return with_contrast[:0], with_contrast[:0], HIGHEST_BAR
    shape = _unit(grey[with_contrast])
    near = _nearest(shape, min((CANDIDATES if len(shape) <= MANY else FEWER) + 1, len(shape)))
    one = np.repeat(np.arange(len(near)), near.shape[1])
    pairs = np.stack([one, near.ravel()])
    low, high = np.sort(pairs[:, (pairs[0] != pairs[1]) & (pairs[1] >= 0)], axis=0)
    pairs = with_contrast[np.stack(np.divmod(np.unique(low * len(near) + high), len(near)))]
    bar = least_correlation(images, rows[with_contrast], near) if images.shape[-1] >= SMALLEST else np.inf

    def compared(start: int) -> tuple[np.ndarray, np.ndarray]:
        left, right = pairs[:, start : start + _BLOCK]
        alike = _distances(prints, contrast, left, right) <= LARGEST_DISTANCE
        if np.isfinite(bar):
            alike |= correlations(images, rows[left], rows[right]) >= bar
        return left[alike], right[alike]

    with ThreadPoolExecutor(_threads()) as pool:
        portions = [pairs[:, :0], *pool.map(compared, range(0, pairs.shape[1], _BLOCK))]
    left, right = np.concatenate(portions, axis=1)
    return left, right, bar


def least_correlation(images: np.ndarray, places: np.ndarray, near: np.ndarray) -> float:
    """The correlation from which two of the images at `places`, int64 (n,), are copies; infinite where it does not tell
    them from others. Read off each one's farthest candidate, which is rarely a copy.

    near int64 (n, k): candidates, the nearest first, as numbers among the n; -1 where there is none.
    """
    farthest = near[:, -1]
    usable = np.flatnonzero((farthest >= 0) & (farthest != np.arange(len(near))))
    if len(near) < _JUDGED_FROM or not len(usable):
        return HIGHEST_BAR
    usable = usable[few(len(usable), _JUDGED_BY)]
    others = float(np.quantile(correlations(images, places[usable], places[farthest[usable]]), OTHERS))
    return np.inf if others > TELLING else float(np.clip(others + ABOVE_OTHERS, LOWEST_BAR, HIGHEST_BAR))


def correlations(images: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """float (n,): largest correlation of the fine structures of images `left` and `right`, int64 (n,), over shifts.

    Phase-free cross-correlation by the Fourier transform; what wraps around at the edges is faded out before.
    """
    chosen, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    parts = np.array_split(chosen, max(-(-len(chosen) // _PICTURES), 1))
    waves = rfft2(np.concatenate([_structure(images[part]) for part in parts]), axes=(1, 2))
    side = SIDE if images.shape[-1] >= SIDE else images.shape[-1]
    shifts = np.arange(-_SHIFT, _SHIFT + 1)
    product = waves[place[: len(left)]] * waves[place[len(left) :]].conj()
    moved = irfft2(product, s=(side, side), axes=(1, 2))
    return moved[:, shifts][:, :, shifts].max(axis=(1, 2))


def _structure(images: np.ndarray) -> np.ndarray:
    """uint8 (n, 3, S, S) to float32 (n, side, side) of unit length: grey, less its surroundings and the means of rows
    and columns, clipped and faded."""
    grey = images.mean(axis=1, dtype=np.float32)
    step = max(grey.shape[-1] // SIDE, 1)
    side = min(grey.shape[-1] // step, SIDE)
    grey = grey[:, : side * step, : side * step].reshape(len(grey), side, step, side, step).mean(axis=(2, 4))
    fine = grey - uniform_filter(grey, size=(0, _SURROUNDINGS, _SURROUNDINGS))
    fine -= fine.mean(axis=1, keepdims=True)  # a horizon alone makes no copy
    fine -= fine.mean(axis=2, keepdims=True)
    spread = np.sqrt((fine**2).mean(axis=(1, 2), keepdims=True))
    fade = np.sqrt(np.hanning(side + 2)[1:-1]).astype(np.float32)
    fine = np.clip(fine, -_LIMIT * spread, _LIMIT * spread) * fade[:, None] * fade * (spread >= _FAINTEST)
    return _unit(fine.reshape(len(fine), -1)).reshape(fine.shape)


def _unit(values: np.ndarray) -> np.ndarray:
    """Rows of (n, d) with mean 0 and length 1, float32; zeros where all values are the same."""
    centred = values - values.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.divide(centred, length, out=np.zeros_like(centred), where=length > 1e-3).astype(np.float32)


def _nearest(vectors: np.ndarray, count: int) -> np.ndarray:
    """int64 (n, count): rows with the largest inner products, itself among them; -1 where none was found."""
    import faiss  # only where it is used: machines that only train lack it

    dimensions = vectors.shape[1]
    whole = faiss.IndexFlatIP(dimensions)
    if len(vectors) <= _EXACT:
        whole.add(vectors)
        return whole.search(vectors, count)[1].astype(np.int64)
    lists = int(2 * np.sqrt(len(vectors)))
    grouped = faiss.IndexIVFFlat(whole, dimensions, lists, faiss.METRIC_INNER_PRODUCT)
    grouped.nprobe = 12
    grouped.train(vectors[few(len(vectors), 64 * lists)])
    grouped.add(vectors)
    return grouped.search(vectors, count)[1].astype(np.int64)


def _threads() -> int:
    """As many as faiss uses: the cores of the process, or OMP_NUM_THREADS."""
    import faiss  # only where it is used: machines that only train lack it

    return faiss.omp_get_max_threads()


def _distances(prints: np.ndarray, contrast: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Root mean square difference of two images' cells over their contrast."""
    differences = cells(prints[one]).astype(np.float32) - cells(prints[other])
    return np.sqrt((differences**2).mean(axis=(1, 2, 3))) / np.minimum(contrast[one], contrast[other])
