"""The noisy labels of a run: drawn by a recipe, read from a file, or those the data set came with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scanmix_cli.bench import noise
from scanmix_cli.bench.cells import shortened
from scanmix_cli.bench.label_files import HUMAN_KEYS, read_labels
from scanmix_cli.bench.named_labels import Images
from scanmix_cli.bench.request import DRAWN, FILE, BenchRequest
from scanmix_cli.errors import DataError

PUBLISHED = "published"  # recipe of labels that were not drawn here


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
        parts = [shortened(self.name), "" if rate is None else f"{rate:g}", shortened(self.recipe)]
        parts.append("" if self.seed is None else f"seed{self.seed}")
        return "-".join(part for part in parts if part)


def noisy_labels(
    request: BenchRequest,
    classes: Sequence[str],
    clean: np.ndarray,
    given: NoisyLabels | None,
    seed: int,
    images: Images = (),
) -> NoisyLabels:
    """The labels to train on: `given`, where the set came with its noise, else made from `clean`, int64 (N,).

    `images` are what a table of labels may name; nothing where they have no names.

    Drawn noise uses the published seed 123 plus `seed`: the first run has the published labels, each repeat its own.
    """
    if given is not None:
        return given
    name = request.kind
    if name == "none":
        return clean_labels(clean)
    if name in DRAWN:
        return _drawn(request, name, classes, clean, noise.PUBLISHED_SEED + seed)
    path, key = (Path(name.removeprefix(FILE)), None) if name.startswith(FILE) else _find(request, name)
    labels = read_labels(path, classes, len(clean), clean, key, images)
    short = path.stem if name.startswith(FILE) else name
    return NoisyLabels(short, labels, None, PUBLISHED, None, f"read from {path.name}")


def clean_labels(clean: np.ndarray) -> NoisyLabels:
    """No noise at all: the ceiling."""
    return NoisyLabels("none", clean.copy(), 0.0, "", None, "the clean labels")


def _drawn(request: BenchRequest, name: str, classes: Sequence[str], clean: np.ndarray, seed: int) -> NoisyLabels:
    rate = request.nominal_rate
    assert rate is not None
    if name == "sym":
        labels = noise.symmetric(clean, len(classes), rate, request.recipe, seed)
        return NoisyLabels(name, labels, rate, request.recipe, seed, f"symmetric, recipe {request.recipe}")
    recipe = request.recipe
    if request.noise_map is not None:
        transition, source = noise.read_transition(request.noise_map, classes), f"map {request.noise_map.name}"
        recipe = request.noise_map.stem
    elif request.target == "cifar10":
        transition, source = noise.CIFAR10_TRANSITION, "the CIFAR-10 map of the paper"
    else:
        transition, source = noise.next_class(len(classes)), "every class taken for the next one"
    labels = noise.asymmetric(clean, rate, transition, seed)
    return NoisyLabels(name, labels, rate, recipe, seed, f"asymmetric, {source}")


def label_files(target: str, name: str, data_dir: Path) -> list[tuple[Path, str | None]]:
    """Files of the published labels `name` that are in `data_dir` or its folder `labels`, with the key to read."""
    names = _published_names(target, name)
    places = [(folder / file, key) for folder in (data_dir, data_dir / "labels") for file, key in names.items()]
    return [(path, key) for path, key in places if path.is_file()]


def _find(request: BenchRequest, name: str) -> tuple[Path, str | None]:
    found = label_files(request.target, name, request.data_dir)
    if not found:
        names = " or ".join(_published_names(request.target, name))
        publisher = "CIFAR-N" if name.startswith("human") else "the semantic noise (Lee et al. 2019)"
        raise DataError(
            f"{name} labels are not in {request.data_dir}: put {names} from the page of {publisher} there, "
            "or use --noise file:PATH"
        )
    return found[0]


def _published_names(target: str, name: str) -> dict[str, str | None]:
    """File names of a label set and the key to read: the publisher's file, then one array a file."""
    kind, _, which = name.partition("-")
    if kind == "human":
        number = target.removeprefix("cifar")
        array = f"{target}n_{which}.npy" if which else f"{target}n.npy"
        return {f"CIFAR-{number}_human.pt": HUMAN_KEYS[name], array: None}
    arrays: dict[str, str | None] = {f"{target}_semantic_{which}.npy": None}
    if target == "cifar10":
        arrays |= {f"0.40_semantic_{which}.json": None, f"scanmix_semantic_{which}.npy": None}
    return arrays
