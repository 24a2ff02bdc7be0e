"""The noisy labels of a run: drawn by a recipe, read from a file, or those the data set came with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scanmix_cli.bench import noise
from scanmix_cli.bench.label_files import HUMAN_KEYS, read_labels
from scanmix_cli.bench.request import DEFAULT_RATE, DRAWN, FILE, BenchRequest
from scanmix_cli.errors import DataError

PUBLISHED = "published"  # recipe of labels that were not drawn here
# Where published label sets are looked for, below --data-dir: the release's names, then one array a file.
_HUMAN_FILES = {"cifar10": "CIFAR-10_human.pt", "cifar100": "CIFAR-100_human.pt"}


@dataclass(frozen=True)
class NoisyLabels:
    """`labels` int64 (N,) in data order; `rate` is the nominal one, None where there is none; `seed` drew them, None
    where they were read."""

    name: str
    labels: np.ndarray
    rate: float | None
    recipe: str
    seed: int | None
    source: str  # a sentence part: the recipe or the file

    def stem(self, clean: np.ndarray | None) -> str:
        """`sym-0.9-dividemix-seed123`; labels that were read carry their realised rate."""
        rate = self.rate
        if rate is None and clean is not None:
            rate = round(noise.realised_rate(clean, self.labels), 4)
        parts = [self.name, "" if rate is None else f"{rate:g}", self.recipe]
        parts.append("" if self.seed is None else f"seed{self.seed}")
        return "-".join(part for part in parts if part)


def noisy_labels(
    request: BenchRequest, classes: Sequence[str], clean: np.ndarray, given: NoisyLabels | None, seed: int
) -> NoisyLabels:
    """The labels to train on: `given`, where the set came with its noise, else made from `clean`, int64 (N,).

    Drawn noise uses the published seed 123 plus `seed`: the first run has the published labels, each repeat its own.
    """
    if given is not None:
        return given
    name = request.noise or "sym"
    if name == "none":
        return clean_labels(clean)
    if name in DRAWN:
        return _drawn(request, name, classes, clean, noise.PUBLISHED_SEED + seed)
    path, key = (Path(name.removeprefix(FILE)), None) if name.startswith(FILE) else _find(request, name)
    labels = read_labels(path, classes, len(clean), clean, key)
    short = path.stem if name.startswith(FILE) else name
    return NoisyLabels(short, labels, None, PUBLISHED, None, f"read from {path.name}")


def clean_labels(clean: np.ndarray) -> NoisyLabels:
    """No noise at all: the ceiling."""
    return NoisyLabels("none", clean.copy(), 0.0, "", None, "the clean labels")


def _drawn(request: BenchRequest, name: str, classes: Sequence[str], clean: np.ndarray, seed: int) -> NoisyLabels:
    rate = DEFAULT_RATE if request.rate is None else request.rate
    if name == "sym":
        labels = noise.symmetric(clean, len(classes), rate, request.recipe, seed)
        return NoisyLabels(name, labels, rate, request.recipe, seed, f"symmetric, recipe {request.recipe}")
    if request.noise_map is not None:
        transition, source = noise.read_transition(request.noise_map, classes), f"map {request.noise_map.name}"
    elif request.target == "cifar10":
        transition, source = noise.CIFAR10_TRANSITION, "the CIFAR-10 map of the paper"
    else:
        transition, source = noise.next_class(len(classes)), "every class taken for the next one"
    return NoisyLabels(
        name, noise.asymmetric(clean, rate, transition, seed), rate, request.recipe, seed, f"asymmetric, {source}"
    )


def _find(request: BenchRequest, name: str) -> tuple[Path, str | None]:
    """The file of a published label set below --data-dir and the key to read in it. DataError naming what is sought."""
    candidates: list[tuple[str, str | None]] = []
    kind, _, which = name.partition("-")
    if kind == "human":
        if request.target in _HUMAN_FILES:
            noise_key = name if request.target == "cifar10" else "human"
            candidates.append((_HUMAN_FILES[request.target], HUMAN_KEYS[noise_key]))
        candidates.append((f"{request.target}n_{which}.npy", None))
        published = "the CIFAR-10N release"
    else:
        candidates += [(f"0.40_semantic_{which}.json", None), (f"scanmix_semantic_{which}.npy", None)]
        published = "the ScanMix release"
    for folder in (request.data_dir, request.data_dir / "labels"):
        for file, key in candidates:
            if (folder / file).is_file():
                return folder / file, key
    names = " or ".join(file for file, _ in candidates)
    raise DataError(
        f"{name} labels are not in {request.data_dir}: put {names} of {published} there, or use --noise file:PATH"
    )
