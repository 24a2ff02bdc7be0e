"""Pixels that only a disk has room for: orders that read it in stretches, and what is read ahead."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from toy_runs import shrink, toy_context, toy_images, toy_profile, train

from scanmix_cli.method import shards as shards_module
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.shards import Shards, host_memory, shards_of
from scanmix_cli.method.stored import StoredPixels
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import OFFICIAL

IMAGE = 3 * 16 * 16
CPU = torch.device("cpu")


@pytest.fixture
def mapped(tmp_path: Path) -> np.ndarray:
    """The 64 toy images in a file."""
    pixels = toy_images().pixels
    assert isinstance(pixels, torch.Tensor)
    np.save(tmp_path / "images.npy", pixels.numpy())
    return np.load(tmp_path / "images.npy", mmap_mode="r")


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch, mapped: np.ndarray) -> Shards:
    """Shards of four images, two of them in a buffer."""
    monkeypatch.setattr(shards_module, "SHARD_BYTES", 4 * IMAGE)
    found = shards_of(mapped, 8 * IMAGE / 0.25)
    assert found is not None
    assert (found.images, found.together) == (4, 2)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_an_order_holds_every_image_once_and_mixes_two_shards_at_a_time(four: Shards, seed: int) -> None:
    places = torch.arange(64)
    order = four.order(places, torch.Generator().manual_seed(seed))
    assert torch.equal(order.sort().values, places)
    groups = [set((part // 4).tolist()) for part in order.split(8)]
    assert [len(group) for group in groups] == [2] * 8
    assert not torch.equal(order, four.order(places, torch.Generator().manual_seed(seed + 100)))
    assert any(part.tolist() != sorted(part.tolist()) for part in order.split(8))


def test_rows_may_be_few_and_come_several_times(four: Shards) -> None:
    rows = torch.tensor([63, 0, 63, 1, 30])
    order = four.order(rows, torch.Generator().manual_seed(0))
    assert sorted(rows[order].tolist()) == [0, 1, 30, 63, 63]


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no such advice")
def test_shards_are_read_ahead_by_a_buffer_and_once(
    four: Shards, mapped: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _, start, length, __: told.append((start, length)))
    order = four.order(torch.arange(64), torch.Generator().manual_seed(0))
    reader = four.reader(order)
    reader.read_to(0)
    start = mapped.offset  # type: ignore[attr-defined]
    asked = [(place - start) // (4 * IMAGE) for place, _ in told]
    assert {length for _, length in told} == {4 * IMAGE}
    assert set(asked) == set((order[:9] // 4).tolist())
    reader.read_to(0)
    assert len(told) == len(asked)
    for position in range(0, 64, 4):
        reader.read_to(position)
    assert sorted((place - start) // (4 * IMAGE) for place, _ in told) == list(range(16))


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system takes no such advice")
def test_an_order_all_over_the_file_is_not_read_ahead(four: Shards, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *_: told.append(1))
    spread = torch.arange(64).view(16, 4).T.flatten()
    four.reader(spread).read_to(64)
    assert not told


def test_pixels_that_fit_are_not_parted(mapped: np.ndarray) -> None:
    assert shards_of(mapped, 2 * mapped.nbytes) is None
    assert shards_of(mapped, 2 * mapped.nbytes - 1) is not None
    assert shards_of(np.array(mapped), 1.0) is None, "in memory already"
    assert 0 < host_memory() < float("inf")


@pytest.mark.parametrize("limit", ["1000000", "max\n"])
def test_a_container_has_less_memory_than_its_machine(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: path.name == "memory.max")
    monkeypatch.setattr(Path, "read_text", lambda path: limit)
    assert (host_memory() == 1e6) == limit.isdigit()


@pytest.mark.parametrize(
    ("method", "profile"),
    [
        ("scanmix", shrink(fast.CPU, size=16)),
        ("scanmix", toy_profile(1)),
        ("scanmix", shrink(OFFICIAL["clothing1m"], size=16)),
        ("elr", toy_profile(1)),
        ("mixup", toy_profile(1)),
    ],
    ids=["beliefs", "published loop", "moco and subsets", "elr", "mixup"],
)
def test_every_stage_trains_in_that_order(
    method: str, profile: Profile, four: Shards, mapped: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[torch.Tensor] = []
    original = Shards.order

    def spy(self: Shards, places: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        order = original(self, places, generator)
        orders.append(places[order])
        return order

    monkeypatch.setattr(Shards, "order", spy)
    pixels = StoredPixels(torch.from_numpy(np.array(mapped)), torch.arange(64), CPU, four)
    result = train(method, profile, replace(toy_images(), pixels=pixels))
    assert np.isfinite(result.evidence.final_probability).all()
    assert orders
    assert all(order.tolist() != sorted(order.tolist()) for order in orders if len(order) > 8)


def test_a_brief_context_takes_the_first_of_the_order(four: Shards, mapped: np.ndarray) -> None:
    context = toy_context()
    context.most = 10
    images = replace(toy_images(), pixels=StoredPixels(torch.from_numpy(np.array(mapped)), torch.arange(64), CPU, four))
    rows = images.shuffled(torch.arange(64), context)
    assert len(rows.unique()) == len(rows) == 10
    assert len((rows[:8] // 4).unique()) == 2
