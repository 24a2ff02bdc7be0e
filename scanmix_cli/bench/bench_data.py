"""A benchmark data set in memory: the arrays of small images, or the paths of large ones."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class ImageSet:
    """Labelled images: `labels` int64 (N,) and either `images` uint8 (N, 3, H, W) or `paths` (N texts)."""

    labels: np.ndarray
    images: np.ndarray | None = None
    paths: tuple[str, ...] | None = None


@dataclass(frozen=True)
class BenchData:
    """Train and test part of a benchmark, rows in the published order.

    Labels are int64 indices into `classes`. `train_labels` are the clean labels where they are published
    (`clean_known`), else the given ones. `train_noisy` are the noisy labels that come with the set, None where the set
    is clean and noise has to be injected. Of images and paths one is None. `canonical`: the files have the published
    checksums; sets without published checksums are False. `notes`: what was read and counted, one sentence each.
    """

    name: str
    classes: tuple[str, ...]
    train_labels: np.ndarray
    test_labels: np.ndarray
    canonical: bool
    clean_known: bool
    train_images: np.ndarray | None = None
    train_paths: tuple[str, ...] | None = None
    train_names: tuple[str, ...] | None = None  # as the user knows the images; None: by their paths
    train_noisy: np.ndarray | None = None
    test_images: np.ndarray | None = None
    test_paths: tuple[str, ...] | None = None
    extra_tests: dict[str, ImageSet] = field(default_factory=dict)  # such as ILSVRC12 for WebVision
    notes: tuple[str, ...] = ()

    def named(self, rows: np.ndarray) -> tuple[tuple[str, str], ...]:
        """Name and path of the training images int64 `rows`; nothing where they have none."""
        if self.train_paths is None:
            return ()
        names = self.train_paths if self.train_names is None else self.train_names
        return tuple((names[row], self.train_paths[row]) for row in rows)
