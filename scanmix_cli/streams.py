"""Random numbers drawn on the host, for samples of rows; training draws from its one generator on the device."""

import numpy as np

OWN = 7_031  # any number: what makes the stream ours


def stream(seed: int) -> np.random.Generator:
    """A generator of its own for every seed.

    Not `default_rng(seed)`: users draw the labels that they spoil for a trial by it, and our sample of rows would be
    exactly those.
    """
    return np.random.default_rng((seed, OWN))
