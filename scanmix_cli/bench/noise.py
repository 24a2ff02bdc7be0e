"""Label noise by recipe, reproducible bit for bit.

All draws come from Python's own Mersenne twister (`random.Random`), whose shuffle and integer draws are the same in
every Python 3 that this package supports, so a seed names one label list for ever. Two recipes repeat published files,
in which the rate is the share of labels drawn anew: a symmetric rate r leaves about r (1 - 1/C) of them wrong.

- `dividemix`: the files DivideMix writes, and what its followers publish for CIFAR-100.
- `scanmix`: the CIFAR-10 symmetric files released with ScanMix. One more shuffle happens before the labels are drawn.
- `exact`: not published anywhere; exactly the given share of labels is wrong, each replaced by another class.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import DataError, SettingsError

RECIPES = ("dividemix", "scanmix", "exact")
PUBLISHED_SEED = 123

# Position: true class; value: the class it is taken for. truck -> automobile, bird -> airplane, deer -> horse,
# cat <-> dog; the other five never change.
CIFAR10_TRANSITION = (0, 1, 0, 5, 7, 3, 6, 7, 8, 1)


def symmetric(labels: np.ndarray, classes: int, rate: float, recipe: str, seed: int = PUBLISHED_SEED) -> np.ndarray:
    """Labels with a share `rate` redrawn uniformly; int64 (N,) from integer `labels` (N,) in 0..classes-1.

    Raises SettingsError for an unknown recipe, a rate outside 0..1 or, with `exact`, a single class.
    """
    _check_rate(rate)
    if recipe not in RECIPES:
        raise SettingsError(f"unknown noise recipe {recipe!r}: choose one of {', '.join(RECIPES)}")
    generator = random.Random(seed)
    noisy = np.array(labels, dtype=np.int64)
    if recipe == "exact":
        if classes < 2:
            raise SettingsError("exact symmetric noise needs at least 2 classes: give a data set with more")
        for row in _shuffled(len(noisy), generator)[: round(rate * len(noisy))]:
            other = generator.randrange(classes - 1)
            noisy[row] = other + (other >= noisy[row])
        return noisy
    chosen = _chosen(len(noisy), rate, generator)
    if recipe == "scanmix":
        _shuffled(len(noisy), generator)
    for row in chosen:
        noisy[row] = generator.randint(0, classes - 1)
    return noisy


def asymmetric(labels: np.ndarray, rate: float, transition: Sequence[int], seed: int = PUBLISHED_SEED) -> np.ndarray:
    """Labels with a share `rate` sent through `transition` (position: true class, value: given class); int64 (N,).

    The share is drawn over all classes, those that map to themselves included, as in the published files. Raises
    SettingsError for a rate outside 0..1 or a transition that does not cover the labels.
    """
    _check_rate(rate)
    noisy = np.array(labels, dtype=np.int64)
    if len(noisy) and int(noisy.max()) >= len(transition):
        raise SettingsError(
            f"the transition covers {len(transition)} classes but label {noisy.max()} occurs: give one target a class"
        )
    chosen = _chosen(len(noisy), rate, random.Random(seed))
    noisy[chosen] = np.asarray(transition, dtype=np.int64)[noisy[chosen]]
    return noisy


def next_class(classes: int) -> tuple[int, ...]:
    """Every class is taken for the next one, the last for the first."""
    return tuple((k + 1) % classes for k in range(classes))


def read_transition(path: Path, classes: Sequence[str]) -> tuple[int, ...]:
    """A transition from a JSON object of class names, `{"truck": "automobile"}`; classes not named stay as they are.

    Raises DataError if the file is no such object or names a class that the data set does not have.
    """
    try:
        pairs = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"map file {path} cannot be read ({error.strerror}): check the path") from error
    except ValueError as error:
        raise DataError(f"map file {path} is not JSON ({error}): write an object such as {{'cat': 'dog'}}") from error
    if not isinstance(pairs, dict):
        raise DataError(
            f"map file {path} holds no JSON object: write true class names with the class each is taken for"
        )
    index = {name: k for k, name in enumerate(classes)}
    transition = list(range(len(classes)))
    for true, given in pairs.items():
        for name in (true, given):
            if name not in classes:
                raise DataError(f"map file {path} names {name!r}, which is no class here: use {', '.join(classes)}")
        transition[index[true]] = index[given]
    return tuple(transition)


def realised_rate(clean: np.ndarray, noisy: np.ndarray) -> float:
    """Share of labels that differ from the clean ones; 0 for no labels."""
    return float(np.mean(clean != noisy)) if len(clean) else 0.0


def label_hash(labels: np.ndarray) -> str:
    """First 16 hexadecimal digits of the sha256 of the labels as bytes, one byte a label.

    Labels up to 255 are hashed as uint8, up to 65535 as little-endian uint16, anything else (negative ones too) as
    little-endian int64.
    """
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, 0)
    dtype = "<i8" if low < 0 or high > 65535 else "u1" if high <= 255 else "<u2"
    return hashlib.sha256(np.ascontiguousarray(labels, dtype=dtype).tobytes()).hexdigest()[:16]


def _check_rate(rate: float) -> None:
    if not 0 <= rate <= 1:
        raise SettingsError(f"noise rate {rate} is outside 0 to 1: give a share such as 0.4")


def _shuffled(count: int, generator: random.Random) -> list[int]:
    order = list(range(count))
    generator.shuffle(order)
    return order


def _chosen(count: int, rate: float, generator: random.Random) -> list[int]:
    """Rows to corrupt, ascending: the published loops go through the rows in order."""
    return sorted(_shuffled(count, generator)[: int(rate * count)])
