"""Folders as input: class folders, splits, litter, folders with a table of their own."""

import os
from pathlib import Path
from typing import Any

import pytest
from image_files import make_folder, write_table
from sample_rows import rows

from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import DataError


def test_images_at_any_depth_belong_to_their_class_folder(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/b.png", "cat/deep/er/a.png", "dog/a.png"])
    samples = read_samples(tmp_path)
    assert rows(samples) == [
        ("cat/b.png", "train", "cat"),
        ("cat/deep/er/a.png", "train", "cat"),
        ("dog/a.png", "train", "dog"),
    ]
    assert samples.table["path"].tolist() == [str(tmp_path / name) for name in samples.table["filename"]]
    assert samples.classes == ("cat", "dog")
    assert samples.label_ids().tolist() == [0, 0, 1]
    assert samples.name == tmp_path.name


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"path_column": "x"}, "--path-column"),
        ({"split_column": "x", "sep": ","}, "--split-column"),
        ({"encoding": "utf-8"}, "--encoding"),
        ({"root": Path("x")}, "--root"),
    ],
)
def test_options_of_tables_are_refused_for_a_folder(tmp_path: Path, options: dict[str, Any], name: str) -> None:
    make_folder(tmp_path, ["cat/a.png", "dog/a.png"])
    with pytest.raises(DataError) as caught:
        read_samples(tmp_path, **options)
    assert str(caught.value) == (
        f"{name} goes with a table, but the labels of {tmp_path} are the names of its folders; leave it out or give "
        "the table"
    )


def test_options_of_tables_may_be_those_of_the_test_part(tmp_path: Path) -> None:
    make_folder(tmp_path, ["data/cat/a.png", "data/dog/a.png", "b.png"])
    table = write_table(tmp_path / "t.csv", "where;label\nb.png;cat\n")
    assert len(read_samples(tmp_path / "data", test=table, path_column="where", sep=";")) == 3


def test_rows_are_sorted_as_plain_text(tmp_path: Path) -> None:
    make_folder(tmp_path, ["10/a.png", "2/a.png", "1/a.png", "1/B.png", "01/a.png", "1-x/a.png"])
    samples = read_samples(tmp_path)
    assert list(samples.table["filename"]) == sorted(samples.table["filename"])
    assert samples.classes == ("01", "1", "1-x", "10", "2")


@pytest.mark.parametrize(("train", "held_out"), [("train", "val"), ("Train", "Test"), ("TRAIN", "validation")])
def test_train_and_held_out_folders_are_splits(tmp_path: Path, train: str, held_out: str) -> None:
    make_folder(tmp_path, [f"{train}/cat/1.png", f"{train}/dog/1.png", f"{held_out}/dog/1.png"])
    assert sorted(rows(read_samples(tmp_path))) == sorted(
        [
            (f"{train}/cat/1.png", "train", "cat"),
            (f"{train}/dog/1.png", "train", "dog"),
            (f"{held_out}/dog/1.png", held_out, "dog"),
        ]
    )


def test_class_missing_from_one_split_does_not_move_the_other_ids(tmp_path: Path) -> None:
    make_folder(tmp_path, ["train/a/1.png", "train/c/1.png", "val/b/1.png", "val/c/1.png"])
    samples = read_samples(tmp_path)
    assert samples.classes == ("a", "b", "c")
    assert samples.label_ids().tolist() == [0, 2, 1, 2]
    assert "Classes without training images: 'b'." in samples.warnings


def test_class_may_be_called_train(tmp_path: Path) -> None:
    make_folder(tmp_path, ["bus/1.png", "train/1.png", "train/old/2.png"])
    samples = read_samples(tmp_path)
    assert samples.classes == ("bus", "train")
    assert "Folder 'train' is taken for a class, not for a split." in samples.warnings


def test_images_outside_the_splits_are_left_out_and_said(tmp_path: Path) -> None:
    make_folder(tmp_path, ["train/a/1.png", "train/b/1.png", "test/a/1.png", "spare/a/1.png", "spare/a/2.png"])
    samples = read_samples(tmp_path)
    assert set(samples.table["split"]) == {"train", "test"}
    assert samples.ignored == {"images outside the split folders": 2}
    assert "Left out, since not in a split folder: 2 images, such as spare/a/1.png." in samples.warnings


