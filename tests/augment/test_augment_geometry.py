"""Crops, flips and resizing against Pillow and torchvision on the same parameters."""

import pytest
import torch
from torch import Tensor
from torchvision.transforms import InterpolationMode, RandomResizedCrop
from torchvision.transforms import functional as reference

from scanmix_cli.augment.geometry import (
    BOX_DRAWS,
    center_crop,
    crop_flip,
    random_boxes,
    random_crop_flip,
    resized_crop_flip,
)


@pytest.fixture(scope="module")
def large() -> Tensor:
    return torch.randint(0, 256, (16, 3, 40, 52), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_crop_and_flip_equal_torchvision(large: Tensor) -> None:
    generator = torch.Generator().manual_seed(1)
    top = torch.randint(0, 9, (16,), generator=generator)
    left = torch.randint(0, 21, (16,), generator=generator)
    flip = torch.arange(16) % 2 == 0
    cropped = crop_flip(large, top, left, flip, 32)
    for k in range(16):
        expected = reference.crop(large[k], int(top[k]), int(left[k]), 32, 32)
        assert torch.equal(cropped[k], reference.hflip(expected) if flip[k] else expected)


@pytest.mark.parametrize("size", [40, 39, 33, 16, 1])
def test_center_crop_equals_torchvision(large: Tensor, size: int) -> None:
    assert torch.equal(center_crop(large, size), reference.center_crop(large, [size, size]))


@pytest.mark.parametrize("size", [8, 24, 32, 64])
def test_resized_crop_is_within_one_level_of_pillow(large: Tensor, size: int) -> None:
    """Enlarging and, with antialiasing, shrinking; Pillow rounds after each axis, which moves a level by up to one."""
    boxes = torch.tensor([(0, 0, 40, 52), (3, 5, 20, 30), (10, 2, 7, 9), (39, 51, 1, 1)]).repeat(4, 1)
    flip = torch.arange(16) % 2 == 0
    resized = resized_crop_flip(large, boxes.float().T[:2], boxes.float().T[2:], flip, size)
    for k, box in enumerate(boxes.tolist()):
        picture = reference.to_pil_image(large[k])
        picture = reference.resized_crop(picture, *box, [size, size], InterpolationMode.BILINEAR)
        expected = reference.pil_to_tensor(reference.hflip(picture) if flip[k] else picture)
        assert (resized[k] - expected).abs().max() <= 1.01


def test_whole_box_of_the_same_size_is_the_image(pictures: Tensor) -> None:
    count = len(pictures)
    corners, sides = torch.zeros(2, count), torch.full((2, count), 32.0)
    resized = resized_crop_flip(pictures, corners, sides, torch.zeros(count, dtype=torch.bool), 32)
    assert torch.equal(resized, pictures.float())


def test_boxes_are_distributed_as_torchvision_draws_them() -> None:
    """Mean of each parameter within four standard errors of 4,000 draws on either side."""
    torch.manual_seed(0)
    scale, ratio = (0.2, 1.0), (3 / 4, 4 / 3)
    image = torch.zeros(3, 32, 48)
    drawn = torch.tensor([RandomResizedCrop.get_params(image, list(scale), list(ratio)) for _ in range(4000)]).float()
    uniforms = torch.rand((BOX_DRAWS, 4000), generator=torch.Generator().manual_seed(1))
    ours = torch.cat(random_boxes(uniforms, 32, 48, scale, ratio)).T
    error = (drawn.var(0) / 4000 + ours.var(0) / 4000).sqrt()
    assert ((ours.mean(0) - drawn.mean(0)).abs() < 4 * error).all()
    assert ((ours.std(0) / drawn.std(0) - 1).abs() < 0.1).all()
    top, left, height, width = ours.T
    assert top.min() >= 0
    assert left.min() >= 0
    assert (top + height).max() <= 32
    assert (left + width).max() <= 48
    assert torch.equal(ours, ours.round())


@pytest.mark.parametrize(("height", "width"), [(8, 64), (64, 8), (1, 1)])
def test_boxes_fall_back_as_torchvision_does(height: int, width: int) -> None:
    """Where no attempt fits the image, the box of the nearest ratio (1 x 1: every attempt is the image), inside it."""
    scale, ratio = (1.0, 1.0), (3 / 4, 4 / 3)
    expected = RandomResizedCrop.get_params(torch.zeros(3, height, width), list(scale), list(ratio))
    uniforms = torch.rand((BOX_DRAWS, 5), generator=torch.Generator().manual_seed(0))
    corners, sides = random_boxes(uniforms, height, width, scale, ratio)
    assert sides.T.tolist() == [list(expected[2:])] * 5
    assert corners.min() >= 0
    assert (corners + sides).amax(1).tolist() <= [height, width]


def test_random_crop_reaches_every_place_and_flips_half() -> None:
    """The picture's value is its own position, so the first row of a crop tells offset and flip."""
    position = torch.arange(12 * 12, dtype=torch.uint8).view(1, 1, 12, 12).expand(4000, 3, 12, 12)
    uniforms = torch.rand((3, 4000), generator=torch.Generator().manual_seed(0))
    cropped = random_crop_flip(position, uniforms, 8).int()
    flipped = cropped[:, 0, 0, 0] > cropped[:, 0, 0, 1]
    assert flipped.float().mean() == pytest.approx(0.5, abs=0.03)
    corner = torch.minimum(cropped[:, 0, 0, 0], cropped[:, 0, 0, -1])
    counts = torch.bincount(corner)
    places = sorted(12 * row + column for row in range(5) for column in range(5))
    assert counts.nonzero().flatten().tolist() == places
    assert counts[places].min() > 100
