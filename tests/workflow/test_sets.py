"""From the pixel cache to what the method trains on."""

from pathlib import Path

import numpy as np
import pytest
import torch

from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.sources import read_samples
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.method.stored import StoredPixels
from scanmix_cli.profiles import fast
from scanmix_cli.workflow import sets
from scanmix_cli.workflow.facts import DataFacts, facts_of
from scanmix_cli.workflow.sets import image_set


def test_some_rows_stay_there_too_where_the_device_has_no_room(squares: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = read_samples(squares / "train")
    pixels = load_pixels(samples, 16, workers=1, cache_dir=squares.parent / "pixels")
    context, ids, some = Context(choose_compute("cpu"), 0), samples.label_ids(), pixels.rows[1::2]
    bytes_of_some = len(some) * 3 * 16 * 16
    for room, kind in ((bytes_of_some, torch.Tensor), (bytes_of_some - 1, StoredPixels)):
        monkeypatch.setattr(sets, "HOST_ROOM", room)
        found = image_set(pixels, some, ids, samples, fast.CPU, context)
        assert isinstance(found.pixels, kind)
        assert np.array_equal(found.pixels[torch.arange(len(some))].numpy(), pixels.images[1::2])
        assert torch.equal(found.labels, torch.from_numpy(ids[some]))


def test_the_plan_knows_how_many_images_are_held_out(squares: Path) -> None:
    samples = read_samples(squares)
    pixels = load_pixels(samples, 16, workers=1, cache_dir=squares.parent / "pixels")
    assert facts_of(samples, pixels) == DataFacts(30, 3, 16, held_out=12)


def test_all_rows_stay_in_the_cache_file_on_a_cpu(squares: Path) -> None:
    samples = read_samples(squares / "train")
    pixels = load_pixels(samples, 16, workers=1, cache_dir=squares.parent / "pixels")
    context, ids = Context(choose_compute("cpu"), 0), samples.label_ids()
    images = image_set(pixels, pixels.rows, ids, samples, fast.CPU, context)
    assert images.pixels.data_ptr() == pixels.images.ctypes.data
    assert torch.equal(images.labels, torch.from_numpy(ids))
    some = pixels.rows[1::2]
    part = image_set(pixels, some, ids, samples, fast.CPU, context)
    assert np.array_equal(part.pixels.numpy(), pixels.images[1::2])


def test_a_file_larger_than_half_of_the_memory_is_read_in_shards(
    squares: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = read_samples(squares / "train")
    pixels = load_pixels(samples, 16, workers=1, cache_dir=squares.parent / "pixels")
    context, ids = Context(choose_compute("cpu"), 0), samples.label_ids()
    monkeypatch.setattr(sets, "HOST_ROOM", 0)
    monkeypatch.setattr(sets, "host_memory", lambda: 2.0 * pixels.images.nbytes - 1)
    images = image_set(pixels, pixels.rows, ids, samples, fast.CPU, context)
    assert isinstance(images.pixels, StoredPixels)
    assert images.pixels.shards is not None
    order = images.shuffled(torch.arange(len(images)), context)
    assert torch.equal(order.sort().values, torch.arange(len(images)))
    found = torch.cat([batch.clone() for batch in images.batches(order, 7)])
    assert np.array_equal(found.numpy(), pixels.images[order.numpy()])
