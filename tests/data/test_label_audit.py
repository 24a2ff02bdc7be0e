"""What is said about labels and class sizes, and which data sets are refused after decoding."""

from pathlib import Path

import pytest
from image_files import make_folder, write_table

from scanmix_cli.data.audit import require_readable, size_warnings
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import DataError

RENAME = "rename it if they are one class."


def counted(tmp_path: Path, sizes: dict[str, int]) -> Samples:
    """A table with so many rows per class; the files do not matter."""
    labels = [label for label, size in sizes.items() for _ in range(size)]
    text = "file_name,label\n" + "".join(f"{k}.png,{label}\n" for k, label in enumerate(labels))
    (tmp_path / "0.png").touch()
    return read_samples(write_table(tmp_path / "t.csv", text))


def test_ordinary_set_gives_no_warning(tmp_path: Path) -> None:
    assert counted(tmp_path, {"cat": 150, "dog": 60}).warnings == ()
    assert size_warnings({"cat": 150, "dog": 60, "never seen": 0}) == []


@pytest.mark.parametrize(
    ("sizes", "warning"),
    [
        (
            {"a": 3, "b": 3},
            "Only 6 labelled training images in 2 classes; "
            "with fewer than 200 images or 20 per class, scores are unreliable.",
        ),
        (
            {f"{k:04}": 2 for k in range(2000)},
            "Only 4000 labelled training images in 2000 classes; "
            "with fewer than 200 images or 20 per class, scores are unreliable.",
        ),
        ({"many": 400, "few": 40}, "Class sizes differ strongly: 'many' has 400 training images, 'few' has 40."),
        (
            {"cat": 100, "Cat": 100, "cat  ": 100, "dog": 100},
            "Classes 'Cat', 'cat', 'cat  ' differ only by case, space or hyphen; rename them if they are one class.",
        ),
        (
            {"é": 100, "e\u0301": 100},
            "Classes 'e\u0301', 'é' differ only by the way their letters are stored; "
            "rename them if they are one class.",
        ),
        (
            {"t-shirt": 100, "T_Shirt": 100, "T  shirt": 100, "hat": 100},
            "Classes 'T  shirt', 'T_Shirt', 't-shirt' differ only by case, space or hyphen; "
            "rename them if they are one class.",
        ),
    ],
)
def test_odd_sets_are_read_with_one_warning(tmp_path: Path, sizes: dict[str, int], warning: str) -> None:
    samples = counted(tmp_path, sizes)
    assert [*samples.warnings, *size_warnings(sizes)] == [warning]
    assert len(samples) == sum(sizes.values())
    assert samples.classes == tuple(sorted(sizes))


@pytest.mark.parametrize(
    ("sizes", "warning"),
    [
        (
            {"labrador": 300, "labradr": 30, "poodle": 300},
            "Class 'labradr' (30 training images) is spelt almost as 'labrador' (300); " + RENAME,
        ),
        (
            {"labrador": 300, "labrdaor": 30},
            "Class 'labrdaor' (30 training images) is spelt almost as 'labrador' (300); " + RENAME,
        ),
        (
            {"dog": 400, "dogs": 30, "cat": 400},
            "Class 'dogs' (30 training images) is spelt almost as 'dog' (400); " + RENAME,
        ),
        (
            {"Grün grau": 1, "grün-blau": 400, "Grünblau": 4},
            "Class 'Grünblau' (4 training images) is spelt almost as 'grün-blau' (400); " + RENAME,
        ),
    ],
)
def test_rare_names_next_to_a_frequent_one_are_said(tmp_path: Path, sizes: dict[str, int], warning: str) -> None:
    assert warning in counted(tmp_path, sizes).warnings


@pytest.mark.parametrize(
    "sizes",
    [
        {"horse": 200, "house": 150},  # both frequent
        {"cat": 400, "car": 21, "cut": 21, "at": 21},  # short words
        {"class10": 400, "class11": 21, "n01440764": 400, "n01440765": 21},  # numbers
    ],
)
def test_names_that_may_well_be_different_classes_are_not(tmp_path: Path, sizes: dict[str, int]) -> None:
    assert not any("spelt" in warning for warning in counted(tmp_path, sizes).warnings)


def test_long_lists_of_classes_are_cut(tmp_path: Path) -> None:
    make_folder(tmp_path, ["a/1.png", "b/1.png"])
    for k in range(8):
        (tmp_path / f"empty{k}").mkdir()
    assert "Classes without images: 'empty0', 'empty1', 'empty2', 'empty3', 'empty4' and 3 more." in (
        read_samples(tmp_path).warnings
    )


def require(folder: Path) -> None:
    samples = read_samples(folder)
    require_readable(samples, load_pixels(samples, 8, workers=1, cache_dir=None))


def test_two_readable_classes_are_enough(tmp_path: Path) -> None:
    make_folder(tmp_path, ["a/1.png", "b/1.png"])
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "1.png").write_bytes(b"garbage")
    require(tmp_path)


def test_set_with_one_readable_class_is_refused(tmp_path: Path) -> None:
    make_folder(tmp_path, ["train/a/1.png", "train/b/1.png", "val/b/1.png"])
    (tmp_path / "train" / "b" / "1.png").write_bytes(b"garbage")
    with pytest.raises(DataError) as caught:
        require(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path.name} has readable training images of fewer than two classes (1 unreadable file); "
        "mend the files that `scanmix check DATA --out bad_files.csv` lists"
    )


def test_set_without_a_readable_image_is_refused(tmp_path: Path) -> None:
    make_folder(tmp_path, ["a/1.png", "b/1.png"])
    for name in ("a/1.png", "b/1.png"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(DataError) as caught:
        require(tmp_path)
    assert str(caught.value) == (
        f"none of the 2 files of {tmp_path.name} can be read; mend the files or the paths, "
        f"the first being {tmp_path / 'a/1.png'}: the file is empty"
    )
