"""The 14 Pillow operations of the strong augmentation, for a batch of uint8 images with one operation per image.

Every image goes through the same kernels: one nearest-neighbour warp (rotate, shear, translate), one table look-up
(solarize, posterize, brightness, contrast, autocontrast, equalize) and one blend (color, sharpness). For an image whose
operation is in another group, a group's parameters are those of the identity.
"""

import math

import torch
from torch import Tensor

from scanmix_cli.augment.geometry import warp_nearest

# Plain integers in the order of their groups: torch.compile takes a comparison with an enum member for a Python one.
OPERATIONS = 14
IDENTITY, ROTATE, SHEAR_X, SHEAR_Y, TRANSLATE_X, TRANSLATE_Y = range(6)
SOLARIZE, POSTERIZE, AUTOCONTRAST, EQUALIZE = range(6, 10)
BRIGHTNESS, CONTRAST, COLOR, SHARPNESS = range(10, OPERATIONS)


def random_magnitudes(operations: Tensor, uniforms: Tensor) -> Tensor:
    """Uniform draws of [0, 1) to each operation's own unit, same shape as `operations`.

    Degrees -30 .. 30 (rotate), slope or share of the size -0.1 .. 0.1 (shear, translate), threshold 0 .. 256
    (solarize), bits 4 .. 7, the integer part of 4 .. 8 (posterize), factor 0.05 .. 0.95 (brightness, contrast, color,
    sharpness).
    """
    signed = 2 * uniforms - 1
    magnitudes = torch.where(operations == ROTATE, 30 * signed, 0.1 * signed)
    magnitudes = torch.where(operations == SOLARIZE, 256 * uniforms, magnitudes)
    magnitudes = torch.where(operations == POSTERIZE, (4 + 4 * uniforms).floor(), magnitudes)
    return torch.where(operations >= BRIGHTNESS, 0.05 + 0.9 * uniforms, magnitudes)


def warp_matrices(operations: Tensor, magnitudes: Tensor, height: int, width: int) -> Tensor:
    """Maps from output to input pixels (6, B) as Pillow's `rotate` and `transform` use them."""

    def only(operation: int) -> Tensor:
        return torch.where(operations == operation, magnitudes, 0.0)

    angle = only(ROTATE) * (-math.pi / 180)
    cos, sin = angle.cos(), angle.sin()
    x_shift = (1 - cos) * (width / 2) - sin * (height / 2) + only(TRANSLATE_X) * width
    y_shift = sin * (width / 2) + (1 - cos) * (height / 2) + only(TRANSLATE_Y) * height
    return torch.stack((cos, sin + only(SHEAR_X), x_shift, only(SHEAR_Y) - sin, cos, y_shift))


def luminance(pixels: Tensor) -> Tensor:
    """Pillow's "L" (B, 1, H, W) of float grey levels; its 16-bit integer sum is exact in float32."""
    red, green, blue = pixels.split(1, dim=1)
    total = (red * 19595).add_(green, alpha=38470).add_(blue, alpha=7471).add_(0x8000)
    return total.mul_(1 / 0x10000).floor_()


def smooth(images: Tensor, pixels: Tensor) -> Tensor:
    """Pillow's SMOOTH filter of `images` uint8, which are `pixels` as floats: 3x3 mean, the centre counted five times.

    Rounded to whole levels; border pixels stay as they are.
    """
    short = images.to(torch.int16)
    rows = short[:, :, :-2] + short[:, :, 1:-1]
    rows += short[:, :, 2:]
    total = rows[..., :-2] + rows[..., 1:-1]
    total.add_(rows[..., 2:]).add_(short[:, :, 1:-1, 1:-1], alpha=4)
    result = pixels.clone()
    result[:, :, 1:-1, 1:-1] = total.float().div_(13).add_(0.5).floor_()
    return result


