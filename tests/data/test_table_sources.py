"""Tables as input: dialects, encodings, columns, label text, paths."""

import json
from pathlib import Path

import pandas as pd
import pytest
from image_files import make_folder, save_picture, write_table
from sample_rows import rows

from scanmix_cli.data.sources import read_samples

TWO = "file_name,label\na.png,cat\nb.png,dog\n"


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("t.csv", TWO, "utf-8"),
        ("t.csv", TWO, "utf-8-sig"),
        ("t.csv", TWO, "utf-16"),
        ("t.csv", TWO, "utf-16-le"),
        ("t.csv", TWO.replace("\n", "\r\n"), "utf-8"),
        ("t.csv", TWO.replace("\n", "\r"), "utf-8"),
        ("t.csv", TWO.rstrip("\n"), "utf-8"),
        ("t.csv", TWO.replace(",", ";"), "utf-8"),
        ("t.csv", TWO.replace(",", "\t"), "utf-16"),
        ("t.csv", "sep=;\n" + TWO.replace(",", ";"), "utf-8"),
        ("t.tsv", TWO.replace(",", "\t"), "utf-8"),
        ("T.TSV", TWO.replace(",", "\t"), "utf-8"),
        ("t.txt", TWO.replace(",", "|"), "utf-8"),
        ("t.csv", '"file_name","label"\n"a.png","cat"\n"b.png","dog"\n', "utf-8"),
        ("t.csv", TWO + ",\n,\n\n", "utf-8"),
        ("t.csv", "file_name,label,\na.png,cat,\nb.png,dog,\n", "utf-8"),
        ("t.jsonl", '{"file_name": "a.png", "label": "cat"}\n\n{"label": "dog", "file_name": "b.png"}\n', "utf-8"),
        ("t.json", '[{"file_name": "a.png", "label": "cat"}, {"file_name": "b.png", "label": "dog"}]', "utf-8"),
    ],
)
def test_dialects_and_encodings_are_found_out(tmp_path: Path, name: str, text: str, encoding: str) -> None:
    samples = read_samples(write_table(tmp_path / name, text, encoding))
    assert rows(samples) == [("a.png", "train", "cat"), ("b.png", "train", "dog")]
    assert samples.table["path"].tolist() == [str(tmp_path / "a.png"), str(tmp_path / "b.png")]
    assert samples.name.lower() == "t"


def test_known_names_decide_between_two_separators(tmp_path: Path) -> None:
    text = "file_name;label;x,y,z\na.png;cat;1,2,3\nb.png;dog;4,5,6\n"
    samples = read_samples(write_table(tmp_path / "t.csv", text))
    assert rows(samples) == [("a.png", "train", "cat"), ("b.png", "train", "dog")]
    assert samples.table["x,y,z"].tolist() == ["1,2,3", "4,5,6"]


