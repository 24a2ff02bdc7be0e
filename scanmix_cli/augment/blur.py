"""Gaussian blur with one width per image."""

import torch
from torch import Tensor

from scanmix_cli.augment.geometry import separable_resample

# Weights below exp(-30) count as 0: subnormal numbers would slow the products down a lot.
NEGLIGIBLE = -30.0
# So narrow that every neighbour's weight is 0: the image passes unchanged.
NO_BLUR = 1e-3


def blur_weights(sigma: Tensor, size: int) -> Tensor:
    """Matrices (B, size, size) of a Gaussian of `sigma` (B,) pixels; the image is mirrored about its border pixels."""
    position = torch.arange(size, device=sigma.device, dtype=torch.float32)
    output, source = position[:, None], position[None, :]
    inner = ((source > 0) & (source < size - 1)).float()
    narrow = (-0.5 / sigma.square())[:, None, None]

    def bell(distance: Tensor) -> Tensor:
        exponent = (narrow * distance.square()).clamp_(min=NEGLIGIBLE)
        return exponent.exp() * (exponent > NEGLIGIBLE)

    weights = bell(output - source) + inner * (bell(output + source) + bell(output + source - 2 * (size - 1)))
    return weights / weights.sum(2, keepdim=True)


def gaussian_blur(pixels: Tensor, sigma: Tensor) -> Tensor:
    """Blur float `pixels` (B, C, S, S) by `sigma` (B,) pixels."""
    weights = blur_weights(sigma, pixels.shape[3])
    return separable_resample(pixels, weights, weights)


def random_blur(pixels: Tensor, uniforms: Tensor) -> Tensor:
    """Blur by 0.1 .. 2 pixels with probability 0.5 (MoCo v2); `uniforms` (2, B): width, whether."""
    return gaussian_blur(pixels, torch.where(uniforms[1] < 0.5, 0.1 + 1.9 * uniforms[0], NO_BLUR))
