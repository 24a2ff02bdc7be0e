"""Cutout: the square's side, place and clipping."""

import pytest
import torch

from scanmix_cli.augment.cutout import CUTOUT_DRAWS, longest_side, random_cutout_


@pytest.mark.parametrize(("size", "longest"), [(28, 14), (32, 16), (64, 32), (80, 26), (224, 74), (227, 75)])
def test_longest_side(size: int, longest: int) -> None:
    assert longest_side(size) == longest


def test_square_as_drawn() -> None:
    """Side 9, centre row 20, column 2: half 4, so rows 16 .. 23 and columns 0 .. 5 after clipping."""
    uniforms = torch.tensor([[8.5 / 16], [20.5 / 32], [2.5 / 32]])
    cut = random_cutout_(torch.ones(1, 3, 32, 32), uniforms)
    expected = torch.ones(1, 3, 32, 32)
    expected[:, :, 16:24, 0:6] = 0
    assert torch.equal(cut, expected)


def test_sides_and_places_are_uniform() -> None:
    """Unclipped squares have even sides 0, 2, .. 16; a side of 1 cuts nothing, which is one draw in 16."""
    uniforms = torch.rand((CUTOUT_DRAWS, 8000), generator=torch.Generator().manual_seed(0))
    hole = random_cutout_(torch.ones(8000, 1, 32, 32), uniforms)[:, 0] == 0
    rows, columns = hole.any(2), hole.any(1)
    assert torch.equal(hole, rows[:, :, None] & columns[:, None, :])
    height = rows.sum(1)
    assert height.max() == 16
    assert (height == 0).float().mean() == pytest.approx(1 / 16, abs=0.01)
    whole = height[(rows[:, 0] | rows[:, -1]).logical_not()]
    assert set(whole.tolist()) == set(range(0, 17, 2))
    # Row r is cut with the mean share of squares that reach it: highest and level in the middle, lower at the borders.
    share = rows.float().mean(0)
    assert share[8:24].std() < 0.02
    assert share[0] < 0.7 * share[16]
    assert share[31] < 0.7 * share[16]
