"""Samples of rows do not coincide with what a user draws from the same seed."""

import numpy as np
import pytest

from scanmix_cli.streams import few, parts, stream


def test_a_stream_repeats_itself_and_is_not_the_plain_one_of_its_seed() -> None:
    first, again, other = (stream(seed).permutation(1000)[:200].tolist() for seed in (3, 3, 4))
    assert first == again != other
    plain = np.random.default_rng(3).permutation(1000)[:200].tolist()
    assert 20 < len(set(first) & set(plain)) < 60  # 40 expected by chance


@pytest.mark.parametrize("number", [2, 5, 10])
def test_parts_are_of_one_size_and_follow_no_order(number: int) -> None:
    place = parts(1003, number)
    assert np.bincount(place).tolist() == [1003 // number + (k < 1003 % number) for k in range(number)]
    assert (place == parts(1003, number)).all()
    for classes in (2, 5, 10):  # in turn, as a table may list them
        shares = [np.bincount(np.arange(1003)[place == k] % classes, minlength=classes) for k in range(number)]
        assert min(share.min() for share in shares) > 1003 / number / classes / 3


def test_few_are_drawn_in_order_and_all_where_there_are_no_more() -> None:
    chosen = few(1000, 200)
    assert len(np.unique(chosen)) == 200
    assert (np.diff(chosen) > 0).all()
    assert 60 < (chosen % 2).sum() < 140
    assert few(7, 200).tolist() == list(range(7))
    assert not len(few(0, 5))
