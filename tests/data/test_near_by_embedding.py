"""Near copies by the neighbours in a network's feature space."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_near_duplicates import grained, picture, pixels_of

from scanmix_cli.data.copies import copy_sets
from scanmix_cli.data.near_by_embedding import joined_by_embedding
from scanmix_cli.data.near_duplicates import HIGHEST_BAR, LOWEST_BAR, correlations, near_sets

COUNT = 60


@pytest.fixture(scope="module")
def images() -> list[np.ndarray]:
    """Sixty pictures; 60 is a grained copy of 7, 61 a better one of 9."""
    own = [picture(seed)[:, 4:36, 4:36] for seed in range(COUNT)]
    return [*own, grained(own[7], 1, 15), grained(own[9], 2, 6)]


def neighbors(pairs: dict[int, int]) -> np.ndarray:
    """int64 (62, 3): others in a ring, with these ones first."""
    ring = np.stack([(np.arange(COUNT + 2) + step) % (COUNT + 2) for step in (20, 25, 30)], axis=1)
    for one, other in pairs.items():
        ring[one] = [other, *ring[one, :2]]
    return ring


def test_each_others_nearest_are_copies_at_less_correlation(images: list[np.ndarray]) -> None:
    pixels, rows = pixels_of(images), np.arange(len(images))
    weaker, better = correlations(np.stack(images), np.array([7, 9]), np.array([60, 61]))
    assert 0.62 < weaker < 0.7 < better
    by_hash = near_sets(pixels).sets
    assert np.flatnonzero(by_hash >= 0).tolist() == [9, 61]
    mutual = joined_by_embedding(by_hash, pixels, rows, neighbors({7: 60, 60: 7}), LOWEST_BAR)
    assert np.flatnonzero(mutual >= 0).tolist() == [7, 9, 60, 61]
    assert mutual[[7, 60, 9, 61]].tolist() == [0, 0, 1, 1], "numbered by first appearance"
    with_itself = np.concatenate([rows[:, None], neighbors({7: 60, 60: 7})], axis=1)
    assert np.array_equal(joined_by_embedding(by_hash, pixels, rows, with_itself, LOWEST_BAR), mutual)


def test_a_neighbour_that_has_another_nearest_is_no_copy(images: list[np.ndarray]) -> None:
    pixels, rows = pixels_of(images), np.arange(len(images))
    by_hash = near_sets(pixels).sets
    found = joined_by_embedding(by_hash, pixels, rows, neighbors({7: 60, 60: 8, 8: 60}), LOWEST_BAR)
    assert np.array_equal(found, by_hash), "8 and 60 are each other's nearest, but do not look alike"


def test_pairs_join_sets_that_are_there(images: list[np.ndarray]) -> None:
    pixels, rows = pixels_of([*images, images[60]]), np.arange(len(images) + 1)
    sets = np.full(len(rows), -1)
    sets[[3, 60, 62]] = 0
    ring = np.concatenate([neighbors({7: 60, 60: 7}), [[5, 6, 8]]])
    found = joined_by_embedding(sets, pixels, rows, ring, LOWEST_BAR)
    assert np.flatnonzero(found >= 0).tolist() == [3, 7, 60, 62]
    assert set(found[[3, 7, 60, 62]]) == {0}


def test_only_some_rows_were_trained_on(images: list[np.ndarray]) -> None:
    pixels = pixels_of(images)
    rows = np.setdiff1d(np.arange(len(images)), [0, 1])
    near = (neighbors({}) - 2) % len(rows)
    near = near[2:]
    near[[5, 58]] = [[58, 1, 3], [5, 1, 3]]
    found = joined_by_embedding(np.full(len(images), -1), pixels, rows, near, LOWEST_BAR)
    assert np.flatnonzero(found >= 0).tolist() == [7, 60]


def test_without_neighbours_to_speak_of_nothing_changes(images: list[np.ndarray]) -> None:
    pixels, sets = pixels_of(images[:2]), np.full(2, -1)
    for near in (np.zeros((2, 1), np.int64), np.zeros((0, 5), np.int64)):
        assert joined_by_embedding(sets, pixels, np.arange(len(near)), near, LOWEST_BAR) is sets


def test_a_set_of_pictures_that_are_alike_anyway_keeps_its_own_bar(images: list[np.ndarray]) -> None:
    """Garments have the highest bar there is, for written characters no correlation tells copies from others; in a
    network's feature space each has a nearest one all the same."""
    again = [*images, grained(images[11], 3, 2)]
    pixels, rows, alone = pixels_of(again), np.arange(len(again)), np.full(len(again), -1)
    likeness = correlations(np.stack(again), np.array([7, 9, 11]), np.array([60, 61, 62]))
    assert likeness[0] < likeness[1] < HIGHEST_BAR < likeness[2]
    near = np.concatenate([neighbors({7: 60, 60: 7, 9: 61, 61: 9, 11: 62}), [[11, 5, 6]]])
    assert near_sets(pixels).bar == LOWEST_BAR
    for own_bar, found in ((LOWEST_BAR, [7, 9, 11, 60, 61, 62]), (HIGHEST_BAR, [11, 62]), (np.inf, [])):
        joined = joined_by_embedding(alone, pixels, rows, near, own_bar)
        assert np.flatnonzero(joined >= 0).tolist() == found


def test_the_bar_of_written_digits_is_handed_on() -> None:
    files = sorted((Path(__file__).resolve().parents[2] / "sample_data" / "digits" / "train").rglob("*.png"))[:400]
    digits = pixels_of([np.asarray(Image.open(file).convert("RGB")).transpose(2, 0, 1) for file in files])
    assert copy_sets(digits).bar == np.inf
