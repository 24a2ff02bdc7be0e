"""Rows as one source yields them, before sources are put together into a Samples table."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SPLIT_FOLDERS = ("train", "training", "val", "valid", "validation", "test", "testing")


def is_train_name(split: str) -> bool:
    """Whether a split name means the training part."""
    return split.strip().casefold() in ("train", "training")


def is_known_split(split: str) -> bool:
    """Whether a split has one of the usual names."""
    return split.strip().casefold() in SPLIT_FOLDERS


@dataclass
class Rows:
    """Equally long lists, one entry per row; `classes` also holds classes without a row (empty class folders)."""

    root: Path
    filenames: list[str]
    paths: list[str]
    splits: list[str]
    labels: list[str]
    classes: set[str]
    extra: dict[str, list[Any]] = field(default_factory=dict)
    ignored: Counter[str] = field(default_factory=Counter)  # files and folders that are no images of a class, by kind
    warnings: list[str] = field(default_factory=list)
    table: Path | None = None  # whose labels these are; None: labels are the names of folders

    def __len__(self) -> int:
        return len(self.filenames)
