"""What a data set holds and what is wrong with it, in numbers."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.duplicates import exact_duplicates
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import UNLABELLED, Samples


@dataclass(frozen=True)
class ClassCount:
    """Readable images of one class."""

    name: str
    train: int
    held_out: int


@dataclass(frozen=True)
class Spread:
    """Smallest, median and largest value, in pixels."""

    min: int
    median: int
    max: int


@dataclass(frozen=True)
class Copies:
    """Sets of images that are equal pixel for pixel."""

    sets: int
    images: int  # in all sets together
    conflicts: int  # sets whose images have more than one label
    leaks: int  # held-out images with a copy in the training part
    examples: tuple[tuple[str, ...], ...]  # file names of the first conflicts, "label: name" each


@dataclass(frozen=True)
class Overview:
    """What `scanmix check` shows and, with `--json`, prints; counts are rows unless said otherwise."""

    name: str
    rows: int
    readable: int
    splits: dict[str, int]
    unlabelled: int
    classes: tuple[ClassCount, ...]
    width: Spread | None
    height: Spread | None
    bad_files: dict[str, int]
    copies: Copies
    ignored: int
    warnings: tuple[str, ...]


def overview(samples: Samples, pixels: Pixels) -> Overview:
    """Count everything once; `warnings` joins what reading and decoding had to say."""
    readable = np.zeros(len(samples), bool)
    readable[pixels.rows] = True
    ids, train = samples.label_ids(), samples.is_train()
    count = len(samples.classes)
    in_train = np.bincount(ids[readable & train & (ids != UNLABELLED)], minlength=count)
    held_out = np.bincount(ids[readable & ~train & (ids != UNLABELLED)], minlength=count)
    sizes = pixels.source_sizes[pixels.rows]
    return Overview(
        name=samples.name,
        rows=len(samples),
        readable=len(pixels.rows),
        splits=dict(Counter(samples.table["split"])),
        unlabelled=int((ids == UNLABELLED).sum()),
        classes=tuple(map(ClassCount, samples.classes, in_train.tolist(), held_out.tolist())),
        width=_spread(sizes[:, 0]),
        height=_spread(sizes[:, 1]),
        bad_files=dict(sorted(Counter(code for code in pixels.error_codes if code != VALID).items())),
        copies=_copies(exact_duplicates(pixels), ids, train, samples),
        ignored=samples.ignored,
        warnings=(*samples.warnings, *pixels.warnings),
    )


def _spread(values: np.ndarray) -> Spread | None:
    if not len(values):
        return None
    return Spread(int(values.min()), int(np.median(values)), int(values.max()))


def _copies(sets: np.ndarray, ids: np.ndarray, train: np.ndarray, samples: Samples) -> Copies:
    """Conflicts and leaks by set number; blank labels contradict nothing."""
    count = int(sets.max(initial=-1)) + 1
    member, labelled = sets >= 0, (sets >= 0) & (ids != UNLABELLED)
    pairs = np.unique(np.stack([sets[labelled], ids[labelled]]), axis=1)
    conflicting = np.flatnonzero(np.bincount(pairs[0], minlength=count) > 1)
    in_train = np.bincount(sets[member & train], minlength=count) > 0
    leaks = member & ~train
    names, labels = samples.table["filename"].to_numpy(), samples.table["given_label"].to_numpy()
    examples = tuple(
        tuple(f"{labels[k]}: {names[k]}" for k in np.flatnonzero(sets == number)) for number in conflicting[:3]
    )
    return Copies(count, int(member.sum()), len(conflicting), int(in_train[sets[leaks]].sum()), examples)
