"""Do the fast ways of computing learn the same? fp32 beside bf16, and recorded steps beside ordinary ones.

    python benchmarks/agreement.py --data-dir DATA --out docs/results/agreement.json
    python benchmarks/agreement.py --data-dir DATA --images 256 --device cpu --toy --out toy.json   (tries it out)

On CIFAR-10 images with half of the labels drawn anew: plain training of 30 epochs, and a short EM run (pre-training
and belief loop), each with three seeds in each way of computing. Prints one Markdown table of test
accuracies; a way agrees where its mean lies within the reference's spread over seeds, lowest to highest.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import torch

from scanmix_cli.bench.cifar import load_cifar
from scanmix_cli.bench.noise import symmetric
from scanmix_cli.engine.capture import Step
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute, choose_compute
from scanmix_cli.files import write_text
from scanmix_cli.method.images import ImageSet, accuracy, forward_all
from scanmix_cli.method.methods import METHODS
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles import fast

SEEDS = (0, 1, 2)
RATE = 0.5
METHOD_NAMES = {"cross-entropy": "30 epochs of plain training", "scanmix": "short EM run"}


class Unrecorded(Context):
    """Every step is called as it is, never recorded as a CUDA graph."""

    def captured(self, step: Step, summable: bool = True) -> Step:  # type: ignore[override]
        return step


@dataclass(frozen=True)
class Way:
    """A way of computing."""

    name: str
    precision: str
    context: type[Context]


WAYS = (
    Way("fp32, recorded", "fp32", Context),
    Way("bf16, recorded", "bf16", Context),
    Way("bf16, ordinary", "bf16", Unrecorded),
)


def short(profile: Profile, toy: bool) -> Profile:
    """Few epochs of every stage."""
    assert profile.contrastive is not None
    assert profile.scan is not None
    few = 1 if toy else 0
    return replace(
        profile,
        contrastive=replace(profile.contrastive, epochs=few or 15),
        scan=replace(profile.scan, epochs=few or 2),
        warmup=replace(profile.warmup, epochs=few or 2),
        mixmatch=replace(profile.mixmatch, epochs=few or 6, rampup=4, rate_drops=()),
        beliefs=profile.beliefs and replace(profile.beliefs, epochs=few or 6),
        supervised=replace(profile.supervised, epochs=few or 30),
    )


def image_sets(options: argparse.Namespace, profile: Profile, device: torch.device) -> tuple[ImageSet, ImageSet]:
    """Training images with noisy labels, and the test images."""
    data = load_cifar("cifar10", options.data_dir)
    count = options.images or len(data.train_labels)
    noisy = symmetric(data.train_labels[:count], len(data.classes), RATE, "exact")
    parts = ((data.train_images[:count], noisy), (data.test_images[:count], data.test_labels[:count]))
    train, test = (
        ImageSet(
            torch.from_numpy(np.ascontiguousarray(pixels)).to(device),
            torch.from_numpy(labels).to(device),
            len(data.classes),
            profile.image_size,
            profile.mean,
            profile.std,
        )
        for pixels, labels in parts
    )
    return train, test


def test_accuracy(
    method: str, way: Way, seed: int, train: ImageSet, test: ImageSet, profile: Profile, device: torch.device
) -> float:
    """Of the method's networks after the last epoch."""
    context = way.context(Compute(device, way.precision), seed)
    outcome = METHODS[method](train, profile, Monitor(), context, None)
    logits = torch.stack([forward_all(net, net, test, context) for net in outcome.nets]).sum(0)
    return accuracy(logits, test.labels)


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """Mean and spread over seeds; methods in columns."""
    lines = ["| computed in | " + " | ".join(METHOD_NAMES.values()) + " |", "| --- |" + " --- |" * len(METHOD_NAMES)]
    for way in WAYS:
        scores = [found[method][way.name] for method in METHOD_NAMES]
        cells = [f"{100 * np.mean(s):.2f} ({100 * min(s):.2f} to {100 * max(s):.2f})" for s in scores]
        lines.append(f"| {way.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--images", type=int, default=20_000, help="training images; 0: all")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--toy", action="store_true", help="the small network, one epoch")
    options = parser.parse_args()
    device = choose_compute(options.device).device
    profile = short(fast.CPU if options.toy else fast.GPU, options.toy)
    train, test = image_sets(options, profile, device)
    found: dict[str, dict[str, list[float]]] = {method: {way.name: [] for way in WAYS} for method in METHOD_NAMES}
    for seed in SEEDS:
        for method in METHOD_NAMES:
            for way in WAYS:
                began = time.monotonic()
                score = test_accuracy(method, way, seed, train, test, profile, device)
                found[method][way.name].append(score)
                print(f"seed {seed}, {method}, {way.name}: {score:.4f} in {time.monotonic() - began:.0f} s", flush=True)
    record = {
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "command": "python " + " ".join(sys.argv),
        "test_accuracy": found,
    }
    write_text(options.out, json.dumps(record, indent=1) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
