"""Copies are found by their pixels, whatever the file format, and never confused with other pictures."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from image_files import picture

from scanmix_cli.data.duplicates import exact_duplicates
from scanmix_cli.data.pixels import Pixels, load_pixels
from scanmix_cli.data.sources import read_samples


def test_copies_within_and_across_classes_and_formats(tmp_path: Path) -> None:
    places = {"a/1.png": 1, "a/2.png": 2, "a/3.bmp": 1, "b/1.png": 3, "b/2.tif": 2, "b/3.png": 1, "b/4.png": 4}
    for name, seed in places.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        picture(seed).save(tmp_path / name)
    (tmp_path / "a" / "0.png").write_bytes(b"garbage")
    (tmp_path / "b" / "5.png").write_bytes(b"garbage")
    pixels = load_pixels(read_samples(tmp_path), 8, workers=1, cache_dir=None)
    assert exact_duplicates(pixels).tolist() == [-1, 0, 1, 0, -1, 1, 0, -1, -1]


def test_same_thumbnail_of_pictures_of_other_size_is_no_copy(tmp_path: Path) -> None:
    for name, width in (("a", 8), ("b", 9)):
        (tmp_path / name).mkdir()
        picture(0).resize((1, 1)).resize((width, width)).save(tmp_path / name / "1.png")
    pixels = load_pixels(read_samples(tmp_path), 8, workers=1, cache_dir=None)
    np.testing.assert_array_equal(pixels.images[0], pixels.images[1])
    assert exact_duplicates(pixels).tolist() == [-1, -1]


@given(st.lists(st.integers(-1, 4), max_size=30))
def test_sets_are_the_groups_of_equal_pictures_by_first_appearance(kinds: list[int]) -> None:
    """`kinds` says which picture a row holds, -1 an unreadable one."""
    rows = np.array([k for k, kind in enumerate(kinds) if kind >= 0], np.int64)
    images = np.array([np.full((3, 2, 2), kinds[k], np.uint8) for k in rows], np.uint8).reshape(-1, 3, 2, 2)
    codes = np.array(["VALID" if kind >= 0 else "ERROR_CORRUPT_IMAGE" for kind in kinds], object)
    sizes = np.array([[2, 2] if kind >= 0 else [0, 0] for kind in kinds], np.int32).reshape(-1, 2)
    sets = exact_duplicates(Pixels(images, rows, codes, codes, sizes))
    repeated = list(dict.fromkeys(kind for kind in kinds if kind >= 0 and kinds.count(kind) > 1))
    assert sets.tolist() == [repeated.index(kind) if kind in repeated else -1 for kind in kinds]
