"""Mini-ImageNet with web noise, WebVision and Clothing1M, as tiny trees in the published layouts."""

from pathlib import Path

import numpy as np
import pytest

from scanmix_cli.bench.clothing1m import load_clothing1m
from scanmix_cli.bench.datasets import DATASETS, load_dataset
from scanmix_cli.bench.red_mini_imagenet import load_red_mini_imagenet
from scanmix_cli.bench.webvision import load_webvision
from scanmix_cli.errors import DataError, SettingsError


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def mini_imagenet(root: Path, famus: bool = False) -> Path:
    write(root / "split" / "red_noise_nl_0.4", "b.jpg 7", "a.jpg 99", "b.jpg 3")
    write(root / "split" / "blue_noise_nl_0.0", "a.jpg 99")
    write(root / "split" / "clean_validation", "t.jpg 7")
    if famus:
        touch(root / "7" / "b.jpg", root / "99" / "a.jpg", root / "3" / "b.jpg", root / "7" / "t.jpg")
    else:
        touch(root / "all_images" / "a.jpg", root / "all_images" / "b.jpg", root / "validation" / "7" / "t.jpg")
    return root


@pytest.mark.parametrize("inner", ["", "mini-imagenet"])
def test_red_mini_imagenet_keeps_rows_and_repeats(tmp_path: Path, inner: str) -> None:
    root = mini_imagenet(tmp_path / inner)
    data = load_dataset("red-mini-imagenet", tmp_path, level=0.4)
    assert data.train_paths == tuple(str(root / "all_images" / name) for name in ("b.jpg", "a.jpg", "b.jpg"))
    assert data.train_labels.tolist() == [7, 99, 3]
    assert data.train_noisy is not None
    assert data.train_noisy.tolist() == [7, 99, 3]
    assert data.test_paths == (str(root / "validation" / "7" / "t.jpg"),)
    assert data.test_labels.tolist() == [7]
    assert (data.name, len(data.classes), data.clean_known) == ("red-mini-imagenet", 100, False)
    assert list(data.classes) == sorted(data.classes)
    listed = root / "split" / "red_noise_nl_0.4"
    assert data.notes == (f"3 training images listed in {listed} and 1 test images, all present",)


def test_red_mini_imagenet_in_class_folders(tmp_path: Path) -> None:
    root = mini_imagenet(tmp_path, famus=True)
    data = load_red_mini_imagenet(tmp_path, 0.4)
    assert data.train_paths == (str(root / "7" / "b.jpg"), str(root / "99" / "a.jpg"), str(root / "3" / "b.jpg"))
    assert data.test_paths == (str(root / "7" / "t.jpg"),)


def test_blue_noise_at_level_zero(tmp_path: Path) -> None:
    mini_imagenet(tmp_path)
    data = load_red_mini_imagenet(tmp_path, 0, "blue")
    assert (data.name, data.train_labels.tolist()) == ("blue-mini-imagenet", [99])


def test_missing_images_are_counted_never_dropped(tmp_path: Path) -> None:
    root = mini_imagenet(tmp_path)
    (root / "all_images" / "b.jpg").unlink()
    with pytest.raises(DataError) as raised:
        load_red_mini_imagenet(tmp_path, 0.4)
    assert str(raised.value) == (
        f"2 of the 3 images listed in {root / 'split' / 'red_noise_nl_0.4'} are missing, first "
        f"{root / 'all_images' / 'b.jpg'} (row 0): complete the download, rows are never dropped"
    )


def test_a_missing_level_names_those_found(tmp_path: Path) -> None:
    root = mini_imagenet(tmp_path)
    page = "the Controlled Noisy Web Labels page of Google Research"
    layout = f"the layout is split/, all_images/ and validation/ as on {page}"
    with pytest.raises(DataError) as raised:
        load_red_mini_imagenet(tmp_path, 0.2)
    found = "found blue_noise_nl_0.0, red_noise_nl_0.4"
    assert str(raised.value) == f"{root / 'split' / 'red_noise_nl_0.2'} is missing ({found}): {layout}"
    empty = tmp_path / "empty"
    with pytest.raises(DataError) as raised:
        load_red_mini_imagenet(empty, 0.05)
    expected = empty / "mini-imagenet" / "split" / "red_noise_nl_0.05"
    assert str(raised.value) == f"{expected} is missing (no list was found): {layout}"


