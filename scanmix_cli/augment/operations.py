"""The 14 Pillow operations of the strong augmentation, for a batch of uint8 images with one operation per image.

Every image goes through the same kernels: one nearest-neighbour warp (rotate, shear, translate), one table look-up
(solarize, posterize, autocontrast, equalize) and one blend (brightness, contrast, color, sharpness). For an image whose
operation is in another group, a group's parameters are those of the identity.

Quotients of whole numbers get half a unit added before they are rounded down. That changes no result and keeps it the
same on devices and compilers whose division is off by the last bit.
"""

import math

import torch
from torch import Tensor

from scanmix_cli.augment.geometry import warp_coordinates, warp_nearest

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
    """Maps from output to input pixels, float (2, 3, ...) for `operations` (...), those of Pillow's methods."""

    def only(operation: int) -> Tensor:
        return torch.where(operations == operation, magnitudes, 0.0)

    angle = only(ROTATE) * (-math.pi / 180)
    cos, sin = angle.cos(), angle.sin()
    x_shift = (1 - cos) * (width / 2) - sin * (height / 2) + only(TRANSLATE_X) * width
    y_shift = sin * (width / 2) + (1 - cos) * (height / 2) + only(TRANSLATE_Y) * height
    rows = (cos, sin + only(SHEAR_X), x_shift, only(SHEAR_Y) - sin, cos, y_shift)
    return torch.stack(rows).view(2, 3, *operations.shape)


def luminance(pixels: Tensor) -> Tensor:
    """Pillow's "L" (B, 1, H, W) of float grey levels; its 16-bit integer sum is exact in float32."""
    red, green, blue = pixels.split(1, dim=1)
    total = (red * 19595).add_(green, alpha=38470).add_(blue, alpha=7471).add_(0x8000)
    return total.mul_(1 / 0x10000).floor_()


def smooth(images: Tensor) -> Tensor:
    """Pillow's SMOOTH filter of `images` uint8, without the border pixels, which it leaves alone.

    3x3 mean with the centre counted five times, rounded: float (B, 3, H - 2, W - 2).
    """
    short = images.to(torch.int16)
    rows = short[:, :, :-2] + short[:, :, 1:-1]
    rows += short[:, :, 2:]
    total = rows[..., :-2] + rows[..., 1:-1]
    total.add_(rows[..., 2:]).add_(short[:, :, 1:-1, 1:-1], alpha=4)
    return (total * (1 / 13)).add_(0.5).floor_()


def point_tables(operations: Tensor, magnitudes: Tensor) -> Tensor:
    """New grey level of each old one for solarize and posterize, the identity for the rest: float (..., 1, 256)."""
    operations, magnitudes = operations[..., None, None], magnitudes[..., None, None]
    levels = torch.arange(256.0, device=operations.device)
    tables = torch.where((operations == SOLARIZE) & (levels >= magnitudes), 255 - levels, levels)
    step = torch.exp2(8 - magnitudes)
    return torch.where(operations == POSTERIZE, ((levels + 0.5) / step).floor_().mul_(step), tables)


def histogram_tables(pixels: Tensor, index: Tensor, equalizes: Tensor) -> tuple[Tensor, Tensor]:
    """New grey level of each old one, float (B, 3, 256): equalize where `equalizes` (B, 1, 1), else autocontrast.

    `pixels` float (B, 3, H W), `index` the same as int64. Also returns where (B, 3, 1) the table holds; elsewhere the
    channel has too few levels and stays as it is. Counts are exact in float32 up to 4096 x 4096 pixels. Autocontrast
    differs from Pillow by one level where Pillow's float64 product falls just below a whole number.
    """
    # From the floats: the uint8 minimum of TorchInductor is wrong on CPUs (PyTorch 2.14).
    lowest, highest = pixels.amin(2, keepdim=True), pixels.amax(2, keepdim=True)
    histogram = torch.zeros((*index.shape[:2], 256), device=index.device)
    histogram.scatter_add_(2, index, torch.ones((), device=index.device).expand_as(index))
    step = (index.shape[2] + 0.5 - histogram.gather(2, highest.long())).div_(255).floor_()
    darker = histogram.cumsum(2).sub_(histogram).add_((step * 0.5).floor_())
    above = torch.arange(256.0, device=index.device).sub(lowest).mul_(255)
    denominator = torch.where(equalizes, step, highest - lowest)
    tables = torch.where(equalizes, darker, above).add_(0.5).div_(denominator).floor_().clamp_(0, 255)
    return tables, denominator > 0


def enhance_(mapped: Tensor, images: Tensor, pixels: Tensor, operation: Tensor, magnitude: Tensor) -> Tensor:
    """Blend `mapped` in place with black, its mean gray, its gray or its smoothed self; both (B, 1, 1, 1) say how.

    `images` uint8 and `pixels`, the same as floats, are what an image to be enhanced holds in `mapped` too. The result
    still has fractions.
    """
    gray = luminance(pixels)
    mean = gray.mean((2, 3), keepdim=True).add_(0.5).floor_().mul_(operation == CONTRAST)
    gray.mul_(operation == COLOR).add_(mean)
    factor = torch.where((operation >= BRIGHTNESS) & (operation <= COLOR), magnitude, 1.0)
    mapped.sub_(gray).mul_(factor).add_(gray)
    smoothed = smooth(images)
    mapped[:, :, 1:-1, 1:-1].sub_(smoothed).mul_(torch.where(operation == SHARPNESS, magnitude, 1.0)).add_(smoothed)
    return mapped


def apply_operations(images: Tensor, operations: Tensor, magnitudes: Tensor) -> Tensor:
    """Operations int64 (K, B) of `magnitudes` float (K, B), one after the other, on `images` uint8 (B, 3, H, W).

    Returns uint8.
    """
    across, down = warp_coordinates(warp_matrices(operations, magnitudes, *images.shape[2:]), *images.shape[2:])
    points = point_tables(operations, magnitudes)
    equalizes = (operations == EQUALIZE)[:, :, None, None]
    needs_histogram = equalizes | (operations == AUTOCONTRAST)[:, :, None, None]
    for slot, operation in enumerate(operations):
        images = warp_nearest(images, across[:, slot], down[:, slot])
        pixels, index = images.float(), images.flatten(2).long()
        tables, holds = histogram_tables(pixels.flatten(2), index, equalizes[slot])
        tables = torch.where(needs_histogram[slot] & holds, tables, points[slot])
        mapped = tables.gather(2, index).view_as(pixels)
        enhance_(mapped, images, pixels, operation.view(-1, 1, 1, 1), magnitudes[slot].view(-1, 1, 1, 1))
        # Conversion to uint8 cuts the fraction off, as Pillow's blend does.
        images = mapped.to(torch.uint8)
    return images
