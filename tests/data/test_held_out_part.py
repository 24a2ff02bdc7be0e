"""What only measures accuracy: the folder of `--test` and split folders, also where a table names their images."""

from pathlib import Path

import pytest
from image_files import make_folder, write_table
from sample_rows import rows

from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import DataError

TRAIN = ["cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"]
NAMED = "file_name,label\n" + "".join(f"{name},{name[:3]}\n" for name in TRAIN)
BOTH = "file_name,label\n" + "".join(
    f"{split}/{name},{name[:3]}\n" for split in ("test", "train") for name in TRAIN[:: 3 if split == "test" else 1]
)


@pytest.fixture
def splits(tmp_path: Path) -> Path:
    """`train/` with four images, `test/` with two."""
    return make_folder(tmp_path / "data", [f"train/{name}" for name in TRAIN] + ["test/cat/1.png", "test/dog/2.png"])


def held_out(samples: Samples) -> list[str]:
    return samples.table["filename"][~samples.is_train()].tolist()


def test_test_folder_inside_data_is_not_trained_on_with_labels_in_a_table(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", [*TRAIN, "test/cat/3.png", "test/dog/3.png"])
    samples = read_samples(data, labels=write_table(tmp_path / "l.csv", NAMED), test=data / "test")
    assert rows(samples)[4:] == [("cat/3.png", "test", "cat"), ("dog/3.png", "test", "dog")]
    assert samples.is_train().tolist() == [True] * 4 + [False] * 2
    assert samples.warnings == ()


@pytest.mark.parametrize("test", ["data/test", "link"])
def test_rows_of_a_table_in_the_test_folder_keep_their_places_and_are_held_out(
    splits: Path, tmp_path: Path, test: str
) -> None:
    (tmp_path / "link").symlink_to(splits / "test")
    table = write_table(tmp_path / "l.csv", BOTH)
    for source in ({"data": splits, "labels": table}, {"data": table, "root": splits}):
        samples = read_samples(**source, test=tmp_path / test)
        assert rows(samples) == [
            ("test/cat/1.png", "test", "cat"),
            ("test/dog/2.png", "test", "dog"),
            *[(f"train/{name}", "train", name[:3]) for name in TRAIN],
        ]
        assert samples.warnings == ()


def test_test_folder_without_class_folders_needs_none_where_the_table_names_its_images(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", [*TRAIN, "later/3.png", "later/4.png"])
    table = write_table(tmp_path / "l.csv", NAMED + "later/3.png,cat\n4,dog\n")
    samples = read_samples(data, labels=table, test=data / "later")
    assert rows(samples)[4:] == [("later/3.png", "test", "cat"), ("4", "test", "dog")]


def test_folder_in_the_test_folder_is_no_class_where_the_table_names_all_its_images(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", [*TRAIN, "later/images/3.png", "later/images/4.png"])
    table = write_table(tmp_path / "l.csv", NAMED + "later/images/3.png,cat\nlater/images/4.png,dog\n")
    samples = read_samples(data, labels=table, test=data / "later")
    assert samples.classes == ("cat", "dog")
    assert samples.warnings == ()


def test_other_label_in_the_test_folder_is_said(splits: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path / "l.csv", BOTH.replace("test/cat/1.png,cat", "test/cat/1.png,dog"))
    samples = read_samples(splits, labels=table, test=splits / "test")
    assert rows(samples)[0] == ("test/cat/1.png", "test", "dog")
    assert samples.warnings == (
        f"Held-out images under another label in the table than in {splits / 'test'}: 1, such as cat/1.png; "
        "the table's counts.",
    )


@pytest.mark.parametrize("source", ["table", "folder", "folder and table"])
def test_images_of_a_table_of_test_are_not_trained_on(tmp_path: Path, source: str) -> None:
    data = make_folder(tmp_path / "data", [*TRAIN, "cat/3.png"])
    labels = write_table(tmp_path / "l.csv", NAMED + "cat/3.png,cat\n,cat\n")
    options = {
        "table": {"data": labels, "root": data},
        "folder": {"data": data},
        "folder and table": {"data": data, "labels": labels},
    }[source]
    make_folder(tmp_path, ["other.png"])
    (tmp_path / "link").symlink_to(data)
    named = [f"{tmp_path}/link/dog/2.png,dog", f"{tmp_path}/other.png,cat", f"{data}/cat/1.png,cat", ",dog"]
    test = write_table(tmp_path / "t.csv", "\n".join(["file_name,label", *named]))
    samples = read_samples(**options, test=test)
    assert held_out(samples) == ["cat/1.png", "dog/2.png", f"{tmp_path}/other.png", ""]
    assert samples.is_train().sum() == 3 + (source != "folder")
    assert samples.warnings == ()


def test_other_label_in_a_table_of_test_counts_and_is_said(tmp_path: Path) -> None:
    data = write_table(tmp_path / "a.csv", NAMED)
    test = write_table(tmp_path / "b.csv", "file_name,label\ncat/1.png,dog\ndog/1.png,\n")
    samples = read_samples(data, test=test)
    labels = {"cat/1.png": "dog"}
    expected = [(name, "test" if "1" in name else "train", labels.get(name, name[:3])) for name in TRAIN]
    assert rows(samples) == expected
    assert samples.classes == ("cat", "dog")
    said = f"Held-out images under another label in DATA than in {test}: 1, such as cat/1.png; that of b.csv counts."
    assert said in samples.warnings
    assert samples.tables == (data, test)


def test_table_of_test_with_all_training_images_is_refused(tmp_path: Path) -> None:
    data, test = write_table(tmp_path / "a.csv", NAMED), write_table(tmp_path / "b.csv", NAMED)
    with pytest.raises(DataError) as caught:
        read_samples(data, test=test)
    assert str(caught.value) == f"{test} (--test) holds all training images of DATA; name a table of other images"


def test_test_folder_with_all_training_images_is_refused(splits: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path / "l.csv", BOTH)
    for source in ({"data": table, "root": splits}, {"data": splits / "train"}):
        with pytest.raises(DataError) as caught:
            read_samples(**source, test=splits)
        assert str(caught.value) == (
            f"{splits} (--test) holds all training images of DATA; name a folder of other images"
        )


def test_table_without_training_rows_is_refused_for_what_it_is(splits: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", "file_name,label,split\na,cat,fold1\nb,dog,fold2\n")
    with pytest.raises(DataError, match="has no row in split 'train', only in 'fold1', 'fold2', 'test'"):
        read_samples(table, test=splits / "test")


def test_flat_test_folder_is_refused_with_what_helps(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", TRAIN)
    test = make_folder(tmp_path / "flat", ["1.png", "2.png"])
    with pytest.raises(DataError) as caught:
        read_samples(data, test=test)
    assert str(caught.value) == (
        f"{test} holds 2 images but no class sub-folders; "
        "put each class into a sub-folder of its own or give --test a table of these images and their labels"
    )


def test_test_folder_inside_a_folder_with_metadata(splits: Path) -> None:
    write_table(splits / "metadata.csv", BOTH)
    assert held_out(read_samples(splits, test=splits / "test")) == ["test/cat/1.png", "test/dog/2.png"]
    write_table(splits / "metadata.csv", "file_name,caption\ntrain/cat/1.png,nice\n")
    assert held_out(read_samples(splits, test=splits / "test")) == ["cat/1.png", "dog/2.png"]


def test_test_folder_beside_a_train_folder_with_metadata(splits: Path) -> None:
    write_table(splits / "train" / "metadata.csv", NAMED)
    samples = read_samples(splits, test=splits / "test")
    assert rows(samples)[4:] == [("cat/1.png", "test", "cat"), ("dog/2.png", "test", "dog")]


def test_split_folders_hold_out_what_a_table_names(splits: Path, tmp_path: Path) -> None:
    samples = read_samples(splits, labels=write_table(tmp_path / "l.csv", BOTH))
    assert held_out(samples) == ["test/cat/1.png", "test/dog/2.png"]
    write_table(splits / "metadata.csv", BOTH)
    assert held_out(read_samples(splits)) == ["test/cat/1.png", "test/dog/2.png"]


def test_split_folders_hold_out_what_a_table_does_not_name(splits: Path, tmp_path: Path) -> None:
    named = "file_name,label,split\ntest/cat/1.png,cat,train\ntrain/dog/1.png,dog,train\n"
    samples = read_samples(splits, labels=write_table(tmp_path / "l.csv", named))
    assert held_out(samples) == ["test/dog/2.png"]  # a column of splits has the last word about the rows of its table
    assert len(samples) == 6


def test_held_out_folder_without_a_train_folder_is_trained_on_and_that_is_said(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", [*TRAIN, "test/cat/3.png"])
    said = (
        "Images in folder 'test' are trained on, since no train folder lies beside it; "
        "hold them out with --test or a column of splits."
    )
    table = write_table(tmp_path / "l.csv", NAMED)
    assert said in read_samples(data, labels=table).warnings
    write_table(data / "metadata.csv", NAMED + "test/cat/3.png,cat\n")
    assert said in read_samples(data).warnings
    write_table(data / "metadata.csv", NAMED)
    assert said not in read_samples(data).warnings


def test_split_folder_without_metadata_is_read_by_its_class_folders(splits: Path) -> None:
    write_table(splits / "train" / "metadata.csv", NAMED)
    make_folder(splits, ["test/loose.png", "spare/1.png"])
    (splits / "test" / "eel").mkdir()
    samples = read_samples(splits)
    assert rows(samples) == [
        *[(f"train/{name}", "train", name[:3]) for name in TRAIN],
        ("test/cat/1.png", "test", "cat"),
        ("test/dog/2.png", "test", "dog"),
    ]
    assert samples.classes == ("cat", "dog", "eel")
    assert samples.ignored == {"images outside the class folders": 1, "images outside the split folders": 1}
    assert samples.warnings[:2] == (
        "Left out, since not in a class folder: 1 image, such as test/loose.png.",
        "Left out, since not in a split folder: 1 image, such as spare/1.png.",
    )


def test_metadata_of_the_held_out_part_alone_is_read(tmp_path: Path) -> None:
    data = make_folder(tmp_path, ["train/cat/1.png", "train/dog/1.png", "val/1.png"])
    write_table(data / "val" / "metadata.csv", "file_name,label\n1.png,dog\n")
    assert ("val/1.png", "val", "dog") in rows(read_samples(data))


def test_metadata_of_a_split_without_labels_leaves_them_to_the_folders(splits: Path) -> None:
    write_table(splits / "train" / "metadata.csv", NAMED)
    write_table(splits / "test" / "metadata.csv", "file_name,caption\ncat/1.png,nice\n")
    samples = read_samples(splits)
    assert held_out(samples) == ["test/cat/1.png", "test/dog/2.png"]
    assert "test/metadata.csv has no label column; labels are the folder names." in samples.warnings


def test_images_that_metadata_do_not_name_are_left_out_and_said(splits: Path) -> None:
    write_table(splits / "metadata.csv", "\n".join(BOTH.splitlines()[:-1]).replace("train/cat/2", "./train/cat/2"))
    samples = read_samples(splits)
    assert len(samples) == 5
    assert samples.ignored == {"images without a row in metadata.csv": 1}
    assert "Left out, since metadata.csv does not name them: 1 image, such as train/dog/2.png." in samples.warnings


def test_images_that_the_metadata_of_a_split_do_not_name_are_left_out_and_said(splits: Path) -> None:
    write_table(splits / "train" / "metadata.csv", "\n".join(NAMED.splitlines()[:-1]))
    samples = read_samples(splits)
    assert len(samples) == 5
    said = "Left out, since train/metadata.csv does not name them: 1 image, such as train/dog/2.png."
    assert said in samples.warnings


def test_names_in_the_metadata_of_a_split_lead_to_their_files(splits: Path) -> None:
    elsewhere = make_folder(splits.parent / "far", ["1.png"]) / "1.png"
    write_table(splits / "train" / "metadata.csv", f"{NAMED}{elsewhere},cat\n,dog\n")
    samples = read_samples(splits)
    assert samples.table["filename"].tolist()[3:6] == ["train/dog/2.png", str(elsewhere), ""]
    assert samples.table["path"].tolist()[4:6] == [str(elsewhere), ""]


def test_metadata_of_splits_with_a_root_of_their_own_keep_their_names(splits: Path) -> None:
    write_table(splits / "train" / "metadata.csv", NAMED)
    root = make_folder(splits.parent / "far", TRAIN)
    samples = read_samples(splits, root=root)
    assert rows(samples)[0] == ("cat/1.png", "train", "cat")
    assert samples.table["path"][0] == str(root / "cat/1.png")
