"""What the plan of a run needs to know of the data; does without PyTorch."""

from dataclasses import dataclass

import numpy as np

from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import Samples


@dataclass(frozen=True)
class DataFacts:
    """What the plan looks at: training images, classes, median of the images' short sides in pixels."""

    images: int
    classes: int
    short_side: int


def facts_of(samples: Samples, pixels: Pixels) -> DataFacts:
    """What the plan needs to know, from the readable training images."""
    rows = train_rows(samples, pixels)
    short = pixels.source_sizes[rows].min(axis=1)
    return DataFacts(len(rows), len(samples.classes), int(np.median(short)))


def train_rows(samples: Samples, pixels: Pixels) -> np.ndarray:
    """int64 (N,): rows of the readable training images."""
    return pixels.rows[samples.is_train()[pixels.rows]]
