"""Near copies among pictures that are none."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from scanmix_cli.data.near_duplicates import correlations, near_sets
from scanmix_cli.data.pixels import Pixels

SIDE = 32


def picture(seed: int) -> np.ndarray:
    """uint8 (3, 40, 40): soft blots of its own, as photographs have."""
    noise = np.random.default_rng(seed).integers(0, 256, (40, 40, 3)).astype(np.uint8)
    soft = np.asarray(Image.fromarray(noise).filter(ImageFilter.GaussianBlur(1.5)), np.float32)
    return np.clip(128 + 3 * (soft - soft.mean()), 0, 255).astype(np.uint8).transpose(2, 0, 1)


def pixels_of(images: list[np.ndarray]) -> Pixels:
    count = len(images)
    codes = np.array(["VALID"] * count, dtype=object)
    return Pixels(np.stack(images), np.arange(count), codes, codes, np.full((count, 2), SIDE, np.int32))


def test_moved_recoloured_and_equal_pictures_are_found_among_others() -> None:
    whole = picture(0)
    original = whole[:, 4:36, 4:36]
    moved = whole[:, 5:37, 2:34]
    darker = (original * 0.5 + 20).astype(np.uint8)[::-1]  # and other colours
    others = [picture(seed)[:, 4:36, 4:36] for seed in range(1, 60)]
    sets = near_sets(pixels_of([others[0], original, *others[1:], moved, darker, original])).sets
    assert np.flatnonzero(sets >= 0).tolist() == [1, 60, 61, 62]
    assert set(sets[[1, 60, 61, 62]]) == {0}


def test_correlation_of_a_moved_picture_is_near_one_and_that_of_another_near_none() -> None:
    whole = picture(3)
    images = np.stack([whole[:, 4:36, 4:36], whole[:, 6:38, 3:35], picture(4)[:, 4:36, 4:36]])
    moved, other = correlations(images, np.array([0, 0]), np.array([1, 2]))
    assert moved > 0.8
    assert other < 0.5


def test_many_pictures_are_read_in_parts() -> None:
    images, asked = np.stack([picture(seed) for seed in range(300)]), []

    class Cache:
        shape = images.shape

        def __getitem__(self, places: np.ndarray) -> np.ndarray:
            asked.append(len(places))
            return images[places]

    left, right = np.arange(150), np.arange(150, 300)
    found = correlations(Cache(), left, right)  # type: ignore[arg-type]
    assert np.array_equal(found, correlations(images, left, right))
    assert (sum(asked), max(asked)) == (300, 100)


def test_flat_and_smooth_pictures_are_no_copies_of_each_other() -> None:
    slope = np.linspace(0, 200, SIDE)
    smooth = [np.broadcast_to(slope[None, None] * share, (3, SIDE, SIDE)).astype(np.uint8) for share in (1.0, 0.6)]
    flat = [np.full((3, SIDE, SIDE), value, np.uint8) for value in (10, 11, 200)]
    assert (near_sets(pixels_of([*smooth, *flat])).sets == -1).all()


def test_a_single_picture_and_none_have_no_copies() -> None:
    assert near_sets(pixels_of([picture(0)])).sets.tolist() == [-1]


def test_written_digits_are_no_copies_of_one_another() -> None:
    files = sorted((Path(__file__).resolve().parents[2] / "sample_data" / "digits" / "train").rglob("*.png"))[:400]
    images = [np.asarray(Image.open(file).convert("RGB")).transpose(2, 0, 1) for file in files]
    assert len(images) == 400
    assert (near_sets(pixels_of(images)).sets == -1).all()


def grained(image: np.ndarray, seed: int, strength: float) -> np.ndarray:
    """The picture under a grain of its own, uint8 (3, 32, 32)."""
    grain = np.random.default_rng(seed).normal(0, strength, image.shape[1:])
    return np.clip(image + grain, 0, 255).astype(np.uint8)


def test_the_bar_lies_above_what_pictures_of_the_set_share() -> None:
    cut = picture(1000)[:, 4:36, 4:36].astype(np.float32)
    own = [picture(seed)[:, 4:36, 4:36].astype(np.float32) for seed in range(60)]
    garments = [0.6 * cut + 0.4 * one for one in own]
    for pictures, found in ((own, True), (garments, False)):
        images = [one.astype(np.uint8) for one in pictures]
        images.append(grained(images[7], 1, 10))
        (likeness,) = correlations(np.stack(images), np.array([7]), np.array([60]))
        assert 0.7 < likeness < 0.95
        sets = near_sets(pixels_of(images)).sets
        assert np.flatnonzero(sets >= 0).tolist() == ([7, 60] if found else [])
    again = [one.astype(np.uint8) for one in garments]
    assert np.flatnonzero(near_sets(pixels_of([*again, grained(again[7], 1, 3)])).sets >= 0).tolist() == [7, 60]


def test_a_horizon_alone_makes_no_copy() -> None:
    waves = [picture(seed)[:, 4:36, 4:36].astype(np.float32) for seed in range(60)]
    horizon = np.where(np.arange(SIDE) < 15, 220.0, 60.0)[None, :, None]
    images = [(0.85 * horizon + 0.15 * one).astype(np.uint8) for one in waves[:2]]
    likeness = correlations(np.stack(images), np.array([0]), np.array([1]))
    assert likeness < 0.6
