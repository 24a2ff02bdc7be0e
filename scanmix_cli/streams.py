"""Random numbers drawn on the host, for samples of rows; training draws from its one generator on the device."""

import numpy as np

OWN = 7_031  # any number: what makes the stream ours


def stream(seed: int) -> np.random.Generator:
    """A generator of its own for every seed.

    Not `default_rng(seed)`: users draw the labels that they spoil for a trial by it, and our sample of rows would be
    exactly those.
    """
    return np.random.default_rng((seed, OWN))


def parts(count: int, number: int) -> np.ndarray:
    """int64 (count,): which of so many parts of one size each row belongs to, 0 to number - 1.

    Drawn, the same for every call: by row number, a table that lists its classes in turn has whole classes in one part.
    """
    return stream(count).permutation(count) % number


def few(count: int, most: int) -> np.ndarray:
    """int64: so many rows at most of `count`, in order; drawn, as in `parts`."""
    return np.sort(stream(count).permutation(count)[:most])
