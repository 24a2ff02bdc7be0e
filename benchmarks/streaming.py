"""Pixels on the device beside pixels that stay in memory or in a file and are streamed, batch by batch.

    python benchmarks/streaming.py --out docs/results/streaming.json                              (about 3 minutes)
    python benchmarks/streaming.py --device cpu --toy --out toy.json                  (tries out this script)

Epochs of SimCLR (ResNet-18 at 32 pixels, 50,000 pictures, the published batch and a large one) and of MoCo-v2
(ResNet-50 at 224, 4,096 pictures of 256 pixels) on the same random smooth pictures, each after a first epoch that
records and compiles. A file is mapped into memory, and its pages are in memory after the first epoch: what is timed is
the way to the device, not the disk. Prints one Markdown table of images/s and their share of those on the device.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import torch
from speed import rounded
from stopwatch import CLASSES, Bench, Stopwatch, smooth_pictures

from scanmix_cli.files import write_text
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.moco import train_moco
from scanmix_cli.method.networks import contrastive_net
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.simclr import train_simclr
from scanmix_cli.method.stored import StoredPixels
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import CIFAR10

PLACES = ("device", "memory", "file")
LARGE_PICTURES = 4096
Train = Callable[..., object]


def cases(toy: bool) -> dict[str, tuple[Train, Profile, int, int]]:
    """Name: what trains, settings, pictures and their stored side."""
    if toy:
        small = replace(CIFAR10, backbone="small")
        return {"SimCLR 32, 16": (train_simclr, with_batch(small, 16), 64, 32)}
    return {
        "SimCLR 32, 512": (train_simclr, with_batch(CIFAR10, 512), 50_000, 32),
        "SimCLR 32, 2048": (train_simclr, with_batch(CIFAR10, 2048), 50_000, 32),
        "MoCo-v2 224, 256": (train_moco, fast.LARGE, LARGE_PICTURES, 256),
    }


def with_batch(profile: Profile, batch: int) -> Profile:
    assert profile.contrastive is not None
    return replace(profile, contrastive=replace(profile.contrastive, batch_size=batch))


def placed(pixels: torch.Tensor, place: str, device: torch.device, folder: Path) -> torch.Tensor | StoredPixels:
    """uint8 (N, 3, S, S) on the host, put where the name of the place says."""
    if place == "device":
        return pixels.to(device)
    if place == "file":
        path = folder / "pixels.npy"
        np.save(path, pixels.numpy())
        pixels = torch.from_numpy(np.load(path, mmap_mode="c"))
    return StoredPixels(pixels, torch.arange(len(pixels)), device)


def images_per_s(train: Train, profile: Profile, pixels: torch.Tensor | StoredPixels, bench: Bench) -> float:
    """Pictures trained on a second, median epoch."""
    assert profile.contrastive is not None
    labels = torch.arange(len(pixels), device=bench.compute.device) % CLASSES
    images = ImageSet(pixels, labels, CLASSES, profile.image_size, profile.mean, profile.std)
    context = Stopwatch(bench.compute, bench.seconds)
    train(contrastive_net(profile.backbone, context), images, profile.contrastive, context)
    batch = profile.contrastive.batch_size
    return len(images) // batch * batch / context.epoch_seconds


def table(found: dict[str, dict[str, float]]) -> str:
    """Cases in rows, places in columns; shares of the device's rate in parentheses."""
    lines = ["| pictures/s, pixels in | " + " | ".join(PLACES) + " |", "| --- |" + " --- |" * len(PLACES)]
    for name, rates in found.items():
        cells = [f"{rates[p]:,.0f}" + (f" ({rates[p] / rates['device']:.2f})" if p != "device" else "") for p in PLACES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=4.0, help="of epochs a measured cell")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to try this script out")
    options = parser.parse_args()
    bench = Bench(options.device, True, options.seconds, workers=1)
    device = bench.compute.device
    found: dict[str, dict[str, float]] = {}
    for name, (train, profile, count, side) in cases(options.toy).items():
        pixels = smooth_pictures(count, device, side).cpu()
        with tempfile.TemporaryDirectory() as folder:
            found[name] = {
                place: images_per_s(train, profile, placed(pixels, place, device, Path(folder)), bench)
                for place in PLACES
            }
        record = {
            "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
            "torch": torch.__version__,
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            "command": "python " + " ".join(sys.argv),
            "images_per_s": rounded(found),
        }
        write_text(options.out, json.dumps(record, indent=1) + "\n")  # at once: a call that is cut off keeps its rows
    print(table(found))


if __name__ == "__main__":
    main()
