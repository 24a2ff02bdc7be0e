"""Samples of rows do not coincide with what a user draws from the same seed."""

import numpy as np

from scanmix_cli.streams import stream


def test_a_stream_repeats_itself_and_is_not_the_plain_one_of_its_seed() -> None:
    first, again, other = (stream(seed).permutation(1000)[:200].tolist() for seed in (3, 3, 4))
    assert first == again != other
    plain = np.random.default_rng(3).permutation(1000)[:200].tolist()
    assert 20 < len(set(first) & set(plain)) < 60  # 40 expected by chance
