"""From the name of a data set or a path to images in memory, with a profile that fits them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from scanmix_cli.bench.bench_data import BenchData
from scanmix_cli.bench.cifar import FOLDERS
from scanmix_cli.bench.datasets import load_dataset
from scanmix_cli.bench.injected import PUBLISHED, NoisyLabels, noisy_labels
from scanmix_cli.bench.named_labels import Images
from scanmix_cli.bench.path_reader import Decoded, Part, PathReader
from scanmix_cli.bench.red_mini_imagenet import COLORS, INNER
from scanmix_cli.bench.request import LEVELLED, BenchRequest
from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import DataError, RunError
from scanmix_cli.method.settings import Profile
from scanmix_cli.workflow.facts import DataFacts, imbalance

OWN_NOISE_OF = {"red-mini-imagenet": "red", "blue-mini-imagenet": "blue"}  # all others: "web"
FINGERPRINT_IMAGES = 10_000  # at most about this many images go into the fingerprint


@dataclass(frozen=True)
class BenchSet:
    """A data set ready to train on. `train.labels` are the clean labels where `clean_known`; `given` are the
    noisy labels that came with the set, None where it is clean; `test` is None where nothing is held out."""

    name: str
    classes: tuple[str, ...]
    train: Part
    given: NoisyLabels | None
    clean_known: bool
    test: Part | None
    files: str  # "canonical", "non-canonical", or why that cannot be told
    fingerprint: str
    extra_tests: dict[str, Part] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    images: Images = ()  # name and path of each training image; nothing where they have none


def read_data(request: BenchRequest) -> BenchData:
    """The data set asked for, images of large sets as paths. Raises DataError or SettingsError."""
    if request.is_own:
        return read_own(Path(request.target), request.source)
    try:
        color = red_or_blue(request)
        return load_dataset(request.target, request.data_dir, request.nominal_rate, color, request.download)
    except RunError as error:  # no network is no failed run: nothing has started yet
        raise DataError(f"{error} as the folder {FOLDERS[request.target]}") from error


def red_or_blue(request: BenchRequest) -> str:
    """The noise colour of mini-ImageNet: as asked, else blue where only that list is there, else red."""
    if request.noise or request.target != LEVELLED:
        return request.noise
    ending = f"_noise_nl_{request.nominal_rate:.1f}"
    folders = (request.data_dir / "split", request.data_dir / INNER / "split")
    red, blue = (any((folder / f"{color}{ending}").is_file() for folder in folders) for color in COLORS)
    return "blue" if blue and not red else "red"


def read_own(path: Path, source: Mapping[str, Any]) -> BenchData:
    """A folder or table whose labels are taken as clean, read with the options `source`; its held-out part measures
    accuracy, where there is one."""
    samples = read_samples(path, **source)
    labels, train = samples.label_ids(), samples.is_train()
    learned, held_out = np.flatnonzero(train & (labels >= 0)), np.flatnonzero(~train & (labels >= 0))
    paths = samples.table["path"].tolist()
    return BenchData(
        name=samples.name,
        classes=samples.classes,
        train_labels=labels[learned],
        test_labels=labels[held_out],
        canonical=False,
        clean_known=True,
        train_paths=tuple(paths[row] for row in learned),
        train_names=tuple(samples.table["filename"].iloc[learned]),
        test_paths=tuple(paths[row] for row in held_out),
        notes=(f"{len(learned)} labelled training and {len(held_out)} held-out images in {path}", *samples.warnings),
    )


def load_set(
    request: BenchRequest, data: BenchData, choose: Callable[[DataFacts], Profile]
) -> tuple[BenchSet, Profile]:
    """Decode the images at the size of the profile that `choose` makes of them."""
    if data.train_images is not None and data.test_images is not None:
        parts = Decoded(Part(data.train_images, data.train_labels), Part(data.test_images, data.test_labels), {})
        rows = np.arange(len(data.train_labels))
        profile = choose(_facts(request, data, rows, min(data.train_images.shape[2:])))
        return _finish(request, data, parts, rows, data.notes), profile
    reader = PathReader(data, may_drop=request.is_own)
    profile = choose(_facts(request, data, reader.train_rows, reader.short_side()))
    parts = reader.decode(profile.stored_size)
    return _finish(request, data, parts, reader.train_rows, (*data.notes, *reader.notes)), profile


def _facts(request: BenchRequest, data: BenchData, rows: np.ndarray, short_side: int) -> DataFacts:
    """What `scanmix train` would look at, of the training rows int64 that were read: their labels are those that the
    first seed trains on."""
    given = _given(request, data, rows)
    labels = noisy_labels(request, data.classes, data.train_labels[rows], given, request.seed, data.named(rows)).labels
    return DataFacts(len(rows), len(data.classes), short_side, imbalance(labels))


def _given(request: BenchRequest, data: BenchData, rows: np.ndarray) -> NoisyLabels | None:
    """The noisy labels that came with the set, of its training rows int64 that were read; None where it is clean."""
    if data.train_noisy is None:
        return None
    name = OWN_NOISE_OF.get(data.name, "web")
    source = "as published with the set"
    return NoisyLabels(name, data.train_noisy[rows], request.nominal_rate, PUBLISHED, None, source)


def _finish(
    request: BenchRequest, data: BenchData, parts: Decoded, rows: np.ndarray, notes: tuple[str, ...]
) -> BenchSet:
    """`rows` int64 are the training rows of `data` that were read."""
    return BenchSet(
        name=data.name,
        classes=data.classes,
        train=parts.train,
        given=_given(request, data, rows),
        clean_known=data.clean_known,
        test=parts.test,
        files=_files(request, data),
        fingerprint=fingerprint(parts.train, parts.test),
        extra_tests=parts.extra,
        notes=notes,
        images=data.named(rows),
    )


def _files(request: BenchRequest, data: BenchData) -> str:
    if request.is_own:
        return "the user's own"
    if not data.name.startswith("cifar"):
        return "non-canonical (no published checksums)"
    return "canonical" if data.canonical else "non-canonical"


def fingerprint(train: Part, test: Part | None) -> str:
    """First 16 hexadecimal digits of a sha256 over shapes, labels and an even choice of the images."""
    digest = hashlib.sha256()
    for part in (train, test):
        if part is not None:
            step = max(len(part.images) // FINGERPRINT_IMAGES, 1)
            digest.update(f"{part.images.shape}".encode())
            digest.update(np.ascontiguousarray(part.labels, dtype="<i8").tobytes())
            digest.update(np.ascontiguousarray(part.images[::step]).tobytes())
    return digest.hexdigest()[:16]
