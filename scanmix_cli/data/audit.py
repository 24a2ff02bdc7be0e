"""Whether training on the rows is possible, and what looks odd about them."""

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from scanmix_cli.data.class_names import alike, misspelt
from scanmix_cli.data.listing import sub_folders
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.rows import is_known_split
from scanmix_cli.data.samples import TRAIN, UNLABELLED, Samples
from scanmix_cli.data.wording import counted, quoted, shown
from scanmix_cli.errors import DataError

TINY_SET = 200
TINY_CLASS = 20
STRONG_IMBALANCE = 10


def require_classes(data: Path, splits: list[str], labels: list[str]) -> None:
    """Raise DataError unless at least two classes have a training row."""
    if TRAIN not in splits:
        found = quoted(sorted(set(splits)))
        raise DataError(f"{data} has no row in split 'train', only in {found}; name another column with --split-column")
    counts = train_counts(splits, labels)
    if not counts:
        raise DataError(f"{data} has no labelled training image; fill in the label column")
    if len(counts) == 1:
        (name,) = counts
        deeper = data / name
        hint = (
            f" or, if the sub-folders of '{shown(name)}' are the classes, give {deeper}"
            if _holds_folders(deeper)
            else ""
        )
        raise DataError(f"{data} has training images of only one class, '{shown(name)}'; add a second class{hint}")


def _holds_folders(folder: Path) -> bool:
    return folder.is_dir() and len(sub_folders(folder)) > 1


def train_counts(splits: list[str], labels: list[str]) -> Counter[str]:
    """Labelled training rows of each class that has any."""
    return Counter(label for split, label in zip(splits, labels, strict=True) if label and split == TRAIN)


def require_readable(samples: Samples, pixels: Pixels) -> None:
    """Raise DataError unless at least two classes have a training image that could be read."""
    if not len(pixels.rows):
        raise DataError(
            f"none of the {len(samples)} files of {samples.name} can be read; mend the files or the paths, "
            f"the first being {shown(samples.table['path'].iloc[0])}: {pixels.messages[0]}"
        )
    ids = samples.label_ids()[pixels.rows][samples.is_train()[pixels.rows]]
    if len(np.unique(ids[ids != UNLABELLED])) < 2:
        bad = len(samples) - len(pixels.rows)
        raise DataError(
            f"{samples.name} has readable training images of fewer than two classes "
            f"({counted(bad, 'unreadable file')}); mend the files that `scanmix check DATA --out bad_files.csv` lists"
        )


def label_warnings(classes: tuple[str, ...], splits: list[str], labels: list[str]) -> list[str]:
    """One sentence for each thing that deserves a look."""
    counts = train_counts(splits, labels)
    rows_of = Counter(labels)
    empty = [name for name in classes if not rows_of[name]]
    held_out = [name for name in classes if rows_of[name] and not counts[name]]
    without = [f"Classes without images: {quoted(empty)}."] if empty else []
    if held_out:
        without.append(f"Classes without training images: {quoted(held_out)}.")
    return [*alike(classes), *misspelt(counts), *without]


def split_warnings(splits: list[str]) -> list[str]:
    """About rows that are held out under a name that may mean something else."""
    held_out = [split for split in splits if not is_known_split(split)]
    if not held_out:
        return []
    names = quoted(sorted(set(held_out)))
    return [f"Rows of other splits than train, val and test only measure accuracy: {len(held_out)}, of {names}."]


def size_warnings(counts: dict[str, int]) -> list[str]:
    """About too few and very uneven training images; `counts` are the readable ones of each class."""
    some = {name: count for name, count in counts.items() if count}
    return [*_tiny(some), *_imbalance(some)] if some else []


def copy_warnings(paths: list[str], labels: list[str]) -> list[str]:
    """Rows that name the same file again, with the same or with another label."""
    if len(set(paths)) == len(paths):
        return []
    labels_of = defaultdict(set)
    times: Counter[str] = Counter()
    for path, label in zip(paths, labels, strict=True):
        if path:
            labels_of[path].add(label)
            times[path] += 1
    again = sum(count - 1 for count in times.values())
    conflicts = [path for path, found in labels_of.items() if len(found - {""}) > 1]
    warnings = [f"Rows whose file an earlier row names already: {again}."] if again else []
    if conflicts:
        warnings.append(f"Under more than one label: {counted(len(conflicts), 'file')}, such as {shown(conflicts[0])}.")
    return warnings


def _tiny(counts: dict[str, int]) -> list[str]:
    total = sum(counts.values())
    if total >= TINY_SET and total >= TINY_CLASS * len(counts):
        return []
    return [
        f"Only {total} labelled training images in {len(counts)} classes; "
        f"with fewer than {TINY_SET} images or {TINY_CLASS} per class, scores are unreliable."
    ]


def _imbalance(counts: dict[str, int]) -> list[str]:
    most, least = (choose(counts, key=counts.__getitem__) for choose in (max, min))
    if counts[most] < STRONG_IMBALANCE * counts[least]:
        return []
    return [
        f"Class sizes differ strongly: '{shown(most)}' has {counts[most]} training images, "
        f"'{shown(least)}' has {counts[least]}."
    ]
