"""Large pictures on one GPU: MoCo-v2 and EM steps of ResNet-50 and Inception-ResNet-v2 against the arithmetic limit.

    python benchmarks/large_images.py --out docs/results/large-images.json          (about 4 minutes at the most)
    python benchmarks/large_images.py --pictures clothing --out clothing.json       (on the files of a folder)
    python benchmarks/large_images.py --device cpu --toy --out toy.json             (tries out this script)

Smooth random pictures, or a folder's, enlarged where they are small, stored at 256 pixels; the settings are those
of `fast.LARGE` (ResNet-50 at 224) and of `official` for WebVision (Inception-ResNet-v2 at 227), batches as given there
and others. Each row: milliseconds a step, images trained a second, `mfu` (share of the measured matrix product that the
networks' own operations reach; a backward pass counts as two forward ones) and peak memory. Where a batch does not fit,
the row says so and the next one is tried. Rows stop being added when `--limit` seconds are over.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scanmix_cli.models.registry import build_backbone
from speed import limit, rounded
from stopwatch import CLASSES, Bench, Stopwatch, smooth_pictures
from torch.utils.flop_counter import FlopCounterMode

from scanmix_cli.data.decode import decode_file
from scanmix_cli.files import write_text
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.learner import make_learner
from scanmix_cli.method.moco import train_moco
from scanmix_cli.method.networks import contrastive_net, scanmix_net
from scanmix_cli.method.scanmix import EMLoop
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import WEBVISION

PICTURES, TOY_PICTURES = 2048, 16
NETWORKS = {"resnet50 224": fast.LARGE, "inception-resnet-v2 227": WEBVISION}
MOCO_BATCHES, EM_BATCHES = (128, 256, 512), (32, 64, 128)


class Large:
    """Pictures, sizes and clock of all rows."""

    def __init__(self, device: str, toy: bool, seconds: float, budget: float, folder: Path | None) -> None:
        self.bench = Bench(device, toy, seconds, workers=1, count=TOY_PICTURES)
        self.toy, self.end = toy, time.monotonic() + budget
        count, side = (TOY_PICTURES, 40) if toy else (PICTURES, 256)
        place = self.bench.compute.device
        self.pixels = smooth_pictures(count, place, side) if folder is None else decoded(folder, count, side).to(place)

    def profile(self, name: str) -> Profile:
        """The named settings; a small network at 32 pixels where this is a try-out."""
        profile = NETWORKS[name]
        return replace(profile, backbone="small", image_size=32, stored_size=40) if self.toy else profile

    def images(self, profile: Profile) -> ImageSet:
        labels = torch.arange(len(self.pixels), device=self.pixels.device) % CLASSES
        return ImageSet(self.pixels, labels, CLASSES, profile.image_size, profile.mean, profile.std)

    def forward_flops(self, profile: Profile) -> float:
        """Operations of one picture's way through the backbone."""
        with torch.device("meta"):
            network, size = build_backbone(profile.backbone).eval(), profile.image_size
            with FlopCounterMode(display=False) as counter, torch.no_grad():
                network(torch.zeros(1, 3, size, size))
        return float(counter.get_total_flops())


def decoded(folder: Path, count: int, side: int) -> torch.Tensor:
    """uint8 (count, 3, side, side) of files spread evenly over a folder, at most so many."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))
    if not files:
        raise SystemExit(f"{folder} holds no JPEG or PNG files")
    chosen = files[:: max(len(files) // count, 1)][:count]
    return torch.from_numpy(np.stack([decode_file(str(path), side).pixels for path in chosen]))


def moco_step(large: Large, profile: Profile, batch: int) -> tuple[float, int, int]:
    """Seconds of a step, images trained, forward passes' worth of arithmetic: keys once, queries there and back."""
    context = Stopwatch(large.bench.compute, large.bench.seconds)
    assert profile.contrastive is not None
    images = large.images(profile)
    train_moco(
        contrastive_net(profile.backbone, context), images, replace(profile.contrastive, batch_size=batch), context
    )
    return context.epoch_seconds / max(len(images) // batch, 1), batch, (1 + 3) * batch


def em_step(large: Large, profile: Profile, batch: int) -> tuple[float, int, int]:
    """The semi-supervised step of batch + batch pictures, two views each, with all its guesses."""
    context, steps = Stopwatch(large.bench.compute, 0), max(len(large.pixels) // 2 // batch, 1)
    profile = replace(profile, mixmatch=replace(profile.mixmatch, batch_size=batch, steps=steps))
    nets = [scanmix_net(profile.backbone, CLASSES, context, k) for k in (1, 2)]
    images = large.images(profile)
    rows = torch.arange(len(images), device=images.labels.device)
    loop = EMLoop([make_learner(net, profile, context) for net in nets], images, None, profile, context)
    labelled = rows[: steps * batch]
    posterior = torch.full((len(rows),), 0.5, device=rows.device)
    seconds = large.bench.time(lambda: loop.semi_steps[0].epoch(labelled, rows, posterior, 9.0))
    trained = 4 if profile.mixmatch.mix_unlabelled else 2
    return seconds / steps, trained * batch, (3 * trained + 6) * batch


STAGES = {"moco": (moco_step, MOCO_BATCHES), "em": (em_step, EM_BATCHES)}


def rows(large: Large) -> Iterator[tuple[str, dict]]:
    """Every network and stage, batch by batch, as long as there is time."""
    rate = limit(large.bench)["matmul_flops_per_s"]
    yield "limit", {"matmul_flops_per_s": rate}
    on_gpu = large.bench.compute.device.type == "cuda"
    for name in NETWORKS:
        profile = large.profile(name)
        flops = large.forward_flops(profile)
        for stage, (step, batches) in STAGES.items():
            for batch in (4,) if large.toy else batches:
                if time.monotonic() > large.end:
                    return
                if on_gpu:
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats()
                try:
                    seconds, trained, forwards = step(large, profile, batch)
                except torch.OutOfMemoryError:
                    yield f"{name} {stage} {batch}", {"fits": False}
                    break
                row = {"ms": 1e3 * seconds, "images_per_s": trained / seconds, "mfu": forwards * flops / seconds / rate}
                if on_gpu:
                    row["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
                yield f"{name} {stage} {batch}", row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=3.0, help="of training a measured row")
    parser.add_argument("--limit", type=float, default=220.0, help="seconds after which no row is begun")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to try this script out")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="2,048 at the most (default: random ones)")
    options = parser.parse_args()
    large = Large(options.device, options.toy, options.seconds, options.limit, options.pictures)
    compute, found = large.bench.compute, {}
    device = torch.cuda.get_device_name() if compute.device.type == "cuda" else compute.device.type
    for name, row in rows(large):
        found[name] = rounded(row)
        print(name, json.dumps(found[name]), flush=True)
        record = {"device": device, "precision": compute.precision, "torch": torch.__version__, "rows": found}
        write_text(options.out, json.dumps(record, indent=1) + "\n")  # at once: a call that is cut off keeps its rows


if __name__ == "__main__":
    main()
