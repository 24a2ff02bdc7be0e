"""Test-time views: an image as it is, mirrored, and moved a little."""

import torch
from torch import Tensor
from torch.nn import functional

OFFSETS = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))  # down and right, in steps of SHIFT of the size
SHIFT = 1 / 16
MOST_VIEWS = 2 * len(OFFSETS)


def views_of(batch: Tensor, count: int) -> list[Tensor]:
    """The first `count` of MOST_VIEWS views of (B, C, S, S), the batch itself first, then its mirror image.

    The same for every image whatever else is in the batch, so that a prediction does not hang on its company.
    """
    step = max(1, round(SHIFT * batch.shape[-1]))
    views: list[Tensor] = []
    for down, right in OFFSETS[: -(-count // 2)]:
        moved = _moved(batch, down * step, right * step)
        views += [moved, torch.flip(moved, (-1,))]
    return views[:count]


def _moved(batch: Tensor, down: int, right: int) -> Tensor:
    if down == 0 and right == 0:
        return batch
    border = (max(right, 0), max(-right, 0), max(down, 0), max(-down, 0))
    size = batch.shape[-1]
    padded = functional.pad(batch, border, mode="replicate")
    top, left = max(-down, 0), max(-right, 0)
    return padded[:, :, top : top + size, left : left + size]
