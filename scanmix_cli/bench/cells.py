"""Cells of a benchmark: one method on one set of labels with one seed, kept as a file each."""

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scanmix_cli.errors import DataError
from scanmix_cli.files import write_text
from scanmix_cli.method.settings import Profile

CELLS = "cells"
NAMED = 80  # bytes of a name of the user's that go into a file's name: file systems take 255 in all


@dataclass(frozen=True)
class CellKey:
    """What makes a cell the same cell: data, labels, method, seed, settings and budget."""

    dataset: str
    labels: str  # stem of the label file
    method: str
    seed: int
    digest: str

    @property
    def name(self) -> str:
        """Stem of the cell's files."""
        readable = f"{shortened(self.dataset)}-{shortened(self.labels)}-{self.method}-seed{self.seed}"
        return f"{re.sub(r'[^A-Za-z0-9.+_-]+', '_', readable)}-{self.digest}"


def shortened(name: str) -> str:
    """The name, or its first letters where it would leave no room in a file's name."""
    letters = os.fsencode(name)
    return name if len(letters) <= NAMED else letters[:NAMED].decode("utf-8", "ignore")


def settings_digest(profile: Profile, *others: float | str) -> str:
    """8 hexadecimal digits that change with the settings, or with the budget, the images or the labels."""
    text = json.dumps([asdict(profile), *others], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class CellStore:
    """The folder `cells/` of a results folder."""

    def __init__(self, out: Path) -> None:
        self.folder = out / CELLS

    def path(self, key: CellKey, suffix: str = ".json") -> Path:
        return self.folder / f"{key.name}{suffix}"

    def load(self, key: CellKey) -> dict[str, Any] | None:
        """A finished cell, None where it has not been run."""
        path = self.path(key)
        return _read(path) if path.is_file() else None

    def save(self, key: CellKey, cell: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.path(key), json.dumps(cell, indent=1) + "\n")

    def all(self) -> list[dict[str, Any]]:
        """Every finished cell: by data set, noise, rate, seed, and by time within."""
        cells = [_read(path) for path in sorted(self.folder.glob("*.json"))]
        return sorted(cells, key=lambda c: (c["dataset"], c["noise"], c["rate"] or 0.0, c["seed"], c["date"]))


def _read(path: Path) -> dict[str, Any]:
    try:
        cell = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is damaged ({error}): remove it, and the cell is run again") from error
    if not isinstance(cell, dict) or "key" not in cell:
        raise DataError(f"{path} is damaged (it holds no cell): remove it, and the cell is run again")
    return cell
