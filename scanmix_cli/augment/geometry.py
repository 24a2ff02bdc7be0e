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
) -> tuple[Tensor, Tensor]:
    """Boxes as torchvision's `RandomResizedCrop` draws them: corners (top, left) and sides (height, width).

    `uniforms` (BOX_DRAWS, B); both results float (2, B) of whole pixels. All ten attempts of an image are drawn at once
    and the first that fits is taken: the distribution of torchvision's loop without a decision on the host. Where none
    fits the box has torchvision's fall-back sides, at a random place instead of the centre.
    """
    areas, shapes, place = uniforms.split((BOX_ATTEMPTS, BOX_ATTEMPTS, 2))
    low, high = math.log(ratio[0]) / 2, math.log(ratio[1]) / 2
    root = (areas * (height * width * (scale[1] - scale[0]))).add_(height * width * scale[0]).sqrt_()
    stretch = (shapes * (high - low)).add_(low).exp_()
    attempts = torch.stack((root / stretch, root * stretch)).round_().clamp_(min=1)
    image_sides = pair(height, width, uniforms.device)
    # As integers: TorchInductor's index of a boolean maximum is wrong on GPUs (PyTorch 2.11).
    fits, first = (attempts <= image_sides[:, :, None]).all(0).int().max(0)
    sides = attempts.gather(1, first.expand(2, 1, -1))[:, 0]
    fallback = min(height, round(width / ratio[0])), min(width, round(height * ratio[1]))
    sides = torch.where(fits > 0, sides, pair(*fallback, uniforms.device))
    return (image_sides + 1 - sides).mul_(place).floor_(), sides


def pair(first: float, second: float, device: torch.device) -> Tensor:
    """Float (2, 1), filled on the device."""
    values = torch.full((2, 1), float(second), device=device)
    if first != second:
        values[0] = first
    return values


def resize_matrices(corners: Tensor, sides: Tensor, flip: Tensor, size: int, extent: int) -> Tensor:
    """Matrices (2, B, size, extent) that resize rows and columns of a box to `size`, columns reversed where `flip`.

    The triangle filter of Pillow's BILINEAR, widened when shrinking (antialiasing) and never reading outside the box.
    `corners` and `sides` float (2, B), `flip` bool (B,); `extent` is the longer side of the images.
    """
    pixel = torch.arange(0.5, extent, device=corners.device)
    output = torch.arange(0.5, size, device=corners.device)
    ends = corners + sides
    inside = (pixel > corners[:, :, None]) & (pixel < ends[:, :, None])
    step = sides / size
    origin = torch.stack((corners[0], torch.where(flip, ends[1], corners[1])))
    slope = torch.stack((step[0], torch.where(flip, -step[1], step[1])))
    center = torch.addcmul(origin[:, :, None], slope[:, :, None], output)
    distance = (pixel - center[:, :, :, None]).abs_()
    weights = distance.div_(step.clamp(min=1).neg_()[:, :, None, None]).add_(1).clamp_(min=0)
    weights.mul_(inside[:, :, None, :])
    return weights.div_(weights.sum(3, keepdim=True))


def separable_resample(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Apply `rows` (B, h, H) and `columns` (B, w, W) to float `pixels` (B, C, H, W) -> (B, C, h, w)."""
    across = torch.bmm(pixels.flatten(1, 2), columns.transpose(1, 2))
    return rows[:, None] @ across.unflatten(1, pixels.shape[1:3])


def resized_crop_flip(images: Tensor, corners: Tensor, sides: Tensor, flip: Tensor, size: int) -> Tensor:
    """Crop each image to its box, resize to `size`, mirror where `flip` bool (B,).

    `corners` (top, left) and `sides` (height, width) float (2, B). Returns float (B, C, size, size) in grey levels,
    within one level of Pillow, which rounds after each axis.
    """
    height, width = images.shape[2:]
    rows, columns = resize_matrices(corners, sides, flip, size, max(height, width))
    return separable_resample(images.float(), rows[:, :, :height], columns[:, :, :width])


def random_resized_crop_flip(images: Tensor, uniforms: Tensor, size: int, smallest: float) -> Tensor:
    """Box of area `smallest` .. 1 and ratio 3/4 .. 4/3, resized to `size`, mirrored with probability 0.5.

    `uniforms` (BOX_DRAWS + 1, B); returns float (B, C, size, size) in grey levels.
    """
    height, width = images.shape[2:]
    corners, sides = random_boxes(uniforms[:BOX_DRAWS], height, width, (smallest, 1.0), (3 / 4, 4 / 3))
    return resized_crop_flip(images, corners, sides, uniforms[BOX_DRAWS] < 0.5, size)


def warp_coordinates(matrices: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Where the pixels of a warp come from, in Pillow's 16.16 fixed point, as what a column and what a row adds.

    `matrices` float (2, 3, ..., B) map output to input, x = a x' + b y' + c (first) and y likewise. Returns int32
    (2, ..., B, width) and (2, ..., B, height); their sum is x and y plus one, the place in an image with a border.
    """
    a, b, c = matrices.unbind(1)
    # Pillow rounds the coefficients and the centre of the first pixel to fixed point and then only adds.
    fixed = torch.stack((a, b, c + a * 0.5 + b * 0.5 + 1)).mul_(1 << FIXED_POINT).add_(0.5).floor_().int()
    by_column, by_row, origin = fixed[..., None]
    across = torch.arange(width, device=matrices.device, dtype=torch.int32)
    down = torch.arange(height, device=matrices.device, dtype=torch.int32)
    return origin + by_column * across, by_row * down


def warp_nearest(images: Tensor, across: Tensor, down: Tensor) -> Tensor:
    """Nearest-neighbour warp with black fill, as Pillow's `Image.transform(AFFINE, NEAREST)`.

    `across` int32 (2, B, W) and `down` int32 (2, B, H) from `warp_coordinates`.
    """
    height, width = images.shape[2:]
    coordinates = across[:, :, None, :] + down[:, :, :, None]
    coordinates >>= FIXED_POINT
    x, y = coordinates
    # A border of one black pixel takes whatever falls outside.
    index = y.clamp_(0, height + 1).mul_(width + 2).add_(x.clamp_(0, width + 1))
    return gather_pixels(functional.pad(images, [1, 1, 1, 1]), index.long())
