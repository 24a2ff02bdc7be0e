"""Images a second of `scanmix predict` beside plain torchvision inference with the same networks, in one run.

    python benchmarks/predict.py [--images 2000] [--backbone resnet50] [--device auto]

makes JPEG files of photograph size, then lets both classify the same folder in turn, three times, and prints one
Markdown table with each one's best time. Plain inference is what one writes by hand: ImageFolder, a DataLoader with a
process per core, the usual transforms, a loop. Both read, decode, resize and classify every file; nothing is cached.
"""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.registry import build_backbone
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

from scanmix_cli.engine.device import choose_compute, seeded
from scanmix_cli.workflow.classifier import Classifier, save_classifier
from scanmix_cli.workflow.predict import predict
from scanmix_cli.workflow.train import device_name

CLASSES = tuple(f"class {k}" for k in range(10))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIZES = {"small": 32, "resnet18-cifar": 32, "preact-resnet18-cifar": 32}  # others: 224
PHOTO = (500, 375)  # pixels, as ImageNet's are in the mean
REPEATS = 3


def write_photos(folder: Path, count: int) -> None:
    """Smooth noise, which compresses about as photographs do."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)).resize(
            PHOTO, Image.Resampling.BICUBIC
        )
        grain = rng.normal(0, 6, (PHOTO[1], PHOTO[0], 3))
        pixels = np.clip(np.asarray(coarse) + grain, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:06d}.jpg", quality=90)


def make_classifier(backbone: str) -> Classifier:
    """Two untrained networks: how right they are makes no difference to the time."""
    size = SIZES.get(backbone, 224)
    with seeded(0):
        nets = [ScanMixNet(build_backbone(backbone), len(CLASSES)).eval() for _ in range(2)]
    return Classifier(nets, backbone, CLASSES, size, size, MEAN, STD)


def plain_inference(folder: Path, classifier: Classifier, device: torch.device) -> list[int]:
    """Predicted classes, by hand, in float32 on a CPU and in bf16 on a GPU, as scanmix does."""
    size = classifier.image_size
    usual = [
        transforms.Resize(size),
        transforms.CenterCrop(size),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
    images = ImageFolder(folder, transforms.Compose(usual))
    loader = DataLoader(images, batch_size=256, num_workers=os.cpu_count() or 1, pin_memory=device.type == "cuda")
    nets = [net.to(device) for net in classifier.nets]
    found: list[int] = []
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
    with torch.inference_mode(), autocast:
        for batch, _ in loader:
            on_device = batch.to(device, non_blocking=True)
            logits = torch.stack([net(on_device) for net in nets]).sum(0)
            found += logits.argmax(1).tolist()
    return found


def best_times(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Seconds of each at its best, in turn, after one round that is not counted."""
    times: list[list[float]] = [[], []]
    for repeat in range(REPEATS + 1):
        for work, spent in zip((first, second), times, strict=True):
            began = time.perf_counter()
            work()
            if repeat:
                spent.append(time.perf_counter() - began)
    return min(times[0]), min(times[1])


def main() -> None:
    parser = argparse.ArgumentParser(description="Prediction rate beside plain torchvision inference.")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--backbone", default="resnet50")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    device = choose_compute(options.device).device
    with tempfile.TemporaryDirectory() as temporary:
        photos, run = Path(temporary) / "photos", Path(temporary) / "run"
        write_photos(photos / "all", options.images)
        classifier = make_classifier(options.backbone)
        save_classifier(run / "model", classifier)
        ours, plain = best_times(
            lambda: predict(run, [photos], device=options.device), lambda: plain_inference(photos, classifier, device)
        )
    rate, other = options.images / ours, options.images / plain
    print("| network, pixels | device | scanmix predict, images/s | plain torchvision, images/s | ratio |")
    print("| --- | --- | --- | --- | --- |")
    where = f"{device_name(device)}, {os.cpu_count()} cores"
    print(
        f"| 2 x {options.backbone}, {classifier.image_size} | {where} | {rate:.0f} | {other:.0f} | {rate / other:.2f} |"
    )
    versions = f"torch {torch.__version__}, Python {platform.python_version()}"
    print(f"\n{options.images} JPEG files of {PHOTO[0]}x{PHOTO[1]}, best of {REPEATS}, {versions}, {date.today()}")


if __name__ == "__main__":
    main()