def test_separator_and_encoding_can_be_named(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", "file_name:label\nä.png:größe\nb.png:dog\n", "cp1252")
    assert rows(read_samples(table, sep=":", encoding="cp1252"))[0] == ("ä.png", "train", "größe")
    table = write_table(tmp_path / "t.csv", "file_name\tlabel\na.png\tcat\nb.png\tdog\n")
    assert rows(read_samples(table, sep="\\t"))[0] == ("a.png", "train", "cat")


def test_guessed_encoding_is_said(tmp_path: Path) -> None:
    samples = read_samples(write_table(tmp_path / "t.csv", "file_name,label\na.png,größe\nb.png,dog\n", "cp1252"))
    assert rows(samples)[0] == ("a.png", "train", "größe")
    assert "t.csv is not UTF-8 and was read as cp1252; if names look wrong, give --encoding." in samples.warnings


def test_commas_quotes_and_line_ends_within_cells(tmp_path: Path) -> None:
    text = 'file_name,label,note\n"a, b.png","5"" nail","two\nlines"\nc.png, spaced ,5" long\n'
    samples = read_samples(write_table(tmp_path / "t.csv", text))
    assert rows(samples) == [("a, b.png", "train", '5" nail'), ("c.png", "train", " spaced ")]
    assert samples.table["note"].tolist() == ["two\nlines", '5" long']


def test_semicolon_table_with_commas_in_labels(tmp_path: Path) -> None:
    text = "file_name;label\na.png;cat, small\nb.png;dog, big\n"
    assert read_samples(write_table(tmp_path / "t.csv", text)).classes == ("cat, small", "dog, big")


@pytest.mark.parametrize("path", ["file_name", "filename", "filepath", "path", "image", "Image Path", "FILE"])
@pytest.mark.parametrize("label", ["label", "class", "category", "target", "ground_truth", "Label", "class-name"])
def test_usual_column_names_are_found(tmp_path: Path, path: str, label: str) -> None:
    samples = read_samples(write_table(tmp_path / "t.csv", f"id,{label},{path}\n1,cat,a.png\n2,dog,b.png\n"))
    assert rows(samples) == [("a.png", "train", "cat"), ("b.png", "train", "dog")]
    assert samples.table["id"].tolist() == ["1", "2"]
    assert samples.extra_columns == ("id",)


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = "where;what;part;label\na.png;cat;training;x\nb.png;dog;;x\nc.png;dog;dev;x\n"
    table = write_table(tmp_path / "t.csv", text)
    samples = read_samples(table, path_column="where", label_column="what", split_column="part")
    assert rows(samples) == [("a.png", "train", "cat"), ("b.png", "train", "dog"), ("c.png", "dev", "dog")]
    assert samples.extra_columns == ("label",)


@pytest.mark.parametrize(
    "text",
    ["file_name,class,label\na.png,x,cat\nb.png,y,dog\n", "file_name,label,class\na.png,cat,x\nb.png,dog,y\n"],
)
def test_choice_between_two_known_columns_is_said(tmp_path: Path, text: str) -> None:
    samples = read_samples(write_table(tmp_path / "t.csv", text))
    assert samples.classes == ("cat", "dog")
    assert (
        "t.csv: labels are taken from column 'label', not from 'class'; choose with --label-column." in samples.warnings
    )


def test_choice_between_two_columns_of_one_name_is_said(tmp_path: Path) -> None:
    """The reader of the table has numbered them; a column of such a name that stands alone is no choice."""
    table = write_table(tmp_path / "t.csv", "path,path,label,label,class 2\na.png,1.png,cat,x,0\nb.png,2.png,dog,y,0\n")
    samples = read_samples(table)
    assert rows(samples) == [("a.png", "train", "cat"), ("b.png", "train", "dog")]
    assert [warning for warning in samples.warnings if "taken from" in warning] == [
        "t.csv: paths are taken from column 'path', not from 'path 2'; choose with --path-column.",
        "t.csv: labels are taken from column 'label', not from 'label 2'; choose with --label-column.",
    ]
    assert read_samples(table, label_column="label 2").classes == ("x", "y")


def test_split_names_stay_but_train_is_always_train(tmp_path: Path) -> None:
    text = "file_name,label,split\na,cat,Train\nb,dog,TRAINING\nc,dog,Val\nd,dog,test\n"
    assert read_samples(write_table(tmp_path / "t.csv", text)).table["split"].tolist() == [
        "train",
        "train",
        "Val",
        "test",
    ]


def test_splits_of_other_names_are_held_out_and_said_once(tmp_path: Path) -> None:
    text = "file_name,label,split\na,cat,train\nb,dog,\nc,dog,unknown\nd,dog,unknown\ne,cat,Val\n"
    samples = read_samples(write_table(tmp_path / "t.csv", text))
    assert samples.is_train().tolist() == [True, True, False, False, False]
    said = [warning for warning in samples.warnings if "splits than" in warning]
    assert said == ["Rows of other splits than train, val and test only measure accuracy: 2, of 'unknown'."]


def test_label_text_survives(tmp_path: Path) -> None:
    labels = ["01", "1", "10", "2", "1.0", "1e3", "NA", "null", "None", "nan", "True", "cat ", "Cat", "cat", "ünï", "-"]
    text = "file_name,label\n" + "".join(f"{k}.png,{label}\n" for k, label in enumerate(labels))
    samples = read_samples(write_table(tmp_path / "t.csv", text))
    assert samples.table["given_label"].tolist() == labels
    assert samples.classes == tuple(sorted(labels))
    assert (
        "Classes 'Cat', 'cat', 'cat ' differ only by case, space or hyphen; rename them if they are one class."
        in samples.warnings
    )


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_integer_labels_next_to_a_blank_stay_integers(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    labels = [1, None, 10]
    if suffix == "csv":
        write_table(path, "file_name,label\na,1\nb,\nc,10\n")
    elif suffix == "jsonl":
        lines = [json.dumps({"file_name": name, "label": label}) for name, label in zip("abc", labels, strict=True)]
        write_table(path, "\n".join(lines))
    else:
        pd.DataFrame({"file_name": list("abc"), "label": labels}).to_parquet(path)  # pandas makes floats of them
    samples = read_samples(path)
    assert samples.table["given_label"].tolist() == ["1", "", "10"]
    assert samples.classes == ("1", "10")
    assert samples.label_ids().tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["null", "1.0", "10.0"], ["", "1", "10"]),  # as pandas writes integers beside a blank
        (["7", "7.0", "-1.0"], ["7", "7", "-1"]),
        (["1.0", "1.5", "null"], ["1.0", "1.5", ""]),
        (["1.0", '"cat"', "2.0"], ["1.0", "cat", "2.0"]),
        (["1.0", '"01"', "2.0"], ["1.0", "01", "2.0"]),
        (['"1.0"', '"2.0"', "null"], ["1.0", "2.0", ""]),
        (["1e3", "1.0", "2.0"], ["1e3", "1.0", "2.0"]),
    ],
)
def test_whole_numbers_in_json_are_integers_where_all_labels_are(
    tmp_path: Path, written: list[str], read: list[str]
) -> None:
    lines = [f'{{"file_name": "{name}", "label": {label}}}' for name, label in zip("abc", written, strict=True)]
    assert read_samples(write_table(tmp_path / "t.jsonl", "\n".join(lines))).table["given_label"].tolist() == read