@pytest.mark.parametrize(("level", "color"), [(0.9, "red"), (0.4, "green"), (-0.1, "blue")])
def test_levels_and_colors(tmp_path: Path, level: float, color: str) -> None:
    with pytest.raises(SettingsError) as raised:
        load_red_mini_imagenet(tmp_path, level, color)
    assert str(raised.value) == (
        f"mini-ImageNet has no {color} noise {level}: choose red or blue and a level from 0.0 to 0.8"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.jpg", "has 'a.jpg' in row 1: a file name and a class number are needed"),
        ("a.jpg x", "has 'a.jpg x' in row 1: a file name and a class number are needed"),
        ("a.jpg 100", "has class 100 in row 1: classes go from 0 to 99"),
    ],
)
def test_wrong_lines(tmp_path: Path, line: str, message: str) -> None:
    path = mini_imagenet(tmp_path) / "split" / "red_noise_nl_0.4"
    write(path, "b.jpg 1", line)
    with pytest.raises(DataError) as raised:
        load_red_mini_imagenet(tmp_path, 0.4)
    assert str(raised.value) == f"{path} {message}"
    path.write_text("\n")
    with pytest.raises(DataError) as raised:
        load_red_mini_imagenet(tmp_path, 0.4)
    assert str(raised.value) == f"{path} is empty: get the list from its publisher again"
    path.write_bytes(b"\xff\xfe1")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        load_red_mini_imagenet(tmp_path, 0.4)


def webvision(root: Path) -> Path:
    write(root / "info" / "synsets.txt", *(f"n{k:08d} name {k}, other name" for k in range(1000)))
    train = ["google/q0001/b.jpg 49", "google/q0002/with space.jpg 0", "google/q0003/c.jpg 50"]
    write(root / "info" / "train_filelist_google.txt", *train)
    write(root / "info" / "val_filelist.txt", "val1.jpg 999", "val2.jpg 49")
    touch(root / "google" / "q0001" / "b.jpg", root / "google" / "q0002" / "with space.jpg")
    touch(root / "val_images_256" / "val2.jpg")
    return root


def test_webvision_keeps_the_first_50_classes(tmp_path: Path) -> None:
    webvision(tmp_path)
    data = load_dataset("webvision", tmp_path)
    google = tmp_path / "google"
    assert data.train_paths == (str(google / "q0001" / "b.jpg"), str(google / "q0002" / "with space.jpg"))
    assert data.train_labels.tolist() == [49, 0]
    assert data.train_noisy is data.train_labels
    assert data.test_paths == (str(tmp_path / "val_images_256" / "val2.jpg"),)
    assert data.test_labels.tolist() == [49]
    assert (len(data.classes), data.classes[49]) == (50, "n00000049")
    assert data.extra_tests == {}
    assert data.notes == ("2 training and 1 test images of 50 classes, all present",)


@pytest.mark.parametrize("synsets", [True, False])
def test_webvision_with_ilsvrc12(tmp_path: Path, synsets: bool) -> None:
    webvision(tmp_path)
    folder = tmp_path / "imagenet" / "val"
    names = [f"n{k:08d}" if synsets else str(k) for k in range(50)]
    touch(*(folder / name / "ILSVRC2012_val_2.JPEG" for name in names), folder / names[1] / "ILSVRC2012_val_1.JPEG")
    touch(folder / "n00000999" / "other.JPEG", folder / names[1] / "notes.txt")
    data = load_webvision(tmp_path)
    ilsvrc = data.extra_tests["ilsvrc12"]
    assert ilsvrc.labels.tolist() == [0, 1, 1, *range(2, 50)]
    assert ilsvrc.paths is not None
    assert ilsvrc.paths[1] == str(folder / names[1] / "ILSVRC2012_val_1.JPEG")
    assert data.notes[-1] == "51 ILSVRC12 validation images found"
    for file in (folder / names[3]).iterdir():
        file.unlink()
    with pytest.raises(DataError) as raised:
        load_webvision(tmp_path)
    holds = "holds no images: sort the ILSVRC12 validation images into synset folders"
    assert str(raised.value) == f"{folder / 'n00000003'} {holds}"


