"""Rows as one source yields them, before sources are put together into a Samples table."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scanmix_cli.data.wording import counted, shown

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

    def only(self, rows: list[int]) -> "Rows":
        """Of these rows and their classes alone; what was said and counted is kept."""

        def pick(values: list[Any]) -> list[Any]:
            return [values[row] for row in rows]

        labels = pick(self.labels)
        return replace(
            self,
            filenames=pick(self.filenames),
            paths=pick(self.paths),
            splits=pick(self.splits),
            labels=labels,
            classes=set(labels) - {""},
            extra={name: pick(values) for name, values in self.extra.items()},
        )

    def leave_out(self, names: list[str], reason: str, kind: str) -> None:
        """Count images that get no row, and say why."""
        if names:
            self.ignored[kind] += len(names)
            self.warnings.append(
                f"Left out, since {reason}: {counted(len(names), 'image')}, such as {shown(names[0])}."
            )
