"""Each of the 14 operations against Pillow on the same parameters."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from scanmix_cli.augment import operations as ops
from scanmix_cli.augment.operations import apply_operations, random_magnitudes
from scanmix_cli.augment.strong import STRONG_DRAWS, random_operations

AFFINE = Image.Transform.AFFINE


def shift(image: Image.Image, right: float, down: float) -> Image.Image:
    return image.transform(image.size, AFFINE, (1, 0, right * image.width, 0, 1, down * image.height))


PILLOW: dict[int, Callable[[Image.Image, float], Image.Image]] = {
    ops.IDENTITY: lambda image, value: image,
    ops.ROTATE: lambda image, value: image.rotate(value),
    ops.SHEAR_X: lambda image, value: image.transform(image.size, AFFINE, (1, value, 0, 0, 1, 0)),
    ops.SHEAR_Y: lambda image, value: image.transform(image.size, AFFINE, (1, 0, 0, value, 1, 0)),
    ops.TRANSLATE_X: lambda image, value: shift(image, value, 0),
    ops.TRANSLATE_Y: lambda image, value: shift(image, 0, value),
    ops.SOLARIZE: ImageOps.solarize,
    ops.POSTERIZE: lambda image, value: ImageOps.posterize(image, int(value)),
    ops.AUTOCONTRAST: lambda image, value: ImageOps.autocontrast(image),
    ops.EQUALIZE: lambda image, value: ImageOps.equalize(image),
    ops.BRIGHTNESS: lambda image, value: ImageEnhance.Brightness(image).enhance(value),
    ops.CONTRAST: lambda image, value: ImageEnhance.Contrast(image).enhance(value),
    ops.COLOR: lambda image, value: ImageEnhance.Color(image).enhance(value),
    ops.SHARPNESS: lambda image, value: ImageEnhance.Sharpness(image).enhance(value),
}
WARPS = range(ops.ROTATE, ops.TRANSLATE_Y + 1)
NAMES = ["identity", "rotate", "shear-x", "shear-y", "translate-x", "translate-y", "solarize", "posterize"]
NAMES += ["autocontrast", "equalize", "brightness", "contrast", "color", "sharpness"]


def with_pillow(operation: int, images: Tensor, magnitudes: Tensor) -> Tensor:
    results = []
    for image, magnitude in zip(images, magnitudes.tolist(), strict=True):
        picture = Image.fromarray(image.permute(1, 2, 0).numpy())
        results.append(np.array(PILLOW[operation](picture, magnitude)))
    return torch.from_numpy(np.stack(results)).permute(0, 3, 1, 2)


def draw(operation: int, count: int, seed: int) -> tuple[Tensor, Tensor]:
    uniforms = torch.rand(count, generator=torch.Generator().manual_seed(seed))
    operations = torch.full((count,), operation)
    return operations, random_magnitudes(operations, uniforms)


@pytest.mark.parametrize("operation", PILLOW, ids=NAMES)
@pytest.mark.parametrize("shape", [(32, 32), (27, 31)], ids=["square", "odd"])
def test_equals_pillow(operation: int, shape: tuple[int, int], pictures: Tensor) -> None:
    """Exact, except one level of autocontrast's rounding and a pixel in 500 where a warp falls between two pixels."""
    images = pictures[:, :, : shape[0], : shape[1]].repeat(6, 1, 1, 1)
    operations, magnitudes = draw(operation, len(images), seed=1)
    difference = apply_operations(images, operations[None], magnitudes[None]).int() - with_pillow(
        operation, images, magnitudes
    )
    if operation in WARPS:
        assert (difference != 0).float().mean() < 1 / 500
    else:
        assert difference.abs().max() <= (1 if operation == ops.AUTOCONTRAST else 0)


def test_images_of_one_batch_do_not_touch_each_other(pictures: Tensor) -> None:
    images = pictures[:1].expand(14, 3, 32, 32)
    operations = torch.arange(14)
    magnitudes = random_magnitudes(operations, torch.full((14,), 0.3))
    together = apply_operations(images, operations[None], magnitudes[None])
    alone = [apply_operations(images[:1], operations[k].view(1, 1), magnitudes[k].view(1, 1)) for k in range(14)]
    assert torch.equal(together, torch.cat(alone))


def test_every_operation_but_identity_changes_noise(pictures: Tensor) -> None:
    """On a noise image with the extremes cut off: autocontrast has nothing to stretch in a full range."""
    images = (pictures[:1] // 2 + 40).expand(14, 3, 32, 32)
    operations = torch.arange(14)
    magnitudes = random_magnitudes(operations, torch.full((14,), 0.3))
    changed = (apply_operations(images, operations[None], magnitudes[None]) != images).flatten(1).any(1)
    assert changed.tolist() == [False] + [True] * 13


@pytest.mark.parametrize(
    ("operation", "low", "high"),
    [
        (ops.ROTATE, -30, 30),
        (ops.SHEAR_X, -0.1, 0.1),
        (ops.TRANSLATE_Y, -0.1, 0.1),
        (ops.SOLARIZE, 0, 256),
        (ops.POSTERIZE, 4, 7),
        (ops.BRIGHTNESS, 0.05, 0.95),
        (ops.SHARPNESS, 0.05, 0.95),
    ],
)
def test_magnitudes_fill_their_range(operation: int, low: float, high: float) -> None:
    magnitudes = draw(operation, 4000, seed=2)[1]
    assert low - 1e-6 <= magnitudes.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < magnitudes.max() <= high + 1e-6
    assert magnitudes.mean() == pytest.approx((low + high) / 2, abs=0.03 * (high - low))


def test_four_operations_apply_in_turn(pictures: Tensor) -> None:
    count = len(pictures)
    uniforms = torch.rand((STRONG_DRAWS, count), generator=torch.Generator().manual_seed(3))
    expected = pictures
    for slot in range(4):
        operations = (14 * uniforms[slot : slot + 1]).long()
        magnitudes = random_magnitudes(operations, uniforms[4 + slot : 5 + slot])
        expected = apply_operations(expected, operations, magnitudes)
    assert torch.equal(random_operations(pictures, uniforms), expected)
