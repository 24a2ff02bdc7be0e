"""How many images a second one processor core decodes: scanmix's reader, plain Pillow and torchvision, in one run.

    python benchmarks/decode.py                          # three kinds of photographs made on the spot, about a minute
    python benchmarks/decode.py --folder photos          # your own files

prints one Markdown table: images per second of processor time, so that other work on the machine does not count. Each
way ends with the same thing, a uint8 array (3, size, size) of the centre square, resized with the bicubic filter. The
files are in the page cache. The ways take turns over several rounds; the fastest round counts.

    scanmix            all checks, EXIF, any mode, large JPEG reduced while decoding
    scanmix, parallel  the same in as many threads as there are cores, as `check` and `train` do it, with copies' prints
    Pillow             open, convert to RGB, resize the short side, crop
    Pillow with draft  the same with the JPEG decoder's own reduction, as fast as plain Pillow gets
    torchvision        torchvision.io.read_file, decode_image, resize with antialiasing, crop
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision.io import ImageReadMode, decode_image, read_file
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2.functional import center_crop, resize

from scanmix_cli.data.decode import decode_file
from scanmix_cli.data.listing import list_images
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.samples import Samples

ROUNDS = 5
SECONDS = 0.6  # of each way and round, about
Way = Callable[[list[str], int], object]


def scanmix(paths: list[str], size: int) -> None:
    for path in paths:
        decode_file(path, size)


def scanmix_parallel(paths: list[str], size: int) -> None:
    import pandas as pd

    table = pd.DataFrame({"filename": paths, "path": paths, "split": "train", "given_label": ""}, dtype=object)
    load_pixels(Samples("", Path(), table, ()), size, workers=os.cpu_count() or 1, cache_dir=None)


def pillow(paths: list[str], size: int, draft: bool = False) -> None:
    for path in paths:
        with Image.open(path) as image:
            if draft:
                share = 2 * size / min(image.size)
                image.draft("RGB", (round(image.width * share), round(image.height * share)))
            rgb = image.convert("RGB")
        side = min(rgb.size)
        left, top = (rgb.width - side) / 2, (rgb.height - side) / 2
        box = (left, top, left + side, top + side)
        np.ascontiguousarray(np.asarray(rgb.resize((size, size), Image.Resampling.BICUBIC, box)).transpose(2, 0, 1))


def pillow_with_draft(paths: list[str], size: int) -> None:
    pillow(paths, size, draft=True)


def torchvision(paths: list[str], size: int) -> None:
    for path in paths:
        image = decode_image(read_file(path), ImageReadMode.RGB)
        center_crop(resize(image, [size], InterpolationMode.BICUBIC, antialias=True), [size, size])


WAYS: dict[str, Way] = {
    "scanmix": scanmix,
    "scanmix, parallel": scanmix_parallel,
    "Pillow": pillow,
    "Pillow with draft": pillow_with_draft,
    "torchvision": torchvision,
}


def write_photographs(folder: Path, width: int, height: int, count: int) -> list[str]:
    """JPEG files with the detail of photographs: smooth shapes and grain."""
    rng = np.random.default_rng(0)
    paths = []
    for k in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8)).resize((width, height))
        grain = rng.normal(0, 6, (height, width, 1))
        path = folder / f"{k}.jpg"
        Image.fromarray(np.clip(np.asarray(coarse) + grain, 0, 255).astype(np.uint8)).save(path, quality=90)
        paths.append(str(path))
    return paths


def rates(paths: list[str], size: int) -> dict[str, float]:
    """Images per second of processor time of each way."""
    best = dict.fromkeys(WAYS, 0.0)
    for _ in range(ROUNDS):
        for name, way in WAYS.items():
            done, began = 0, time.process_time()
            while (spent := time.process_time() - began) < SECONDS:
                way(paths, size)
                done += len(paths)
            best[name] = max(best[name], done / spent)
    return best


def cases(folder: Path | None, work: Path) -> Iterator[tuple[str, list[str], int]]:
    """Name, files and size to decode to."""
    if folder is not None:
        files = [str(folder / name) for name in list_images(folder)[0]]
        yield f"{folder.name}, {len(files)} files to 64 pixels", files, 64
        yield f"{folder.name}, {len(files)} files to 224 pixels", files, 224
        return
    for width, height, count, size in ((500, 375, 40, 64), (500, 375, 40, 224), (4000, 3000, 4, 224)):
        place = work / f"{width}-{size}"
        place.mkdir()
        paths = write_photographs(place, width, height, count)
        yield f"JPEG of {width} x {height} pixels to {size}", paths, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{datetime.now(timezone.utc):%Y-%m-%d}, {os.cpu_count()} processor cores, images per second of one core\n")
    print(f"| files | {' | '.join(WAYS)} |\n|{' --- |' * (len(WAYS) + 1)}", flush=True)
    with tempfile.TemporaryDirectory() as work:
        for name, paths, size in cases(options.folder, Path(work)):
            found = rates(paths, size)
            print(f"| {name} | {' | '.join(f'{found[way]:.0f}' for way in WAYS)} |", flush=True)


if __name__ == "__main__":
    main()
