"""CIFAR batches: layout, order, checksums and safe reading, on batches of a few images."""

import hashlib
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torchvision

from scanmix_cli.bench.cifar import FOLDERS, load_cifar
from scanmix_cli.bench.restricted_pickle import load_plain_pickle
from scanmix_cli.errors import DataError, RunError

TEN = [f"class{k}" for k in range(10)]


def pixels(seed: int, count: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 3072), dtype=np.uint8)


def write_cifar10(root: Path) -> Path:
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for k, file in enumerate([*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]):
        batch = {"batch_label": file, "labels": [k, 9 - k], "data": pixels(k), "filenames": ["a.png", "b.png"]}
        (folder / file).write_bytes(pickle.dumps(batch, protocol=2))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": TEN, "num_vis": 3072}, protocol=2))
    return folder


@pytest.mark.parametrize("inner", [False, True])
def test_cifar10_in_batch_order(tmp_path: Path, inner: bool) -> None:
    folder = write_cifar10(tmp_path)
    data = load_cifar("cifar10", folder if inner else tmp_path)
    assert data.classes == tuple(TEN)
    assert data.train_labels.tolist() == [0, 9, 1, 8, 2, 7, 3, 6, 4, 5]
    assert data.test_labels.tolist() == [5, 4]
    assert data.train_images is not None
    assert data.train_images.dtype == np.uint8
    assert data.train_images.shape == (10, 3, 32, 32)
    assert np.array_equal(data.train_images[2:4], pixels(1).reshape(2, 3, 32, 32))
    assert data.train_paths is None
    assert data.train_noisy is None
    assert data.clean_known
    assert not data.canonical
    assert data.notes == (
        f"10 training and 2 test images read from {folder}",
        "the image files differ from the published ones (checksum)",
    )


def test_checksums_tell_canonical_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_cifar10(tmp_path)

    def listed(*files: str) -> list[list[str]]:
        return [[file, hashlib.md5((folder / file).read_bytes()).hexdigest()] for file in files]

    monkeypatch.setattr(torchvision.datasets.CIFAR10, "train_list", listed(*(f"data_batch_{k}" for k in range(1, 6))))
    monkeypatch.setattr(torchvision.datasets.CIFAR10, "test_list", listed("test_batch"))
    data = load_cifar("cifar10", tmp_path)
    assert data.canonical
    assert data.notes == (f"10 training and 2 test images read from {folder}",)


def test_the_folders_are_those_of_torchvision() -> None:
    published = {"cifar10": torchvision.datasets.CIFAR10, "cifar100": torchvision.datasets.CIFAR100}
    assert {name: one.base_folder for name, one in published.items()} == FOLDERS