def test_webvision_missing_parts(tmp_path: Path) -> None:
    hint = "unpack info/, google/ and val_images_256/ from the WebVision page of ETH Zurich into one folder"
    with pytest.raises(DataError) as raised:
        load_webvision(tmp_path)
    assert str(raised.value) == f"{tmp_path / 'info' / 'synsets.txt'} is missing: {hint}"
    webvision(tmp_path)
    write(tmp_path / "info" / "train_filelist_google.txt", "google/a.jpg 500")
    with pytest.raises(DataError) as raised:
        load_webvision(tmp_path)
    listed = tmp_path / "info" / "train_filelist_google.txt"
    assert str(raised.value) == f"{listed} lists no image of classes 0 to 49: get the list again"
    listed.unlink()
    with pytest.raises(DataError) as raised:
        load_webvision(tmp_path)
    assert str(raised.value) == f"{listed} is missing: {hint}"
    write(tmp_path / "info" / "synsets.txt", "n1")
    with pytest.raises(DataError) as raised:
        load_webvision(tmp_path)
    needed = "has 1 lines but 50 classes are needed: get the list again"
    assert str(raised.value) == f"{tmp_path / 'info' / 'synsets.txt'} {needed}"


def clothing1m(root: Path, prefix: str, folder: str) -> Path:
    write(root / "noisy_label_kv.txt", "images/0/a.jpg 13", "images/1/b.jpg 2", "images/2/unused.jpg 0")
    write(root / "clean_label_kv.txt", "images/9/t.jpg 5", "images/0/a.jpg 1")
    write(root / "noisy_train_key_list.txt", f"{prefix}1/b.jpg", f"{prefix}0/a.jpg")
    write(root / "clean_test_key_list.txt", f"{prefix}9/t.jpg")
    touch(*(root / folder / name for name in ("0/a.jpg", "1/b.jpg", "9/t.jpg")))
    return root


@pytest.mark.parametrize("prefix", ["images/", ""])
@pytest.mark.parametrize("folder", ["images", ""])
def test_clothing1m_with_and_without_the_prefix(tmp_path: Path, prefix: str, folder: str) -> None:
    clothing1m(tmp_path, prefix, folder)
    data = load_dataset("clothing1m", tmp_path)
    assert data.train_paths == (str(tmp_path / folder / "1/b.jpg"), str(tmp_path / folder / "0/a.jpg"))
    assert data.train_labels.tolist() == [2, 13]
    assert data.test_paths == (str(tmp_path / folder / "9/t.jpg"),)
    assert data.test_labels.tolist() == [5]
    assert (len(data.classes), data.clean_known) == (14, False)
    assert data.notes == ("2 training and 1 test images, all present",)


def test_clothing1m_gaps(tmp_path: Path) -> None:
    clothing1m(tmp_path, "images/", "images")
    labels, keys = tmp_path / "noisy_label_kv.txt", tmp_path / "noisy_train_key_list.txt"
    write(labels, "images/1/b.jpg 2")
    with pytest.raises(DataError) as raised:
        load_clothing1m(tmp_path)
    assert str(raised.value) == f"{labels} has no label for 0/a.jpg (row 1 of {keys}): get both lists again"
    write(labels, "images/1/b.jpg 2", "1/b.jpg 3")
    with pytest.raises(DataError) as raised:
        load_clothing1m(tmp_path)
    assert str(raised.value) == f"{labels} gives 1/b.jpg another label in row 1 than before: get the list again"
    labels.unlink()
    with pytest.raises(DataError) as raised:
        load_clothing1m(tmp_path)
    source = "the Clothing1M page of its authors (Xiao et al. 2015)"
    assert str(raised.value) == (
        f"{labels} is missing: ask for the annotation archive on {source} and unpack it beside the images"
    )
    keys.write_text("")
    with pytest.raises(DataError, match=r"noisy_train_key_list\.txt is empty: get the list from its publisher again"):
        load_clothing1m(tmp_path)


def test_unknown_data_sets_and_a_missing_level(tmp_path: Path) -> None:
    assert DATASETS == ("cifar10", "cifar100", "red-mini-imagenet", "webvision", "clothing1m")
    with pytest.raises(SettingsError) as raised:
        load_dataset("cifar-10", tmp_path)
    assert str(raised.value) == f"unknown data set 'cifar-10' (nearest: cifar10): choose one of {', '.join(DATASETS)}"
    with pytest.raises(SettingsError) as raised:
        load_dataset("red-mini-imagenet", tmp_path)
    assert str(raised.value) == "red-mini-imagenet comes with its noise: give the level, such as --rate 0.4"


def test_labels_are_int64(tmp_path: Path) -> None:
    data = load_red_mini_imagenet(mini_imagenet(tmp_path), 0.4)
    assert data.train_labels.dtype == data.test_labels.dtype == np.int64
