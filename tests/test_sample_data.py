"""The sample data set is what its README says, and its script makes it again."""

import csv
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from scanmix_cli.data.sources import read_samples

SAMPLE_DATA = Path(__file__).resolve().parents[1] / "sample_data"
DIGITS = SAMPLE_DATA / "digits"


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def image_paths(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))


@pytest.fixture(scope="module")
def make_digits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_digits", SAMPLE_DATA / "make_digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_digits"] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def test_the_script_makes_the_same_files_again(make_digits: ModuleType, tmp_path: Path) -> None:
    """Pixels rather than bytes of the images: another zlib may pack them differently."""
    make_digits.write(tmp_path, make_digits.choose())
    assert image_paths(tmp_path) == image_paths(DIGITS)
    for table in ("labels.csv", "truth.csv"):
        assert (tmp_path / table).read_bytes() == (DIGITS / table).read_bytes()
    for path in image_paths(DIGITS):
        with Image.open(DIGITS / path) as shipped, Image.open(tmp_path / path) as made:
            np.testing.assert_array_equal(np.asarray(made), np.asarray(shipped), err_msg=path)


def test_another_seed_makes_other_errors(make_digits: ModuleType) -> None:
    paths = [[digit.path for digit in make_digits.choose(seed)] for seed in (0, 1)]
    assert paths[0] != paths[1]


def test_table_and_folders_hold_the_same_rows_in_the_same_order() -> None:
    rows = read_table(DIGITS / "labels.csv")
    assert [row["file_name"] for row in rows] == image_paths(DIGITS)
    for row in rows:
        assert row["file_name"].split("/")[:2] == [row["split"], row["label"]]


def test_one_training_image_in_five_is_in_a_wrong_folder() -> None:
    truth = read_table(DIGITS / "truth.csv")
    assert [row["file_name"] for row in truth] == image_paths(DIGITS / "train")
    wrong = sum(row["file_name"].split("/")[0] != row["label"] for row in truth)
    assert (len(truth), wrong, len(image_paths(DIGITS / "test"))) == (1200, 240, 400)


def test_images_are_small_grey_and_named_without_their_class() -> None:
    names = sorted(path.rsplit("/", 1)[-1] for path in image_paths(DIGITS))
    assert names == [f"digit_{number:04d}.png" for number in range(1, 1601)]
    for path in image_paths(DIGITS):
        with Image.open(DIGITS / path) as image:
            assert (image.mode, image.size) == ("L", (32, 32)), path


def test_the_whole_folder_stays_under_two_megabytes() -> None:
    assert sum(path.stat().st_size for path in SAMPLE_DATA.rglob("*") if path.is_file()) < 2_000_000


def test_folder_and_table_are_read_as_the_same_samples_and_the_truth_is_no_part_of_them() -> None:
    folder, table = read_samples(DIGITS), read_samples(DIGITS / "labels.csv")
    columns = ["filename", "split", "given_label"]
    pd.testing.assert_frame_equal(folder.table[columns], table.table[columns])
    assert (folder.classes, folder.fingerprint()) == (table.classes, table.fingerprint())
    assert list(folder.table["filename"]) == image_paths(DIGITS)
    assert folder.extra_columns == table.extra_columns == ()