def test_cifar100_uses_the_fine_labels(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    for file, labels in (("train", [3, 99, 0]), ("test", [50])):
        batch = {"data": pixels(0, len(labels)), "fine_labels": labels, "coarse_labels": [0] * len(labels)}
        (folder / file).write_bytes(pickle.dumps(batch, protocol=2))
    names = {"fine_label_names": [f"fine{k}" for k in range(100)], "coarse_label_names": ["coarse"] * 20}
    (folder / "meta").write_bytes(pickle.dumps(names, protocol=2))
    data = load_cifar("cifar100", tmp_path)
    assert (data.name, len(data.classes), data.classes[99]) == ("cifar100", 100, "fine99")
    assert data.train_labels.tolist() == [3, 99, 0]
    assert data.test_labels.tolist() == [50]


def test_batches_of_python_2(tmp_path: Path) -> None:
    """The published batches were pickled by Python 2, with string opcodes that Python 3 no longer writes."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    raw = pixels(7, 1).tobytes()
    array = b"cnumpy.core.multiarray\n_reconstruct\n" + b"cnumpy\nndarray\n" + b"K\x00\x85" + text(b"b") + b"\x87R"
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R"
    dtype += b"(K\x03" + text(b"|") + b"NNN" + b"J\xff\xff\xff\xff" * 2 + b"K\x00tb"
    state = (
        b"(K\x01" + b"K\x01" + b"M\x00\x0c" + b"\x86" + dtype + b"\x89" + b"T" + struct.pack("<i", 3072) + raw + b"tb"
    )
    batch = b"\x80\x02}(" + text(b"data") + array + state + text(b"labels") + b"](K\x04e" + b"u."
    path = tmp_path / "data_batch_1"
    path.write_bytes(batch)
    content = load_plain_pickle(path)
    assert content["labels"] == [4]
    assert np.array_equal(content["data"], pixels(7, 1))


class Payload:
    def __reduce__(self) -> tuple:
        return (os.mkdir, ("never-made",))


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_batch_that_would_run_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int) -> None:
    folder = write_cifar10(tmp_path)
    monkeypatch.chdir(tmp_path)
    (folder / "data_batch_3").write_bytes(pickle.dumps({"data": Payload()}, protocol=protocol))
    with pytest.raises(DataError) as raised:
        load_cifar("cifar10", tmp_path)
    assert str(raised.value) == (
        f"{folder / 'data_batch_3'} asks for {os.name}.mkdir, which plain data never needs: "
        "get the file from its publisher"
    )
    assert not (tmp_path / "never-made").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            np.array([Payload()], dtype=object),
            "asks for an array of objects, which plain data never needs: get the file",
        ),
        (b"bytes", None),  # older protocols write bytes as a call of a codec
    ],
)
def test_arrays_of_objects_are_refused_and_bytes_are_read(tmp_path: Path, content: Any, message: str | None) -> None:
    path = tmp_path / "batch"
    path.write_bytes(pickle.dumps(content, protocol=2))
    if message is None:
        assert load_plain_pickle(path) == content
        return
    with pytest.raises(DataError, match=message):
        load_plain_pickle(path)


def test_only_the_latin1_codec_may_be_called(tmp_path: Path) -> None:
    path = tmp_path / "batch"
    path.write_bytes(b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.")
    with pytest.raises(DataError, match="asks for the codec zip, which plain data never needs"):
        load_plain_pickle(path)


@pytest.mark.parametrize("content", [b"", b"<html>", pickle.dumps([1], protocol=2)[:-3]])
def test_damaged_batches(tmp_path: Path, content: bytes) -> None:
    folder = write_cifar10(tmp_path)
    (folder / "test_batch").write_bytes(content)
    with pytest.raises(DataError, match=r"test_batch is damaged \(.*\): get the file from its publisher again$"):
        load_cifar("cifar10", tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [1]}, "does not hold one number of labels for each of its 2 images: get the file again"),
        ({"labels": [1, 10]}, "has label 10 in row 1 with 10 classes: get the file again"),
        ({"data": pixels(0)[:, :3000]}, "holds uint8 data of shape (2, 3000): rows of 3072 bytes are needed"),
        ({"data": None}, "holds object data of shape (): rows of 3072 bytes are needed"),
    ],
)
def test_batches_that_do_not_fit(tmp_path: Path, change: dict, message: str) -> None:
    path = write_cifar10(tmp_path) / "data_batch_2"
    path.write_bytes(pickle.dumps({**pickle.loads(path.read_bytes()), **change}, protocol=2))
    with pytest.raises(DataError) as raised:
        load_cifar("cifar10", tmp_path)
    assert str(raised.value) == f"{path} {message}"


def test_files_of_another_kind(tmp_path: Path) -> None:
    folder = write_cifar10(tmp_path)
    source = "get the python version from the CIFAR page of the University of Toronto"
    (folder / "data_batch_1").write_bytes(pickle.dumps([1, 2], protocol=2))
    with pytest.raises(DataError) as raised:
        load_cifar("cifar10", tmp_path)
    assert str(raised.value) == f"{folder / 'data_batch_1'} has no data and labels: {source}"
    (folder / "batches.meta").write_bytes(pickle.dumps({"names": TEN}, protocol=2))
    with pytest.raises(DataError) as raised:
        load_cifar("cifar10", tmp_path)
    assert str(raised.value) == f"{folder / 'batches.meta'} holds no list label_names: {source}"
    (folder / "batches.meta").unlink()
    with pytest.raises(DataError) as raised:
        load_cifar("cifar10", tmp_path)
    missing = (
        f"{folder / 'batches.meta'} cannot be read (No such file or directory): check that the data set is complete"
    )
    assert str(raised.value) == missing


def test_missing_data_names_the_layout(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        load_cifar("cifar100", tmp_path)
    assert str(raised.value) == (
        f"cifar100 is not in {tmp_path}: put the folder cifar-100-python of the python version from the CIFAR page of "
        "the University of Toronto there, or allow the download"
    )


def test_download_is_asked_for_with_the_published_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple] = []

    def fetch(url: str, root: str, filename: str, md5: str) -> None:
        calls.append((url.rpartition("/")[2], root, filename, md5))
        write_cifar10(Path(root))

    monkeypatch.setattr("torchvision.datasets.utils.download_and_extract_archive", fetch)
    assert len(load_cifar("cifar10", tmp_path, download=True).train_labels) == 10
    name = "cifar-10-python.tar.gz"
    assert calls == [(name, str(tmp_path), name, "c58f30108f718f92721af3b95e74349a")]
    load_cifar("cifar10", tmp_path, download=True)
    assert len(calls) == 1


def test_a_failed_download_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(*_args: str, **_options: str) -> None:
        raise OSError("no route")

    monkeypatch.setattr("torchvision.datasets.utils.download_and_extract_archive", fetch)
    with pytest.raises(RunError) as raised:
        load_cifar("cifar10", tmp_path, download=True)
    assert str(raised.value) == (
        "cifar10 could not be downloaded (no route): get it from the CIFAR page of the University of Toronto and "
        f"unpack it in {tmp_path}"
    )