def test_blank_and_missing_labels_are_unlabelled(tmp_path: Path) -> None:
    samples = read_samples(write_table(tmp_path / "t.csv", "file_name,label\na,cat\nb,\nc\nd,  \ne,dog\n"))
    assert samples.table["given_label"].tolist() == ["cat", "", "", "", "dog"]
    text = '{"file_name": "a", "label": "cat"}\n{"file_name": "b"}\n{"file_name": "c", "label": "dog"}\n'
    assert read_samples(write_table(tmp_path / "t.jsonl", text)).label_ids().tolist() == [0, -1, 1]


def test_numbers_in_json_stay_as_written(tmp_path: Path) -> None:
    lines = [
        '{"path": "a", "target": 1, "x": 1.50}',
        '{"path": "b", "target": 10, "x": null}',
        '{"path": 7, "target": true}',
    ]
    samples = read_samples(write_table(tmp_path / "t.jsonl", "\n".join(lines)))
    assert rows(samples) == [("a", "train", "1"), ("b", "train", "10"), ("7", "train", "true")]
    assert samples.table["x"].tolist() == ["1.50", None, None]


def test_parquet_keeps_text_categories_and_further_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"image": ["a", "b", "c"], "category": pd.Categorical(["01", "NA", None]), "weight": [0.5, 1.0, 2.0]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    samples = read_samples(tmp_path / "t.parquet")
    assert samples.table["given_label"].tolist() == ["01", "NA", ""]
    assert samples.table["weight"].tolist() == [0.5, 1.0, 2.0]


def test_extra_columns_that_bear_our_names_are_kept_under_another(tmp_path: Path) -> None:
    text = "path,file_name,label,given_label\nx,a.png,cat,1\ny,b.png,dog,2\n"
    samples = read_samples(write_table(tmp_path / "t.csv", text), path_column="file_name", label_column="label")
    assert samples.extra_columns == ("input_path", "input_given_label")
    assert samples.table["input_path"].tolist() == ["x", "y"]
    assert samples.table["path"].tolist() == [str(tmp_path / "a.png"), str(tmp_path / "b.png")]


def test_extra_column_that_bears_our_name_replaces_no_other(tmp_path: Path) -> None:
    text = "path,file_name,label,input_path\nx,a.png,cat,1\ny,b.png,dog,2\n"
    samples = read_samples(write_table(tmp_path / "t.csv", text), path_column="file_name")
    assert samples.extra_columns == ("input_input_path", "input_path")
    assert samples.table["input_path"].tolist() == ["1", "2"]
    assert samples.table["input_input_path"].tolist() == ["x", "y"]


