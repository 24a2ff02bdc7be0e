"""Images a second of the views, beside kornia's and torchvision's own transforms of the same kind.

    pip install kornia
    python benchmarks/augmentation.py
    python benchmarks/augmentation.py --batches 16 --seconds 0.1 --device cpu       (tries out this script)

Every way starts from a batch of uint8 pixels on the device and ends with normalised floats there. torchvision's
transforms draw one set of parameters a call: "image by image" is what random views per image cost with it, "one draw
for the batch" is as fast as it gets, but gives all images of a batch the same view. Prints one Markdown table.
"""

import argparse
import time
from collections.abc import Callable
from datetime import datetime, timezone

import torch
from torch import Tensor, nn
from torchvision.transforms import v2

from scanmix_cli.augment.pipelines import build_view
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.profiles.official import IMAGENET_MEAN, IMAGENET_STD

SIDE = 32
JITTER = (0.4, 0.4, 0.4, 0.1)
MAKE = Callable[[torch.device, torch.Generator], Callable[[Tensor], Tensor]]


def ours(name: str, compiled: bool) -> MAKE:
    """A view of this package, as the training steps call it."""

    def make(device: torch.device, generator: torch.Generator) -> Callable[[Tensor], Tensor]:
        view = build_view(name, SIDE, IMAGENET_MEAN, IMAGENET_STD)
        apply = torch.compile(view.apply, dynamic=False) if compiled else view.apply

        def call(batch: Tensor) -> Tensor:
            return apply(batch, torch.rand((view.draws, len(batch)), generator=generator, device=device))

        return call

    return make


def torchvision_view(name: str, image_by_image: bool) -> MAKE:
    """The same kind of view from torchvision.transforms.v2."""
    steps: dict[str, list[nn.Module]] = {
        "simclr": [
            v2.RandomResizedCrop(SIDE, (0.2, 1.0), antialias=True),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(*JITTER)], 0.8),
            v2.RandomGrayscale(0.2),
        ],
        "strong": [v2.RandomHorizontalFlip(), v2.RandomCrop(SIDE), v2.RandAugment(4)],
    }
    view = v2.Compose([*steps[name], v2.ToDtype(torch.float32, scale=True), v2.Normalize(IMAGENET_MEAN, IMAGENET_STD)])

    def make(device: torch.device, generator: torch.Generator) -> Callable[[Tensor], Tensor]:
        return (lambda batch: torch.stack([view(image) for image in batch])) if image_by_image else view

    return make


def kornia_view(name: str) -> MAKE:
    """The same kind of view from kornia, with random numbers of its own per image."""

    def make(device: torch.device, generator: torch.Generator) -> Callable[[Tensor], Tensor]:
        import kornia.augmentation as K
        from kornia.augmentation.auto import RandAugment

        finish = K.Normalize(torch.tensor(IMAGENET_MEAN), torch.tensor(IMAGENET_STD))
        steps: dict[str, list[nn.Module]] = {
            "simclr": [
                K.RandomResizedCrop((SIDE, SIDE), (0.2, 1.0)),
                K.RandomHorizontalFlip(),
                K.ColorJitter(*JITTER, p=0.8),
                K.RandomGrayscale(p=0.2),
            ],
            "strong": [K.RandomHorizontalFlip(), K.RandomCrop((SIDE, SIDE)), RandAugment(n=4, m=10)],
        }
        view = K.AugmentationSequential(*steps[name], finish, data_keys=["input"]).to(device)
        return lambda batch: view(batch.float() / 255)

    return make


WAYS: dict[str, dict[str, MAKE]] = {
    name: {
        "scanmix": ours(name, compiled=False),
        "scanmix, compiled": ours(name, compiled=True),
        "kornia": kornia_view(name),
        "torchvision, image by image": torchvision_view(name, image_by_image=True),
        "torchvision, one draw for the batch": torchvision_view(name, image_by_image=False),
    }
    for name in ("simclr", "strong")
}


def images_per_second(call: Callable[[Tensor], Tensor], batch: Tensor, seconds: float) -> float:
    """Calls until `seconds` are over, after one that is not counted."""

    def sync() -> None:
        if batch.device.type == "cuda":
            torch.cuda.synchronize()

    call(batch)
    sync()
    began, calls = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        call(batch)
        sync()
        calls += 1
    return calls * len(batch) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, nargs="+", default=[128, 1024])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    device = choose_compute(options.device).device
    generator = torch.Generator(device).manual_seed(0)
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    print(f"{datetime.now(timezone.utc):%Y-%m-%d}, {name}, torch {torch.__version__}; images a second\n")
    print("| view | way | " + " | ".join(f"batch {batch}" for batch in options.batches) + " |")
    print("| --- | --- |" + " --- |" * len(options.batches))
    for view, ways in WAYS.items():
        for way, make in ways.items():
            rates = []
            for size in options.batches:
                pixels = torch.randint(0, 256, (size, 3, SIDE, SIDE), dtype=torch.uint8, device=device)
                try:
                    rate = images_per_second(make(device, generator), pixels, options.seconds)
                    rates.append(f"{rate:,.0f}")
                except ImportError:
                    rates.append("not installed")
            print(f"| {view} | {way} | " + " | ".join(rates) + " |", flush=True)


if __name__ == "__main__":
    main()
