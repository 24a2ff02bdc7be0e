"""Pixels that stay off the device: the same batches, and the same runs, as with pixels on it."""

from dataclasses import replace

import pytest
import torch
from toy_runs import evidence_bytes, shrink, toy_images, toy_profile, train

from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.stored import AHEAD, StoredPixels
from scanmix_cli.profiles.official import OFFICIAL

CPU = torch.device("cpu")


def stored(images: ImageSet) -> ImageSet:
    """The same images, every second one of a source that also holds others."""
    assert isinstance(images.pixels, torch.Tensor)
    source = torch.stack([images.pixels, 255 - images.pixels], dim=1).flatten(0, 1)
    return replace(images, pixels=StoredPixels(source, torch.arange(0, len(source), 2), CPU))


@pytest.mark.parametrize("size", [1, 7, 64, 100])
def test_batches_come_in_order_and_whole(size: int) -> None:
    images = toy_images()
    rows = torch.randperm(64, generator=torch.Generator().manual_seed(1))
    batches = [batch.clone() for batch in stored(images).batches(rows, size)]
    assert len(batches) == -(-64 // size)
    assert torch.equal(torch.cat(batches), images.pixels[rows])


def test_no_more_than_a_few_batches_are_in_memory() -> None:
    batches = stored(toy_images()).batches(torch.arange(64), 4)
    places = {batch.data_ptr() for batch in batches}
    assert len(places) == AHEAD


def test_rows_and_subsets_are_those_of_a_tensor() -> None:
    images, rows = toy_images(), torch.tensor([5, 3, 3, 60])
    away = stored(images)
    assert len(away) == 64
    assert away.pixels.shape == images.pixels.shape
    assert torch.equal(away.pixels[rows], images.pixels[rows])
    part = away.subset(rows)
    assert isinstance(part.pixels, StoredPixels), "a subset of a large set is large"
    assert torch.equal(part.pixels[torch.arange(4)], images.pixels[rows])
    assert torch.equal(part.labels, images.labels[rows])


def test_what_a_reader_cannot_read_reaches_the_training() -> None:
    broken = replace(toy_images(), pixels=StoredPixels(torch.zeros(4, 3, 16, 16).byte(), torch.arange(64), CPU))
    with pytest.raises(IndexError):
        list(broken.batches(torch.arange(64), 8))


@pytest.mark.parametrize(
    ("method", "profile"),
    [
        ("scanmix", toy_profile(1)),
        ("scanmix", shrink(OFFICIAL["clothing1m"], size=16)),
        ("elr", toy_profile(1)),
        ("mixup", toy_profile(1)),
    ],
    ids=["fast", "moco and subsets", "elr", "mixup"],
)
def test_a_run_is_the_same_byte_for_byte(method: str, profile: Profile) -> None:
    images = toy_images()
    near, far = (train(method, profile, each) for each in (images, stored(images)))
    assert evidence_bytes(near) == evidence_bytes(far)
    for one, other in zip(near.nets, far.nets, strict=True):
        assert all(
            torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True)
        )
