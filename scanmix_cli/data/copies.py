"""What sets of equal and nearly equal images mean: labels that contradict each other, held-out images that leaked."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scanmix_cli.data.duplicates import exact_duplicates
from scanmix_cli.data.near_duplicates import near_sets
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import UNLABELLED, Samples

_EXAMPLES = 3


@dataclass(frozen=True)
class Copies:
    """Sets of images that are equal pixel for pixel, or nearly so."""

    sets: int
    images: int  # in all sets together
    conflicts: int  # sets whose images have more than one label
    leaks: int  # held-out images with a copy in the training part
    examples: tuple[tuple[str, ...], ...]  # the first conflicts, else the first sets: "label: name" of each image


class CopySets(NamedTuple):
    """Over the rows of the table, see `exact_duplicates` and `near_sets`."""

    exact: np.ndarray
    near: np.ndarray
    bar: float  # of the near ones


def copy_sets(pixels: Pixels) -> CopySets:
    """Both kinds of sets; of many images the near copies take minutes."""
    return CopySets(exact_duplicates(pixels), *near_sets(pixels))


def find_copies(samples: Samples, sets: CopySets) -> tuple[Copies, Copies]:
    """Exact copies, and the sets of near copies that hold more than exact ones."""
    return _describe(sets.exact, samples), _describe(_more_than_exact(sets.near, sets.exact), samples)


def _more_than_exact(near: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The near sets, numbered anew, without those whose images are all exact copies of each other."""
    inside = np.flatnonzero(near >= 0)
    picture = np.where(exact >= 0, exact, len(exact) + np.arange(len(exact)))  # the same number for exact copies
    members = np.unique(np.stack([near[inside], picture[inside]]), axis=1)[0]
    several = np.bincount(members, minlength=int(near.max(initial=-1)) + 1) > 1
    numbers = np.where(several, np.cumsum(several) - 1, -1)
    return np.where(near >= 0, numbers[near], -1) if len(numbers) else near


def _describe(sets: np.ndarray, samples: Samples) -> Copies:
    """Conflicts and leaks by set number; blank labels contradict nothing."""
    ids, train = samples.label_ids(), samples.is_train()
    count = int(sets.max(initial=-1)) + 1
    member, labelled = sets >= 0, (sets >= 0) & (ids != UNLABELLED)
    pairs = np.unique(np.stack([sets[labelled], ids[labelled]]), axis=1)
    conflicting = np.flatnonzero(np.bincount(pairs[0], minlength=count) > 1)
    in_train = np.bincount(sets[member & train], minlength=count) > 0
    leaks = member & ~train
    names, labels = samples.table["filename"].to_numpy(), samples.table["given_label"].to_numpy()
    shown = (conflicting if len(conflicting) else np.arange(count))[:_EXAMPLES]
    examples = tuple(
        tuple(f"{labels[k] or '(no label)'}: {names[k]}" for k in np.flatnonzero(sets == number)) for number in shown
    )
    return Copies(count, int(member.sum()), len(conflicting), int(in_train[sets[leaks]].sum()), examples)
