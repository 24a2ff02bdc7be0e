"""Crops, flips, resized crops and nearest-neighbour warps of a whole batch, with one set of parameters per image."""

import math

import torch
from torch import Tensor
from torch.nn import functional

BOX_ATTEMPTS = 10
BOX_DRAWS = 2 * BOX_ATTEMPTS + 2
FIXED_POINT = 16


def gather_pixels(images: Tensor, index: Tensor) -> Tensor:
    """Pixels of `images` (B, C, H, W) at the flat positions `index` int64 (B, h, w) -> (B, C, h, w)."""
    batch, channels = images.shape[:2]
    flat = index.flatten(1).unsqueeze(1).expand(batch, channels, -1)
    return images.flatten(2).gather(2, flat).view(batch, channels, *index.shape[1:])


def crop_flip(images: Tensor, top: Tensor, left: Tensor, flip: Tensor, size: int) -> Tensor:
    """Cut a square of `size` at `top`, `left` int64 (B,), then mirror it left to right where `flip` bool (B,)."""
    offsets = torch.arange(size, device=images.device)
    rows = top[:, None] + offsets
    columns = left[:, None] + torch.where(flip[:, None], size - 1 - offsets, offsets)
    return gather_pixels(images, rows[:, :, None] * images.shape[3] + columns[:, None, :])


def uniform_integers(uniforms: Tensor, count: int | Tensor) -> Tensor:
    """Uniform draws of [0, 1) to int64 in 0 .. count - 1."""
    return (uniforms * count).long()


def random_crop_flip(images: Tensor, uniforms: Tensor, size: int) -> Tensor:
    """Random square of `size`, mirrored with probability 0.5; `uniforms` (3, B): top, left, flip."""
    height, width = images.shape[2:]
    top = uniform_integers(uniforms[0], height - size + 1)
    left = uniform_integers(uniforms[1], width - size + 1)
    return crop_flip(images, top, left, uniforms[2] < 0.5, size)


def center_crop(images: Tensor, size: int) -> Tensor:
    """Central square of `size`, placed as torchvision's `center_crop` places it."""
    height, width = images.shape[2:]
    top, left = round((height - size) / 2), round((width - size) / 2)
    return images[:, :, top : top + size, left : left + size]


