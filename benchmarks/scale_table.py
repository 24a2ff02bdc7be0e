"""What a run of the fast profile costs on a million images and more: the arithmetic of docs/scale.md as a table.

    python benchmarks/scale_table.py

Nothing is measured here. Rates are those of docs/results/performance.json (32 pixels), for ResNet-50 at 224 pixels of
the option `--rate-224` (one H200: an epoch of the EM loop on 4,096 images, 65,200 passes, took 9.27 s), and the rest is
counted in bytes and operations.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import torch
from scanmix_cli.models.heads import CONTRASTIVE_DIM
from scanmix_cli.models.registry import build_backbone

from scanmix_cli.engine.device import Compute
from scanmix_cli.method.settings import Profile
from scanmix_cli.workflow.facts import DataFacts
from scanmix_cli.workflow.plan import choose_profile
from scanmix_cli.workflow.request import Request
from scanmix_cli.workflow.schedule import stage_seconds

PERFORMANCE = Path(__file__).resolve().parents[1] / "docs" / "results" / "performance.json"
GPUS, EFFICIENCY = 8, 0.8  # of the second training row; 0.8 is assumed
SHARED_FROM = 128  # pixels; the steps on smaller images are not faster on several GPUs
COPY_RATE = 3.0e12  # bytes a second of a GPU's memory
PRODUCT_RATE = 4.0e14  # operations a second of its matrix products in TF32
PAIR_BYTES = 34  # memory traffic of a similarity: 200,000 images of 512 features take 0.55 s on an H200
CORES, DECODED = 16, {32: 810, 224: 1 / (1 / 810 + 1 / 383)}  # images a second of a core (docs/inputs.md); 224: twice
BELIEF_BYTES = 32  # an image and class: beliefs of a network and what the probe says
LOOK_BYTES = 16  # both networks before and after an epoch
HOURS, GB = 3600, 1e9


@dataclass(frozen=True)
class Case:
    """A data set."""

    images: int
    size: int
    classes: int


def costs(case: Case, rate: float, split_s: float) -> dict[str, float]:
    """Hours, seconds and gigabytes of a run; `rate` in training passes a second, `split_s` seconds an image."""
    facts = DataFacts(case.images, case.classes, case.size)
    profile, _ = choose_profile(Request(), facts, Compute(torch.device("cuda"), "bf16"))
    training = sum(stage_seconds(profile, facts, 1 / rate).values())
    width, searches = searched(profile)
    pair = PAIR_BYTES / COPY_RATE + 2 * width / PRODUCT_RATE
    cells = case.images * case.classes
    return {
        f"decoding, {CORES} cores, h": case.images / DECODED[case.size] / CORES / HOURS,
        "training, 1 GPU, h": training / HOURS,
        f"training, {GPUS} GPUs, h": training / GPUS / EFFICIENCY / HOURS if case.size >= SHARED_FROM else 0.0,
        "searches for neighbours": searches,
        "all of them, 1 GPU, h": searches * case.images**2 * pair / HOURS,
        f"all of them, {GPUS} GPUs, h": searches * case.images**2 * pair / GPUS / HOURS,
        "mixtures an epoch, s": 0.0 if profile.beliefs else case.images * split_s,
        "pixels, GB": case.images * 3 * profile.stored_size**2 / GB,
        "features, GB": case.images * 4 * width / GB,
        "neighbour lists, GB": case.images * 8 * (profile.neighbors.count + 1) / GB,
        "tables of the loop, GB": cells * (BELIEF_BYTES if profile.beliefs else LOOK_BYTES) / GB,
        "evidence, GB": (case.images * 108 + 8 * cells) / GB,
    }


def searched(profile: Profile) -> tuple[int, int]:
    """Numbers of a feature vector, and how often a run searches the neighbours of all images."""
    with torch.device("meta"):
        width = int(build_backbone(profile.backbone).features)  # type: ignore[arg-type]
    if profile.beliefs is not None:  # in every epoch, before the first and after the last
        return width, profile.beliefs.networks * profile.beliefs.epochs + 2
    return (width if profile.neighbors.features == "backbone" else CONTRASTIVE_DIM), 1


def number(value: float) -> str:
    """Two significant digits, and no power of ten; nothing where there is none."""
    return "" if not value else f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate-224", type=float, default=7000.0, help="training passes a second, ResNet-50, one GPU")
    options = parser.parse_args()
    sections = json.loads(PERFORMANCE.read_text(encoding="utf-8"))["sections"]
    rates = {32: sections["simclr"]["rows"]["512"]["images_per_s"], 224: options.rate_224}
    split_s = sections["evaluation"]["rows"]["split_s"] / 50_000
    cases = [Case(n, size, c) for size, c in ((32, 100), (224, 1000)) for n in (10**6, 10**7, 10**8)]
    columns = [costs(case, rates[case.size], split_s) for case in cases]
    names = [f"{case.images // 10**6}M, {case.size} px, {case.classes} classes" for case in cases]
    print("| | " + " | ".join(names) + " |")
    print("| --- " * (len(names) + 1) + "|")
    for row in columns[0]:
        print(f"| {row} | " + " | ".join(f"{number(column[row])}" for column in columns) + " |")


if __name__ == "__main__":
    main()
