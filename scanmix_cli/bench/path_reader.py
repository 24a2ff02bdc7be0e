"""Images of a benchmark that is a list of paths, decoded like the user's own."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from scanmix_cli.bench.bench_data import BenchData
from scanmix_cli.data.cache import default_cache_dir
from scanmix_cli.data.cores import usable_cores
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.samples import TRAIN, Samples
from scanmix_cli.errors import DataError

PROBE_SIZE = 32  # image sizes are found at this size, before the profile fixes the real one


@dataclass(frozen=True)
class Part:
    """Images uint8 (N, 3, H, W) and labels int64 (N,)."""

    images: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class Decoded:
    """Training part, test part (None where nothing is held out) and further tests by name."""

    train: Part
    test: Part | None
    extra: dict[str, Part]


class PathReader:
    """Decodes all parts of a set of paths in one go; knows which rows could be read."""

    def __init__(self, data: BenchData, may_drop: bool) -> None:
        assert data.train_paths is not None
        assert data.test_paths is not None
        self.data = data
        extra = {name: part.paths or () for name, part in data.extra_tests.items()}
        paths = [*data.train_paths, *data.test_paths, *(path for part in extra.values() for path in part)]
        lengths = [len(data.train_paths), len(data.test_paths), *map(len, extra.values())]
        self.bounds = np.cumsum([0, *lengths])
        columns = {name: pd.Series(paths, dtype=object) for name in ("filename", "path")}
        table = pd.DataFrame({**columns, "split": TRAIN, "given_label": ""})
        self.samples = Samples(data.name, Path(), table, data.classes)
        self.probe = load_pixels(self.samples, PROBE_SIZE, workers=usable_cores(), cache_dir=default_cache_dir())
        bad = np.setdiff1d(np.arange(len(paths)), self.probe.rows)
        if len(bad) and not may_drop:
            raise DataError(
                f"{len(bad)} images of {data.name} cannot be read, first {paths[bad[0]]} "
                f"({self.probe.messages[bad[0]]}): complete the download, rows are never dropped"
            )
        self.notes = (f"{len(bad)} unreadable images left out",) if len(bad) else ()
        self.train_rows = self._rows(0)
        if len(self.train_rows) == 0:
            raise DataError(f"no labelled training image of {data.name} can be read: check the files")

    def _rows(self, part: int) -> np.ndarray:
        """Readable rows of a part, counted within it."""
        first, end = self.bounds[part], self.bounds[part + 1]
        return self.probe.rows[(self.probe.rows >= first) & (self.probe.rows < end)] - first

    def short_side(self) -> int:
        return int(np.median(self.probe.source_sizes[self.train_rows].min(axis=1)))

    def decode(self, size: int) -> Decoded:
        """All parts at `size` pixels a side."""
        pixels = self.probe
        if size != PROBE_SIZE:
            pixels = load_pixels(self.samples, size, workers=usable_cores(), cache_dir=default_cache_dir())
        labels = [self.data.train_labels, self.data.test_labels, *(p.labels for p in self.data.extra_tests.values())]
        parts = []
        for k, numbers in enumerate(labels):
            rows = self._rows(k)
            start = int(np.searchsorted(pixels.rows, self.bounds[k]))
            parts.append(Part(pixels.images[start : start + len(rows)], numbers[rows]))
        test = parts[1] if len(parts[1].labels) else None
        return Decoded(parts[0], test, dict(zip(self.data.extra_tests, parts[2:], strict=True)))
