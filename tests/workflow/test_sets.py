"""From the pixel cache to what the method trains on."""

from pathlib import Path

import numpy as np
import torch

from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.sources import read_samples
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.profiles import fast
from scanmix_cli.workflow.sets import image_set


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
