"""What the plan of a run needs to know of the data; does without PyTorch."""

from dataclasses import dataclass

import numpy as np

from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import Samples


@dataclass(frozen=True)
class DataFacts:
    """What the plan looks at: training images, classes, median of the images' short sides in pixels, how many times
    more given labels name the commonest class than the rarest one that any names, and held-out images."""

    images: int
    classes: int
    short_side: int
    imbalance: float = 1.0
    held_out: int = 0


def facts_of(samples: Samples, pixels: Pixels) -> DataFacts:
    """What the plan needs to know, from the readable training images."""
    rows = train_rows(samples, pixels)
    short = pixels.source_sizes[rows].min(axis=1)
    uneven = imbalance(samples.label_ids()[rows])
    return DataFacts(len(rows), len(samples.classes), int(np.median(short)), uneven, len(pixels.rows) - len(rows))


def imbalance(labels: np.ndarray) -> float:
    """How many times more labels int64 (N,) name the commonest class than the rarest that any names; -1 is no label."""
    counts = np.bincount(labels[labels >= 0])
    used = counts[counts > 0]
    return float(used.max() / used.min()) if len(used) else 1.0


def train_rows(samples: Samples, pixels: Pixels) -> np.ndarray:
    """int64 (N,): rows of the readable training images."""
    return pixels.rows[samples.is_train()[pixels.rows]]
