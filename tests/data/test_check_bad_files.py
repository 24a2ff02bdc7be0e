"""`scanmix check --out`: the table of bad files, and what it does not replace."""

import csv
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from check_run import run
from image_files import make_folder, write_table

from scanmix_cli.errors import SettingsError

pytestmark = pytest.mark.usefixtures("own_cache")


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


@pytest.mark.parametrize(("suffix", "read"), [(".json", pd.read_json), (".parquet", pd.read_parquet)])
def test_the_format_of_the_table_of_bad_files_is_that_of_its_name(
    troubled: Path, tmp_path: Path, suffix: str, read: Callable[[Path], pd.DataFrame]
) -> None:
    assert run(troubled, "--out", tmp_path / f"bad{suffix}").exit_code == 0
    table = read(tmp_path / f"bad{suffix}")
    assert list(table) == ["filename", "error_code", "message"]
    assert table["filename"].tolist() == ["train/cat/=bad.png", "train/cat/empty.png"]


def test_another_name_of_the_table_of_bad_files_is_refused(troubled: Path, tmp_path: Path) -> None:
    result = run(troubled, "--out", tmp_path / "bad.txt")
    assert isinstance(result.exception, SettingsError)
    known = "use one of .csv, .jsonl, .json, .parquet"
    assert str(result.exception) == f"--out {tmp_path}/bad.txt has no known extension: {known}"
    assert not (tmp_path / "bad.txt").exists()


def test_good_set_says_so_and_bad_files_has_a_header_only(tmp_path: Path) -> None:
    make_folder(tmp_path / "data", ["a/1.png", "b/2.png"])
    result = run(tmp_path / "data", "--out", tmp_path / "bad.csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "data        data: 2 images in 2 classes, all readable"
    assert "copies      none" in lines
    assert not any(line.startswith(("unreadable", "ignored", "unlabelled")) for line in lines)
    assert (tmp_path / "bad.csv").read_text() == "filename,error_code,message\n"


def test_folders_above_the_table_of_bad_files_are_made(troubled: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder" / "bad.csv"
    assert run(troubled, "--out", out).exit_code == 0
    assert out.is_file()


@pytest.mark.parametrize("option", ["DATA", "--labels", "--test"])
def test_a_table_that_is_read_is_not_replaced(tmp_path: Path, option: str) -> None:
    data = make_folder(tmp_path / "data", ["1.png", "2.png"])
    table = write_table(tmp_path / "in.csv", "file_name,label\ndata/1.png,a\ndata/2.png,b\n")
    given = [table] if option == "DATA" else [data, option, table]
    before = table.read_bytes()
    result = run(*given, "--out", table)
    assert isinstance(result.exception, SettingsError)
    assert str(result.exception) == f"--out {table} is one of the files to read; name another file"
    assert table.read_bytes() == before


def test_a_picture_is_not_replaced(troubled: Path) -> None:
    picture = troubled / "train" / "cat" / "1.png"
    before = picture.read_bytes()
    result = run(troubled, "--out", picture)
    assert isinstance(result.exception, SettingsError)
    assert str(result.exception) == f"--out {picture} is named like a picture, but a table is written; name it .csv"
    assert picture.read_bytes() == before