def random_boxes(
    uniforms: Tensor, height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Boxes of torchvision's `RandomResizedCrop.get_params`: top, left, height, width, each float (B,) of whole pixels.

    `uniforms` (BOX_DRAWS, B). All ten attempts of an image are drawn at once and the first that fits is taken: the
    distribution of torchvision's loop without a decision on the host.
    """
    areas, shapes, place = uniforms.split((BOX_ATTEMPTS, BOX_ATTEMPTS, 2))
    area = height * width * (scale[0] + areas * (scale[1] - scale[0]))
    aspect = torch.exp(math.log(ratio[0]) + shapes * math.log(ratio[1] / ratio[0]))
    box_width, box_height = (area * aspect).sqrt().round(), (area / aspect).sqrt().round()
    fits = (box_width > 0) & (box_width <= width) & (box_height > 0) & (box_height <= height)
    first = fits.int().argmax(0, keepdim=True)
    fallback_width = min(width, round(height * ratio[1]))
    fallback_height = min(height, round(width / ratio[0]))
    found = fits.any(0)
    box_width = torch.where(found, box_width.gather(0, first)[0], fallback_width)
    box_height = torch.where(found, box_height.gather(0, first)[0], fallback_height)
    top = torch.where(found, (place[0] * (height - box_height + 1)).floor(), (height - fallback_height) // 2)
    left = torch.where(found, (place[1] * (width - box_width + 1)).floor(), (width - fallback_width) // 2)
    return top, left, box_height, box_width


def resample_weights(start: Tensor, length: Tensor, size: int, extent: int, flip: Tensor | None = None) -> Tensor:
    """Matrices (B, size, extent) that resize the pixels [start, start + length) of an axis to `size` pixels.

    The triangle filter of Pillow's BILINEAR, widened when shrinking (antialiasing) and never reading outside the box.
    `flip` bool (B,) reverses the output axis.
    """
    output = torch.arange(size, device=start.device) + 0.5
    position = output.expand(len(start), size) if flip is None else torch.where(flip[:, None], size - output, output)
    step = (length / size)[:, None]
    center = start[:, None] + position * step
    pixel = torch.arange(extent, device=start.device) + 0.5
    inside = (pixel > start[:, None]) & (pixel < (start + length)[:, None])
    distance = (pixel - center[:, :, None]).abs_()
    weights = distance.mul_(-1 / step.clamp(min=1)[:, :, None]).add_(1).clamp_(min=0).mul_(inside[:, None, :])
    return weights.div_(weights.sum(2, keepdim=True))


def separable_resample(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Apply `rows` (B, h, H) and `columns` (B, w, W) to float `pixels` (B, C, H, W) -> (B, C, h, w)."""
    across = torch.bmm(pixels.flatten(1, 2), columns.transpose(1, 2))
    return rows[:, None] @ across.unflatten(1, pixels.shape[1:3])


def resized_crop_flip(images: Tensor, box: tuple[Tensor, Tensor, Tensor, Tensor], flip: Tensor, size: int) -> Tensor:
    """Crop each image to its `box` (top, left, height, width), resize to `size`, mirror where `flip` bool (B,).

    Returns float (B, C, size, size) in grey levels, within one level of Pillow, which rounds after each axis.
    """
    top, left, box_height, box_width = box
    rows = resample_weights(top, box_height, size, images.shape[2])
    columns = resample_weights(left, box_width, size, images.shape[3], flip)
    return separable_resample(images.float(), rows, columns)


def random_resized_crop_flip(images: Tensor, uniforms: Tensor, size: int, smallest: float) -> Tensor:
    """Box of area `smallest` .. 1 and ratio 3/4 .. 4/3, resized to `size`, mirrored with probability 0.5.

    `uniforms` (BOX_DRAWS + 1, B); returns float (B, C, size, size) in grey levels.
    """
    height, width = images.shape[2:]
    box = random_boxes(uniforms[:BOX_DRAWS], height, width, (smallest, 1.0), (3 / 4, 4 / 3))
    return resized_crop_flip(images, box, uniforms[BOX_DRAWS] < 0.5, size)


def warp_nearest(images: Tensor, matrices: Tensor) -> Tensor:
    """Nearest-neighbour affine warp with black fill, as Pillow's `Image.transform(AFFINE, NEAREST)`.

    `matrices` float (6, B): a, b, c, d, e, f map output to input, x = a x' + b y' + c and y = d x' + e y' + f. Like
    Pillow this counts in 16.16 fixed point from the centre of the first pixel.
    """
    height, width = images.shape[2:]
    a, b, c, d, e, f = matrices
    origin = torch.stack((c + a * 0.5 + b * 0.5, f + d * 0.5 + e * 0.5))
    fixed = (torch.cat((matrices, origin)) * (1 << FIXED_POINT) + 0.5).floor().int()
    a, b, _, d, e, _, x0, y0 = fixed[:, :, None]
    across = torch.arange(width, device=images.device, dtype=torch.int32)
    down = torch.arange(height, device=images.device, dtype=torch.int32)
    # A border of one black pixel takes whatever falls outside.
    x = (x0 + a * across)[:, None, :] + (b * down)[:, :, None]
    y = (y0 + d * across)[:, None, :] + (e * down)[:, :, None]
    x >>= FIXED_POINT
    y >>= FIXED_POINT
    index = y.clamp_(-1, height).mul_(width + 2).add_(x.clamp_(-1, width)).add_(width + 3)
    return gather_pixels(functional.pad(images, [1, 1, 1, 1]), index.long())
