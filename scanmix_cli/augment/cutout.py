"""Cutout: one square of each normalised image set to 0, the mean colour."""

import torch
from torch import Tensor

from scanmix_cli.augment.geometry import uniform_integers

CUTOUT_DRAWS = 3


def longest_side(size: int) -> int:
    """Largest side for images of `size` pixels: 16 at 32, 75 at 227 (half the size up to 64 pixels, a third above)."""
    return round(size / 2) if size <= 64 else size // 3


def random_cutout_(pixels: Tensor, uniforms: Tensor) -> Tensor:
    """Zero a square of side 1 .. `longest_side` around a random centre, clipped at the borders.

    `pixels` float (B, C, S, S), normalised, changed in place; `uniforms` (CUTOUT_DRAWS, B): side, row, column. The
    square reaches side // 2 pixels before the centre and as many from it on, so a side of 1 cuts nothing.
    """
    size = pixels.shape[3]
    half = (1 + uniform_integers(uniforms[0], longest_side(size))) // 2
    center = uniform_integers(uniforms[1:], size)
    position = torch.arange(size, device=pixels.device)
    distance = position - center[:, :, None]
    within = (distance >= -half[:, None]) & (distance < half[:, None])
    kept = ~(within[0][:, None, :, None] & within[1][:, None, None, :])
    return pixels.mul_(kept.float())
