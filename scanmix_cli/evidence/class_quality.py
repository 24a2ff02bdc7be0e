"""What the calibrated probabilities say of whole classes: how hard each is, and which two are perhaps one."""

from dataclasses import dataclass, field

import numpy as np

PERHAPS_ONE = 0.5  # overlap from which two classes are named
PAIRS = 20  # of them, at most
PLAUSIBLE, BOTH = 0.25, 0.8  # probability of the second class, and of the first two together, of an ambiguous image


@dataclass(frozen=True)
class Overlap:
    """Two classes by number, `one` < `other`, whose images the networks tell apart badly; overlap in 0..1."""

    one: int
    other: int
    overlap: float


@dataclass
class ClassSums:
    """Sums over images, gathered block by block; C classes."""

    classes: int
    products: np.ndarray = field(init=False)  # float64 (C, C): of the probabilities of every two classes
    own: np.ndarray = field(init=False)  # float64 (C,): of the probability of the true class, by true class
    images: np.ndarray = field(init=False)  # float64 (C,): expected number of images, by true class

    def __post_init__(self) -> None:
        self.products = np.zeros((self.classes, self.classes))
        self.own, self.images = np.zeros(self.classes), np.zeros(self.classes)

    def add(self, before: np.ndarray, truth: np.ndarray) -> None:
        """A block of n images: P(class | image) before and after the given label is looked at, float (n, C)."""
        self.products += before.T @ before
        self.own += (before * truth).sum(axis=0)
        self.images += truth.sum(axis=0)

    def sureness(self) -> np.ndarray:
        """float64 (C,) in 0..1: mean probability of the class, the label not looked at, over its own images: the share
        of them that the networks would get right. Low is hard; 1 where a class has no image."""
        return np.divide(self.own, self.images, out=np.ones(self.classes), where=self.images > 1e-9)

    def overlaps(self) -> list[Overlap]:
        """Pairs of classes that overlap by PERHAPS_ONE or more, the largest first.

        The overlap is the cosine between two classes' probabilities over all images: 1 where they rise and fall
        together, as those of one class under two names do, near 0 where every image is surely of one of them.
        """
        length = np.sqrt(np.diag(self.products))
        scale = np.outer(length, length)
        cosine = np.triu(np.divide(self.products, scale, out=np.zeros_like(scale), where=scale > 0), 1)
        order = np.argsort(-cosine, axis=None, kind="stable")[:PAIRS]
        pairs = [divmod(int(at), self.classes) for at in order]
        return [Overlap(a, b, min(float(cosine[a, b]), 1.0)) for a, b in pairs if cosine[a, b] >= PERHAPS_ONE]


def two_classes(before: np.ndarray) -> np.ndarray:
    """int32 (n, 2): the two classes of an image of which two are plausible and hardly another one, the likelier first;
    -1 for every other image. before float (n, C): P(class | image), the given label not looked at."""
    if before.shape[1] < 2:
        return np.full((len(before), 2), -1, np.int32)
    pair = np.argpartition(-before, 1, axis=1)[:, :2].astype(np.int32)
    top = np.take_along_axis(before, pair, axis=1)
    ambiguous = (top.min(axis=1) >= PLAUSIBLE) & (top.sum(axis=1) >= BOTH)
    pair[~ambiguous] = -1
    return pair
