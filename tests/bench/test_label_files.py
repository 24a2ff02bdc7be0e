"""Label files: every published format, and what is refused."""

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from scanmix_cli.bench.label_files import HUMAN_KEYS, read_labels
from scanmix_cli.errors import DataError

CLASSES = ("bird", "cat", "dog")
NOISY = [2, 0, 1, 1]
CLEAN = np.array([2, 0, 0, 1])


def cifar_n(path: Path, **replaced: object) -> Path:
    """A file as CIFAR-10N publishes it: a dictionary of arrays written by torch.save."""
    arrays = {"clean_label": CLEAN, "aggre_label": CLEAN, "worse_label": np.array(NOISY)}
    torch.save({**arrays, "random_label1": np.array([0, 0, 0, 0]), **replaced}, path)
    return path


def write(folder: Path, ending: str) -> Path:
    path = folder / f"labels.{ending}"
    if ending == "npy":
        np.save(path, np.array(NOISY, dtype=np.uint8))
    elif ending == "npz":
        np.savez(path, label=np.array(NOISY), index=np.arange(4))
    elif ending == "json":
        path.write_text(json.dumps(NOISY))
    elif ending == "csv":
        path.write_text("\ufefflabel\r\n2\r\n0\r\n1\r\n1\r\n", encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("ending", ["npy", "npz", "json", "csv"])
def test_every_format_gives_the_same_integers(tmp_path: Path, ending: str) -> None:
    labels = read_labels(write(tmp_path, ending), CLASSES, 4)
    assert labels.dtype == np.int64
    assert labels.tolist() == NOISY


def test_json_object_of_the_scanmix_release(tmp_path: Path) -> None:
    path = tmp_path / "0.20.json"
    path.write_text(json.dumps({"noise_labels": NOISY, "open_noise": [], "closed_noise": [2]}))
    assert read_labels(path, CLASSES, 4, CLEAN).tolist() == NOISY


def test_npz_key_is_chosen_or_the_only_one(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", anything=np.array(NOISY))
    assert read_labels(tmp_path / "one.npz", CLASSES, 4).tolist() == NOISY
    np.savez(tmp_path / "two.npz", a=np.array(NOISY), b=CLEAN)
    assert read_labels(tmp_path / "two.npz", CLASSES, 4, key="b").tolist() == CLEAN.tolist()
    with pytest.raises(DataError) as raised:
        read_labels(tmp_path / "two.npz", CLASSES, 4)
    assert str(raised.value) == f"label file {tmp_path / 'two.npz'} holds several columns: choose one of a, b"
    with pytest.raises(DataError) as raised:
        read_labels(tmp_path / "two.npz", CLASSES, 4, key="c")
    assert str(raised.value) == f"label file {tmp_path / 'two.npz'} has no 'c': choose one of a, b"


@pytest.mark.parametrize(
    ("text", "classes", "expected"),
    [
        ("label\ndog\nbird\ncat\ncat\n", CLASSES, NOISY),
        ("2\n0\n1\n1\n", CLASSES, NOISY),  # no header
        ("file,label\na.png,dog\nb.png,bird\nc.png,cat\nd.png,cat\n", CLASSES, NOISY),
        ("label\n2\n10\n1\n10\n", ("1", "10", "2"), [2, 1, 0, 1]),  # names, not numbers
        ('label\n"a, b"\nc\nc\nc\n', ("a, b", "c"), [0, 1, 1, 1]),
        ("label\nNA\nnull\nNA\nnull\n", ("NA", "null"), [0, 1, 0, 1]),
    ],
)
def test_csv_columns(tmp_path: Path, text: str, classes: tuple[str, ...], expected: list[int]) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text, encoding="utf-8")
    assert read_labels(path, classes, 4).tolist() == expected


@pytest.mark.parametrize("zipped", [True, False])
def test_cifar_n_file(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "CIFAR-10_human.pt"
    torch.save(
        {"clean_label": CLEAN, "worse_label": np.array(NOISY), "random_label1": [0, 0, 1, 1]},
        path,
        _use_new_zipfile_serialization=zipped,
    )
    assert read_labels(path, CLASSES, 4, CLEAN, HUMAN_KEYS["human-worst"]).tolist() == NOISY
    assert read_labels(path, CLASSES, 4, CLEAN, HUMAN_KEYS["human-rand1"]).tolist() == [0, 0, 1, 1]
    with pytest.raises(DataError) as raised:
        read_labels(path, CLASSES, 4, CLEAN)
    known = "clean_label, worse_label, random_label1"
    assert str(raised.value) == f"label file {path} holds several columns: choose one of {known}"


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_cifar_n_files_of_numpy_1_and_2(tmp_path: Path, module: str) -> None:
    """The published files were written under NumPy 1, which names its rebuilding function otherwise."""
    source = cifar_n(tmp_path / "new.pt")
    target = tmp_path / "CIFAR-10_human.pt"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("data.pkl"):
                assert b"numpy._core.multiarray\n" in content or b"numpy.core.multiarray\n" in content
                content = content.replace(b"numpy._core.multiarray\n", b"numpy.core.multiarray\n")
                content = content.replace(b"numpy.core.multiarray\n", f"{module}\n".encode())
            new.writestr(name, content)
    assert read_labels(target, CLASSES, 4, CLEAN, "worse_label").tolist() == NOISY


def test_cifar_100n_file_needs_no_key(tmp_path: Path) -> None:
    path = tmp_path / "CIFAR-100_human.pt"
    coarse = np.zeros(4, int)
    torch.save({"clean_label": CLEAN, "noisy_label": np.array(NOISY), "noisy_coarse_label": coarse}, path)
    assert read_labels(path, CLASSES, 4, CLEAN).tolist() == NOISY


def test_another_image_order_is_refused(tmp_path: Path) -> None:
    path = cifar_n(tmp_path / "CIFAR-10_human.pt")
    with pytest.raises(DataError) as raised:
        read_labels(path, CLASSES, 4, CLEAN[::-1], "worse_label")
    assert str(raised.value) == (
        f"label file {path} is for another image order: 2 of its 4 clean labels differ, first in row 0 (2 against 1); "
        "use it with the data set it was published for"
    )
    cifar_n(path, clean_label=np.array([2, 0, 0]))
    with pytest.raises(DataError) as raised:
        read_labels(path, CLASSES, 4, CLEAN, "worse_label")
    assert str(raised.value) == f"label file {path} has 3 clean labels for 4 images: get the file again"


class Payload:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return (Path.touch, (self.marker,))


@pytest.mark.parametrize("ending", ["pt", "npy", "npz"])
def test_files_that_would_run_code_are_refused(tmp_path: Path, ending: str) -> None:
    marker, path = tmp_path / "ran", tmp_path / f"labels.{ending}"
    harmful = np.array([Payload(marker)], dtype=object)
    if ending == "pt":
        torch.save({"worse_label": Payload(marker)}, path)
    elif ending == "npy":
        np.save(path, harmful, allow_pickle=True)
    else:
        np.savez(path, label=harmful)
    with pytest.raises(DataError, match=r"is not a (plain NumPy|dictionary of label arrays)"):
        read_labels(path, CLASSES, 1)
    assert not marker.exists()


@pytest.mark.parametrize("ending", ["npy", "npz", "pt"])
@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", pickle.dumps([1, 2], protocol=2)])
def test_damaged_binary_files(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"labels.{ending}"
    path.write_bytes(content)
    with pytest.raises(DataError, match=f"label file .*labels.{ending} (is not a|holds no dictionary)"):
        read_labels(path, CLASSES, 2)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.json",
            "[2, 0, 1]",
            "has 3 labels for 4 images: give one per image, in data order (without those that cannot be read or have "
            "no label), or name them in a CSV with a column file_name",
        ),
        ("a.json", "[2, 0, 3, 1]", "has class 3 in row 2: give numbers from 0 to 2"),
        ("a.json", "[2, 0, -1, 1]", "has class -1 in row 2: give numbers from 0 to 2"),
        ("a.json", "[2.0, 0.0, 1.0, 1.0]", "holds float64 values: give integer class numbers"),
        ("a.json", "[true, false, true, true]", "holds bool values: give integer class numbers"),
        ("a.json", "[[2, 0], [1, 1]]", "holds an array of 2 dimensions: give one class number per image"),
        ("a.json", "[[2, 0], [1]]", "holds an array of 2 dimensions: give one class number per image"),
        ("a.json", '{"labels": [1]}', "holds no list: write a flat list, or an object with a list noise_labels"),
        ("a.csv", "", "is empty: write one label a line under a header"),
        ("a.csv", "label\n2\n0\n\n1\nx\n", "has 'x' in row 3, which is no class: use bird, cat, dog"),
        ("a.csv", "label\ncat\ndog\ncat \ncat\n", "has 'cat ' in row 2, which is no class: use bird, cat, dog"),
        ("a.csv", "file,label\na,1\nb\n", "has 1 cells in row 1 under 2 columns: mend it"),
        ("a.txt", "1", "has the ending '.txt': give one of .npy, .npz, .json, .csv, .pt"),
    ],
)
def test_contents_that_do_not_fit(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_labels(path, CLASSES, 4)
    assert str(raised.value) == f"label file {path} {message}"


def test_missing_and_unreadable_text_files(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        read_labels(tmp_path / "a.npy", CLASSES, 4)
    assert str(raised.value) == f"label file {tmp_path / 'a.npy'} does not exist: check the path"
    for name in ("a.json", "a.csv"):
        (tmp_path / name).write_bytes("label\né".encode("utf-16"))
        with pytest.raises(DataError, match=r"is not (JSON|a UTF-8 CSV table)"):
            read_labels(tmp_path / name, CLASSES, 4)


def test_long_class_lists_are_cut_in_messages(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("label\nx\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"which is no class: use c0, .*, c9 and 2 more$"):
        read_labels(path, [f"c{k}" for k in range(12)], 1)
