"""The 14 Pillow operations of the strong augmentation, for a batch of uint8 images with one operation per image.

Every image goes through the same kernels: one nearest-neighbour warp (rotate, shear, translate), one table look-up
(solarize, posterize, brightness, contrast, autocontrast, equalize) and one blend (color, sharpness). For an image whose
operation is in another group, a group's parameters are those of the identity.
"""

import math
from enum import IntEnum

import torch
from torch import Tensor

from scanmix_cli.augment.geometry import warp_nearest


class Operation(IntEnum):
    """The operations in the order of their groups."""

    IDENTITY = 0
    ROTATE = 1
    SHEAR_X = 2
    SHEAR_Y = 3
    TRANSLATE_X = 4
    TRANSLATE_Y = 5
    SOLARIZE = 6
    POSTERIZE = 7
    AUTOCONTRAST = 8
    EQUALIZE = 9
    BRIGHTNESS = 10
    CONTRAST = 11
    COLOR = 12
    SHARPNESS = 13


def random_magnitudes(operations: Tensor, uniforms: Tensor) -> Tensor:
    """Uniform draws of [0, 1) to each operation's own unit, same shape as `operations`.

    Degrees -30 .. 30 (rotate), slope or share of the size -0.1 .. 0.1 (shear, translate), threshold 0 .. 256
    (solarize), bits 4 .. 7, the integer part of 4 .. 8 (posterize), factor 0.05 .. 0.95 (brightness, contrast, color,
    sharpness).
    """
    signed = 2 * uniforms - 1
    magnitudes = torch.where(operations == Operation.ROTATE, 30 * signed, 0.1 * signed)
    magnitudes = torch.where(operations == Operation.SOLARIZE, 256 * uniforms, magnitudes)
    magnitudes = torch.where(operations == Operation.POSTERIZE, (4 + 4 * uniforms).floor(), magnitudes)
    return torch.where(operations >= Operation.BRIGHTNESS, 0.05 + 0.9 * uniforms, magnitudes)


def warp_matrices(operations: Tensor, magnitudes: Tensor, height: int, width: int) -> Tensor:
    """Maps from output to input pixels (6, B) as Pillow's `rotate` and `transform` use them."""

    def only(operation: Operation) -> Tensor:
        return torch.where(operations == operation, magnitudes, 0.0)

    angle = only(Operation.ROTATE) * (-math.pi / 180)
    cos, sin = angle.cos(), angle.sin()
    x_shift = (1 - cos) * (width / 2) - sin * (height / 2) + only(Operation.TRANSLATE_X) * width
    y_shift = sin * (width / 2) + (1 - cos) * (height / 2) + only(Operation.TRANSLATE_Y) * height
    return torch.stack((cos, sin + only(Operation.SHEAR_X), x_shift, only(Operation.SHEAR_Y) - sin, cos, y_shift))


def luminance(pixels: Tensor) -> Tensor:
    """Pillow's "L" (B, 1, H, W) of float grey levels; its 16-bit integer sum is exact in float32."""
    red, green, blue = pixels.split(1, dim=1)
    total = (red * 19595).add_(green, alpha=38470).add_(blue, alpha=7471).add_(0x8000)
    return total.mul_(1 / 0x10000).floor_()


def smooth(pixels: Tensor) -> Tensor:
    """Pillow's SMOOTH filter: 3x3 mean with the centre counted five times, rounded; border pixels stay."""
    rows = pixels[:, :, :-2] + pixels[:, :, 1:-1] + pixels[:, :, 2:]
    total = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
    inner = (slice(None), slice(None), slice(1, -1), slice(1, -1))
    result = pixels.clone()
    result[inner] = total.add_(pixels[inner], alpha=4).div_(13).add_(0.5).floor_()
    return result


def contrast_tables(levels: Tensor, histogram: Tensor) -> tuple[Tensor, Tensor]:
    """Tables (B, 3, 256) of autocontrast and of equalize from float `histogram` (B, 3, 256) of each channel.

    Counts are exact in float32 up to 4096 x 4096 pixels. Autocontrast can differ from Pillow by one level where its
    float64 product falls just below a whole number.
    """
    cumulative = histogram.cumsum(2)
    total = cumulative[..., -1:]
    lowest = (cumulative == 0).sum(2, keepdim=True)
    highest = (cumulative < total).sum(2, keepdim=True)
    stretched = ((levels - lowest) * 255 / (highest - lowest).clamp(min=1)).floor_().clamp_(0, 255)
    autocontrast = torch.where(highest > lowest, stretched, levels)
    step = ((total - histogram.gather(2, highest)) / 255).floor_()
    before = cumulative - histogram + (step / 2).floor_()
    equalize = torch.where(step > 0, (before / step.clamp(min=1)).floor_().clamp_(max=255), levels)
    return autocontrast, equalize


def level_tables(operations: Tensor, magnitudes: Tensor, histogram: Tensor, mean: Tensor) -> Tensor:
    """New grey level of each old one, float (B, 3, 256); `mean` (B, 1, 1) is the rounded mean luminance."""
    operation, magnitude = operations.view(-1, 1, 1), magnitudes.view(-1, 1, 1)
    levels = torch.arange(256, device=histogram.device, dtype=torch.float32)
    solarized = torch.where(levels < magnitude, levels, 255 - levels)
    dropped = torch.exp2(8 - magnitude)
    posterized = (levels / dropped).floor_().mul_(dropped)
    base = torch.where(operation == Operation.CONTRAST, mean, 0.0)
    blended = torch.addcmul(base, levels - base, magnitude).floor_()
    autocontrast, equalize = contrast_tables(levels, histogram)
    tables = torch.where(operation == Operation.SOLARIZE, solarized, levels)
    tables = torch.where(operation == Operation.POSTERIZE, posterized, tables)
    is_blend = (operation == Operation.BRIGHTNESS) | (operation == Operation.CONTRAST)
    tables = torch.where(is_blend, blended, tables)
    tables = torch.where(operation == Operation.AUTOCONTRAST, autocontrast, tables)
    return torch.where(operation == Operation.EQUALIZE, equalize, tables)


def apply_operations(images: Tensor, operations: Tensor, magnitudes: Tensor) -> Tensor:
    """One operation int64 (B,) of `magnitudes` float (B,) on each of `images` uint8 (B, 3, H, W); returns uint8."""
    batch, channels, height, width = images.shape
    images = warp_nearest(images, warp_matrices(operations, magnitudes, height, width))
    index = images.flatten(2).long()
    pixels = images.float()
    gray = luminance(pixels)
    mean = (gray.mean((2, 3)) + 0.5).floor_()[:, :, None]
    histogram = pixels.new_zeros(batch, channels, 256)
    histogram.scatter_add_(2, index, pixels.new_ones(()).expand_as(index))
    mapped = level_tables(operations, magnitudes, histogram, mean).gather(2, index).view_as(pixels)
    operation = operations.view(-1, 1, 1, 1)
    factor = torch.where(operation >= Operation.COLOR, magnitudes.view(-1, 1, 1, 1), 1.0)
    degenerate = torch.where(operation == Operation.COLOR, gray, smooth(pixels))
    # Conversion to uint8 cuts the fraction off, as Pillow's blend does.
    return torch.addcmul(degenerate, mapped - degenerate, factor).to(torch.uint8)