def test_relative_absolute_and_backslash_paths(tmp_path: Path) -> None:
    images = make_folder(tmp_path / "images", ["cat/ä b.png", "dog/1.png", "dog/odd\\name.png"])
    cells = ["cat/ä b.png", str(images / "dog" / "1.png"), "dog\\1.png", ".\\cat\\ä b.png", "dog/odd\\name.png", ""]
    text = "path,label\n" + "".join(f"{cell},{'cat' if 'cat' in cell else 'dog'}\n" for cell in cells)
    (tmp_path / "tables").mkdir()
    table = write_table(tmp_path / "tables" / "t.csv", text)
    samples = read_samples(table, root=images)
    assert samples.table["filename"].tolist() == cells
    assert [bool(path) and Path(path).is_file() for path in samples.table["path"]] == [True] * 5 + [False]
    assert samples.root == images


def test_wrong_root_is_said(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", TWO)
    message = (
        f"t.csv: no file looked for exists, such as {tmp_path / 'a.png'}; "
        "name the folder that relative paths start from with --root."
    )
    assert message in read_samples(table).warnings
    save_picture(tmp_path / "b.png")
    assert message not in read_samples(table).warnings


def test_same_file_twice_and_under_two_labels(tmp_path: Path) -> None:
    samples = read_samples(write_table(tmp_path / "t.csv", "file_name,label\na,cat\nb,dog\na,cat\nb,cat\n"))
    assert rows(samples) == [("a", "train", "cat"), ("b", "train", "dog"), ("a", "train", "cat"), ("b", "train", "cat")]
    assert "Rows whose file an earlier row names already: 2." in samples.warnings
    assert f"Under more than one label: 1 file, such as {tmp_path / 'b'}." in samples.warnings


def test_folder_and_its_table_give_the_same_samples(tmp_path: Path) -> None:
    files = ["train/10/a.png", "train/2/a.png", "train/NA/x/b.png", "val/2/a.png", "val/01/c.png"]
    folder = read_samples(make_folder(tmp_path, files))
    text = "file_name,label,split\n" + "".join(f"{n},{n.split('/')[1]},{n.split('/')[0]}\n" for n in sorted(files))
    table = read_samples(write_table(tmp_path / "twin.csv", text))
    pd.testing.assert_frame_equal(folder.table, table.table)
    assert folder.classes == table.classes
    assert folder.fingerprint() == table.fingerprint()
    assert folder.label_ids().tolist() == table.label_ids().tolist()


def test_folder_with_labels_in_a_table(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "images", ["1.png", "2.png", "sub/3.jpg", "4.png", "5.png", "x/6.png", "y/6.png"])
    text = "image,label,note\n2.png,dog,n\n1,cat,n\n3,cat,n\nimages/4.png,dog,n\ngone.png,dog,n\n6.png,cat,n\n"
    samples = read_samples(folder, labels=write_table(tmp_path / "labels.csv", text))
    assert rows(samples) == [
        *[("2.png", "train", "dog"), ("1", "train", "cat"), ("3", "train", "cat"), ("images/4.png", "train", "dog")],
        *[("gone.png", "train", "dog"), ("6.png", "train", "cat")],  # two images may be meant by 6.png: none is taken
        *[("5.png", "train", ""), ("x/6.png", "train", ""), ("y/6.png", "train", "")],
    ]
    found = ["2.png", "1.png", "sub/3.jpg", "4.png", "gone.png", "6.png", "5.png", "x/6.png", "y/6.png"]
    assert samples.table["path"].tolist() == [str(folder / name) for name in found]
    assert samples.table["note"].tolist() == ["n"] * 6 + [""] * 3
    assert samples.tables == (tmp_path / "labels.csv",)
    message = "3 of 7 images have no row in labels.csv and count as unlabelled, such as 5.png."
    assert message in samples.warnings


def test_test_table_joins_with_its_own_columns(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", "file_name,label,a\n1.png,cat,x\n2.png,dog,y\n")
    (tmp_path / "held").mkdir()
    held_out = write_table(tmp_path / "held" / "t.tsv", "path\tclass\tb\n1.png\tdog\tz\n")
    samples = read_samples(table, test=held_out)
    assert rows(samples)[2] == ("1.png", "test", "dog")
    assert samples.table["path"][2] == str(tmp_path / "held" / "1.png")
    assert samples.table["a"].tolist() == ["x", "y", ""]
    assert samples.table["b"].tolist() == ["", "", "z"]
    assert samples.tables == (table, held_out)