def point_tables(operation: Tensor, magnitude: Tensor, mean: Tensor) -> Tensor:
    """New grey level of each old one, float (B, 1, 256), for the operations that need no histogram; others 0.

    All arguments are (B, 1, 1); `mean` is the rounded mean luminance.
    """
    levels = torch.arange(256, device=mean.device, dtype=torch.float32)
    solarized = torch.where(levels < magnitude, levels, 255 - levels)
    step = torch.exp2(8 - magnitude)
    posterized = (levels / step).floor_().mul_(step)
    base = torch.where(operation == CONTRAST, mean, 0.0)
    blended = (levels - base).mul_(magnitude).add_(base).floor_()
    is_blend = (operation == BRIGHTNESS) | (operation == CONTRAST)
    tables = torch.where(is_blend, blended, 0.0)
    tables = torch.where(operation == SOLARIZE, solarized, tables)
    return torch.where(operation == POSTERIZE, posterized, tables)


def level_tables(operations: Tensor, magnitudes: Tensor, images: Tensor, index: Tensor, mean: Tensor) -> Tensor:
    """New grey level of each old one, float (B, 3, 256), from `images` (B, 3, H W) uint8, the same as int64 `index`.

    Every table is floor(numerator / denominator). Autocontrast stretches, equalize takes half a step plus the count of
    darker pixels over a step, the rest divides by 1. Counts are exact in float32 up to 4096 x 4096 pixels. Autocontrast
    can differ from Pillow by one level where Pillow's float64 product falls just below a whole number.
    """
    operation = operations.view(-1, 1, 1)
    lowest, highest = images.amin(2, keepdim=True), images.amax(2, keepdim=True)
    histogram = torch.zeros((*index.shape[:2], 256), device=index.device)
    histogram.scatter_add_(2, index, torch.ones((), device=index.device).expand_as(index))
    step = ((index.shape[2] - histogram.gather(2, highest.long())) / 255).floor_()
    lowest, spread = lowest.float(), (highest - lowest).float()
    stretches = (operation == AUTOCONTRAST) & (spread > 0)
    equalizes = (operation == EQUALIZE) & (step > 0)
    has_table = (operation == SOLARIZE) | (operation == POSTERIZE)
    has_table = has_table | (operation == BRIGHTNESS) | (operation == CONTRAST)
    keeps = ~(stretches | equalizes | has_table)
    denominator = torch.where(stretches, spread, torch.where(equalizes, step, 1.0))
    slope = 255.0 * stretches + keeps
    offset = torch.where(stretches, -255 * lowest, torch.where(equalizes, (step / 2).floor_(), 0.0))
    levels = torch.arange(256, device=index.device, dtype=torch.float32)
    numerator = histogram.cumsum(2).sub_(histogram).mul_(equalizes.float()).add_(levels * slope).add_(offset)
    numerator += point_tables(operation, magnitudes.view(-1, 1, 1), mean)
    return numerator.div_(denominator).floor_().clamp_(0, 255)


def apply_operations(images: Tensor, operations: Tensor, magnitudes: Tensor) -> Tensor:
    """One operation int64 (B,) of `magnitudes` float (B,) on each of `images` uint8 (B, 3, H, W); returns uint8."""
    height, width = images.shape[2:]
    images = warp_nearest(images, warp_matrices(operations, magnitudes, height, width))
    pixels = images.float()
    gray = luminance(pixels)
    mean = (gray.mean((2, 3)) + 0.5).floor_()[:, :, None]
    index = images.flatten(2).long()
    tables = level_tables(operations, magnitudes, images.flatten(2), index, mean)
    mapped = tables.gather(2, index).view_as(pixels)
    operation = operations.view(-1, 1, 1, 1)
    blends_gray, blends_smooth = operation == COLOR, operation == SHARPNESS
    factor = torch.where(blends_gray | blends_smooth, magnitudes.view(-1, 1, 1, 1), 1.0)
    degenerate = smooth(images, pixels).mul_(blends_smooth.float()).add_(gray.mul_(blends_gray.float()))
    # Conversion to uint8 cuts the fraction off, as Pillow's blend does.
    return mapped.sub_(degenerate).mul_(factor).add_(degenerate).to(torch.uint8)
