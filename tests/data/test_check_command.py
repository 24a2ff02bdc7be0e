"""`scanmix check`: what it prints, the JSON object, the table of bad files, the exit."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from image_files import make_folder, save_picture, write_table
from typer.testing import CliRunner

from scanmix_cli.cli.check import check
from scanmix_cli.errors import DataError, SettingsError

APP = typer.Typer()
APP.command()(check)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def troubled(tmp_path: Path) -> Path:
    """A set with bad files, a conflict, a leak, an empty class and litter."""
    data = make_folder(
        tmp_path / "photos",
        ["train/cat/1.png", "train/cat/2.png", "train/dog/1.png", "train/dog/2.png", "val/dog/1.png", "val/dog/2.png"],
    )
    save_picture(data / "train" / "cat" / "2.png", 50)
    save_picture(data / "train" / "dog" / "2.png", 50)
    save_picture(data / "val" / "dog" / "2.png", 50)
    (data / "train" / "cat" / "=bad.png").write_bytes(b"garbage")
    (data / "train" / "cat" / "empty.png").touch()
    (data / "train" / "[bold]eel").mkdir()
    (data / ".DS_Store").touch()
    return data


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(APP, [str(argument) for argument in arguments], catch_exceptions=True)


def test_screen_shows_counts_classes_bad_files_copies_and_warnings(troubled: Path) -> None:
    result = run(troubled)
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[0] == "photos: 8 images (train 6, val 2), 6 readable, 3 classes"
    assert lines[1] == "ignored, since no image of a class: 1"
    bar = "█" * 30
    table = [line.split() for line in lines if line.strip().startswith(("cat ", "dog ", "[bold]eel "))]
    assert table == [["[bold]eel", "0", "0"], ["cat", "2", bar, "0"], ["dog", "2", bar, "2"]]
    assert lines[-8:] == [
        "width 8 to 8 pixels, median 8; height 8 to 8, median 8",
        "unreadable files: 2 (ERROR_CORRUPT_IMAGE 1, ERROR_ZERO_SIZE_FILE 1); --out bad_files.csv names them",
        "exact copies: 3 images in 1 set",
        "  sets with more than one label: 1",
        "  held-out images that are in the training part too: 1",
        "  cat: train/cat/2.png = dog: train/dog/2.png = dog: val/dog/2.png",
        "warning: Classes without images: '[bold]eel'.",
        "warning: Only 6 labelled training images in 2 classes; with fewer than 200 images or 20 per class, "
        "scores are unreliable.",
    ]


def test_json_is_one_object_and_nothing_else(troubled: Path) -> None:
    result = run(troubled, "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found.pop("warnings")[0] == "Classes without images: '[bold]eel'."
    assert found == {
        "data": str(troubled),
        "trainable": True,
        "problem": None,
        "name": "photos",
        "rows": 8,
        "readable": 6,
        "splits": {"train": 6, "val": 2},
        "unlabelled": 0,
        "classes": [
            {"name": "[bold]eel", "train": 0, "held_out": 0},
            {"name": "cat", "train": 2, "held_out": 0},
            {"name": "dog", "train": 2, "held_out": 2},
        ],
        "width": {"min": 8, "median": 8, "max": 8},
        "height": {"min": 8, "median": 8, "max": 8},
        "bad_files": {"ERROR_CORRUPT_IMAGE": 1, "ERROR_ZERO_SIZE_FILE": 1},
        "copies": {
            "sets": 1,
            "images": 3,
            "conflicts": 1,
            "leaks": 1,
            "examples": [["cat: train/cat/2.png", "dog: train/dog/2.png", "dog: val/dog/2.png"]],
        },
        "ignored": 1,
    }


def test_bad_files_are_written(troubled: Path, tmp_path: Path) -> None:
    result = run(troubled, "--out", tmp_path / "bad.csv")
    assert result.exit_code == 0
    assert result.stderr == f"2 unreadable files written to {tmp_path / 'bad.csv'}\n"
    with open(tmp_path / "bad.csv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [
            ["filename", "error_code", "message"],
            ["train/cat/=bad.png", "ERROR_CORRUPT_IMAGE", "the content is no picture that can be read"],
            ["train/cat/empty.png", "ERROR_ZERO_SIZE_FILE", "the file is empty"],
        ]


def test_good_set_says_so_and_bad_files_has_a_header_only(tmp_path: Path) -> None:
    make_folder(tmp_path / "data", ["a/1.png", "b/2.png"])
    result = run(tmp_path / "data", "--out", tmp_path / "bad.csv")
    assert "unreadable files: none\nexact copies: none\n" in result.stdout
    assert (tmp_path / "bad.csv").read_text() == "filename,error_code,message\n"


def test_many_classes_are_shown_in_part(tmp_path: Path) -> None:
    make_folder(tmp_path / "data", [f"{k:02}/{j}.png" for k in range(50) for j in range(1 + k % 2)])
    result = run(tmp_path / "data")
    assert "(20 more)" in result.stdout
    shown = [line.split()[0] for line in result.stdout.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert len(shown) == 30


def test_table_options_reach_the_reader(tmp_path: Path) -> None:
    make_folder(tmp_path / "images", ["1.png", "2.png", "3.png"])
    table = write_table(
        tmp_path / "t.csv", "where:what:part\n1.png:größe:train\n2.png:dog:train\n3.png:dog:dev\n", "cp1252"
    )
    columns = ("--path-column", "where", "--label-column", "what", "--split-column", "part", "--sep", ":")
    more = write_table(tmp_path / "more.csv", "where:what:part\n1.png:dog:train\n", "cp1252")
    found = json.loads(
        run(table, *columns, "--root", tmp_path / "images", "--encoding", "cp1252", "--test", more, "--json").stdout
    )
    assert found["splits"] == {"train": 2, "dev": 1, "test": 1}
    assert [entry["name"] for entry in found["classes"]] == ["dog", "größe"]
    assert found["readable"] == 4
    found = json.loads(run(tmp_path / "images", "--labels", table, *columns, "--encoding", "cp1252", "--json").stdout)
    assert found["readable"] == 3


def test_untrainable_set_is_shown_and_refused(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", ["a/1.png", "b/1.png"])
    (data / "b" / "1.png").write_bytes(b"garbage")
    result = run(data, "--json", "--out", tmp_path / "bad.csv")
    assert isinstance(result.exception, DataError)
    found = json.loads(result.stdout)
    assert found["trainable"] is False
    assert found["problem"] == str(result.exception)
    assert len((tmp_path / "bad.csv").read_text().splitlines()) == 2


def test_unusable_input_prints_nothing_on_standard_output(tmp_path: Path) -> None:
    result = run(tmp_path / "gone", "--json")
    assert isinstance(result.exception, DataError)
    assert result.stdout == ""


def test_out_in_a_folder_that_does_not_exist(troubled: Path, tmp_path: Path) -> None:
    result = run(troubled, "--out", tmp_path / "no" / "bad.csv")
    assert isinstance(result.exception, SettingsError)
    assert str(result.exception) == (
        f"{tmp_path}/no/bad.csv cannot be written: there is no folder {tmp_path}/no; name another file with --out"
    )


def test_help_starts_with_a_sentence_and_an_example() -> None:
    lines = [line.strip() for line in run("--help").stdout.splitlines() if line.strip()]
    assert lines[1] == "Read a data set and say what would be used and what is wrong with it."
    assert lines[2] == "Example: scanmix check photos --out bad_files.csv"