def test_litter_is_ignored_and_counted(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png", "cat/._1.png", "cat/.ipynb_checkpoints/1.png", ".hidden/1.png"])
    for name in ("cat/Thumbs.db", ".DS_Store", "cat/notes.txt", "dog/labels.csv"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "__MACOSX").mkdir()
    samples = read_samples(tmp_path)
    assert rows(samples) == [("cat/1.png", "train", "cat"), ("dog/1.png", "train", "dog")]
    assert samples.classes == ("cat", "dog")
    assert samples.ignored == {
        **{"._*": 1, ".DS_Store": 1, ".hidden": 1, ".ipynb_checkpoints": 1, "Thumbs.db": 1, "__MACOSX": 1},
        **{"*.csv": 1, "*.txt": 1},
    }


def test_images_are_known_by_suffix_in_any_case_or_by_content(tmp_path: Path) -> None:
    make_folder(tmp_path, ["a/1.PNG", "a/2.JpEg", "b/3.TIFF", "b/4"])
    (tmp_path / "b" / "README").write_text("no image")
    samples = read_samples(tmp_path)
    assert list(samples.table["filename"]) == ["a/1.PNG", "a/2.JpEg", "b/3.TIFF", "b/4"]
    assert samples.ignored == {"README": 1}


def test_empty_class_folder_keeps_its_class_and_warns(tmp_path: Path) -> None:
    make_folder(tmp_path, ["ant/1.png", "cow/1.png"])
    (tmp_path / "bee").mkdir()
    samples = read_samples(tmp_path)
    assert samples.classes == ("ant", "bee", "cow")
    assert samples.label_ids().tolist() == [0, 2]
    assert "Classes without images: 'bee'." in samples.warnings


def test_images_beside_the_class_folders_are_left_out_and_said(tmp_path: Path) -> None:
    make_folder(tmp_path, ["sheet.png", "cat/1.png", "dog/1.png"])
    samples = read_samples(tmp_path)
    assert len(samples) == 2
    assert samples.ignored == {"images outside the class folders": 1}
    assert "Left out, since not in a class folder: 1 image, such as sheet.png." in samples.warnings


def test_test_folder_is_a_held_out_part(tmp_path: Path) -> None:
    make_folder(tmp_path / "data", ["cat/1.png", "dog/1.png"])
    make_folder(tmp_path / "more", ["cat/1.png", "eel/1.png"])
    samples = read_samples(tmp_path / "data", test=tmp_path / "more")
    assert rows(samples)[2:] == [("cat/1.png", "test", "cat"), ("eel/1.png", "test", "eel")]
    assert samples.table["path"][2] == str(tmp_path / "more" / "cat" / "1.png")
    assert samples.is_train().tolist() == [True, True, False, False]


def test_test_folder_inside_data_is_read_once(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png", "later/cat/2.png"])
    samples = read_samples(tmp_path, test=tmp_path / "later")
    assert rows(samples) == [
        ("cat/1.png", "train", "cat"),
        ("dog/1.png", "train", "dog"),
        ("cat/2.png", "test", "cat"),
    ]
    assert samples.classes == ("cat", "dog")


def test_folder_with_metadata_is_read_by_it(tmp_path: Path) -> None:
    make_folder(tmp_path, ["x/1.png", "x/2.png"])
    write_table(tmp_path / "metadata.csv", "file_name,label\nx/2.png,dog\nx/1.png,cat\n")
    assert rows(read_samples(tmp_path)) == [("x/2.png", "train", "dog"), ("x/1.png", "train", "cat")]


def test_metadata_in_split_folders(tmp_path: Path) -> None:
    make_folder(tmp_path, ["train/1.png", "train/2.png", "test/1.png"])
    write_table(tmp_path / "train" / "metadata.csv", "file_name,label\n1.png,cat\n2.png,dog\n")
    write_table(tmp_path / "test" / "metadata.jsonl", '{"file_name": "1.png", "label": "dog"}\n')
    samples = read_samples(tmp_path)
    assert rows(samples) == [
        ("test/1.png", "test", "dog"),
        ("train/1.png", "train", "cat"),
        ("train/2.png", "train", "dog"),
    ]
    assert all(map(os.path.exists, samples.table["path"]))
    assert samples.root == tmp_path
    assert samples.tables == (tmp_path / "test" / "metadata.jsonl", tmp_path / "train" / "metadata.csv")


def test_metadata_without_labels_leaves_them_to_the_folders(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png"])
    write_table(tmp_path / "metadata.csv", "file_name,caption\ncat/1.png,nice\n")
    samples = read_samples(tmp_path)
    assert rows(samples) == [("cat/1.png", "train", "cat"), ("dog/1.png", "train", "dog")]
    assert "metadata.csv has no label column; labels are the folder names." in samples.warnings


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            [],
            "{data} holds no images; give a folder with one sub-folder per class or a table of image paths and labels",
        ),
        (
            ["1.png", "2.png"],
            "{data} holds 2 images but no class sub-folders; "
            "put each class into a sub-folder of its own or give the labels with --labels TABLE",
        ),
        (
            ["train/1.png", "train/2.png", "test/3.png"],
            "{data}/train holds 2 images but no class sub-folders; "
            "put each class into a sub-folder of its own or give the labels with --labels TABLE",
        ),
        (
            ["train/.hidden.png", "val/cat/1.png"],
            "{data}/train holds no images; give it a sub-folder of images for each class",
        ),
        (
            ["train/1.png"],
            "{data}/train holds 1 image but no class sub-folders; "
            "put each class into a sub-folder of its own or give the labels with --labels TABLE",
        ),
        (["cat/1.png"], "{data} has training images of only one class, 'cat'; add a second class"),
        (
            ["all/cat/1.png", "all/dog/1.png"],
            "{data} has training images of only one class, 'all'; "
            "add a second class or, if the sub-folders of 'all' are the classes, give {data}/all",
        ),
        (
            ["val/cat/1.png", "test/dog/1.png"],
            "{data} holds test, val but no train folder; "
            "name the folder of training images 'train' or give the class folders themselves",
        ),
    ],
)
def test_unusable_folders_are_refused_in_one_sentence(tmp_path: Path, files: list[str], message: str) -> None:
    make_folder(tmp_path, files)
    with pytest.raises(DataError) as caught:
        read_samples(tmp_path)
    assert str(caught.value) == message.format(data=tmp_path)


def test_paths_that_do_not_exist(tmp_path: Path) -> None:
    make_folder(tmp_path, ["cat/1.png", "dog/1.png"])
    for arguments, message in (
        ({"data": tmp_path / "no"}, f"{tmp_path / 'no'} does not exist; check the path"),
        ({"data": tmp_path, "test": tmp_path / "no"}, f"{tmp_path / 'no'} (--test) does not exist; check the path"),
        ({"data": tmp_path, "labels": tmp_path / "no"}, f"{tmp_path / 'no'} (--labels) is no file; check the path"),
    ):
        with pytest.raises(DataError) as caught:
            read_samples(**arguments)
        assert str(caught.value) == message
