"""A table of labels that names its images is put in the order of the data, or refused."""

from pathlib import Path

import numpy as np
import pytest
from toy_sets import write_folder

from scanmix_cli.bench.injected import noisy_labels
from scanmix_cli.bench.label_files import read_labels
from scanmix_cli.bench.request import BenchRequest
from scanmix_cli.bench.setup import read_own
from scanmix_cli.errors import DataError

CLASSES = ("bird", "cat", "dog")
NAMES = ("a/1.png", "a/2.png", "b/3.png")


def images(folder: Path) -> list[tuple[str, str]]:
    return [(name, str(folder / "data" / name)) for name in NAMES]


def table(folder: Path, *lines: str, header: str = "file_name,label") -> Path:
    path = folder / "labels.csv"
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "lines",
    [
        ("a/1.png,dog", "a/2.png,bird", "b/3.png,cat"),
        ("b/3.png,cat", "a/1.png,dog", "a/2.png,bird"),
        ("b\\3.png,cat", "./a/1.png,dog", "a//2.png,bird", "c/4.png,bird"),  # one more than the data have
        ("data/b/3.png,cat", "data/a/1.png,dog", "data/a/2.png,bird"),  # from the file's own folder on
        ("x/3.png,cat", "2.png,bird", "1.png,dog"),
        ("b/3.png,1", "a/1.png,2", "a/2.png,0"),
        ("b/3.png,cat", "a/1.png,dog", "a/2.png,bird", "a/1.png,dog"),
    ],
)
def test_labels_go_by_name(tmp_path: Path, lines: tuple[str, ...]) -> None:
    for header in ("file_name,label", "Image Path,noisy_label", "path,given_label"):
        path = table(tmp_path, *lines, header=header)
        assert read_labels(path, CLASSES, 3, images=images(tmp_path)).tolist() == [2, 0, 1]


def test_clean_labels_are_compared_by_name_too(tmp_path: Path) -> None:
    path = table(tmp_path, "b/3.png,cat,cat", "a/1.png,dog,bird", "a/2.png,bird,dog", header="path,label,clean_label")
    assert read_labels(path, CLASSES, 3, np.array([0, 2, 1]), images=images(tmp_path)).tolist() == [2, 0, 1]
    with pytest.raises(DataError, match="is for another image order"):
        read_labels(path, CLASSES, 3, np.array([2, 0, 1]), images=images(tmp_path))


def test_without_names_labels_are_in_data_order(tmp_path: Path) -> None:
    path = table(tmp_path, "b/3.png,cat", "a/1.png,dog", "a/2.png,bird")
    assert read_labels(path, CLASSES, 3).tolist() == [1, 2, 0]  # such data are arrays of images
    path = table(tmp_path, "2", "0", "1", header="label")
    assert read_labels(path, CLASSES, 3, images=images(tmp_path)).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (("a/1.png,dog", "a/2.png,cat"), "does not name 1 of the 3 images in column 'file_name', such as 'b/3.png': "),
        (("0,dog", "1,cat", "2,cat"), "does not name 3 of the 3 images in column 'file_name', such as 'a/1.png': "),
        (("b/3.png,cat", "a/1.png,dog", "a/2.png,dog", "a/1.png,cat"), "gives 'a/1.png' two labels: keep one of the"),
        (("b/3.png,cat", "a/1.png,dog", "a/2.png,dog", "c/4.png,cow"), "has 'cow' in row 3, which is no class: use"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, lines: tuple[str, ...], sentence: str) -> None:
    path = table(tmp_path, *lines)
    with pytest.raises(DataError) as error:
        read_labels(path, CLASSES, 3, images=images(tmp_path))
    assert str(error.value).startswith(f"label file {path} {sentence}")


def test_file_names_alone_must_not_be_alike(tmp_path: Path) -> None:
    alike = [("a/1.png", str(tmp_path / "a/1.png")), ("b/1.png", str(tmp_path / "b/1.png"))]
    with pytest.raises(DataError, match=r"does not name 2 of the 2 images"):
        read_labels(table(tmp_path, "1.png,cat", "2.png,dog"), CLASSES, 2, images=alike)


def test_a_folder_of_ones_own_has_names(tmp_path: Path) -> None:
    data = read_own(write_folder(tmp_path / "own"), {})
    rows = np.arange(len(data.train_labels))[::2]  # as if the others could not be read
    named, wrong = data.named(rows), (data.train_labels[rows] + 1) % 3
    lines = [f"{name},{data.classes[label]}" for (name, _), label in zip(named, wrong, strict=True)]
    path = table(tmp_path, *reversed(lines))
    asked = BenchRequest(str(tmp_path / "own"), tmp_path / "out", tmp_path, noise=f"file:{path}")
    assert noisy_labels(asked, data.classes, data.train_labels[rows], None, 0, named).labels.tolist() == wrong.tolist()
