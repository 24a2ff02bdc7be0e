"""`scanmix check`: what it prints, the JSON object, the exit."""

import json
import os
import re
from pathlib import Path

import pytest
from check_run import run
from image_files import make_folder, picture, smooth_picture, write_table

from scanmix_cli.cli.app import main
from scanmix_cli.errors import DataError

pytestmark = pytest.mark.usefixtures("own_cache")


def test_screen_shows_counts_classes_bad_files_copies_and_warnings(troubled: Path) -> None:
    result = run(troubled)
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[:2] == [
        "data        photos: 8 images in 3 classes, 2 unreadable",
        "splits      train 6, val 2",
    ]
    bar = "█" * 30
    table = [line.split() for line in lines if line.strip().startswith(("cat ", "dog ", "[bold]eel "))]
    assert table == [["[bold]eel", "0", "0"], ["cat", "2", bar, "0"], ["dog", "2", bar, "2"]]
    assert lines[-12:-1] == [
        "sizes       width 8, height 8 pixels",
        "formats     PNG RGB 6",
        "unreadable  2 files; --out bad_files.csv names them all",
        "            ERROR_CORRUPT_IMAGE 1, such as train/cat/=bad.png: the content is no picture that can be read",
        "            ERROR_ZERO_SIZE_FILE 1, such as train/cat/empty.png: the file is empty",
        "copies      3 images in 1 set; 1 set with more than one label; 1 held-out image also in the training part",
        "            cat: train/cat/2.png = dog: train/dog/2.png = dog: val/dog/2.png",
        "near copies none",
        "ignored     1, since no images of a class: .DS_Store 1",
        "warning     Classes without images: '[bold]eel'.",
        "warning     Only 4 labelled training images in 2 classes; with fewer than 200 images or 20 per class, "
        "scores are unreliable.",
    ]
    assert re.fullmatch(
        r"train       profile \w+: small at 32 pixels, epochs .*; about \d+ (s|min) on cpu, .*", lines[-1]
    )


def test_classes_fit_forty_columns(troubled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = [line.rstrip() for line in run(troubled).stdout.splitlines()]
    start = lines.index(" class       train   held out")
    assert lines[start + 1 : start + 6] == [
        f" {'─' * 28}",
        " [bold]eel       0          0",
        " cat             2          0",
        " dog             2          2",
        "",
    ]


def test_the_seconds_stand_beside_the_device_that_they_are_for(troubled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanmix_cli.workflow.measured.is_measured", lambda *_: True)
    seconds = r"; about \d+ (s|min) on cpu, (1 thread|\d+ threads)"
    last = run(troubled).stdout.splitlines()[-1]
    assert re.search(rf"{seconds}; before that it measures whether the weights \S+ see them better$", last)


def test_json_is_one_object_and_nothing_else(troubled: Path) -> None:
    result = run(troubled, "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found.pop("warnings")[0] == "Classes without images: '[bold]eel'."
    plan = found.pop("plan")
    assert (plan["backbone"], plan["image_size"]) == ("small", 32)
    assert plan["total_seconds"] == pytest.approx(sum(plan["seconds"].values()), abs=0.5)
    assert list(plan["seconds"]) == ["simclr", "scanmix", "rest"]
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
        "formats": {"PNG RGB": 6},
        "bad_files": {"ERROR_CORRUPT_IMAGE": 1, "ERROR_ZERO_SIZE_FILE": 1},
        "bad_examples": [
            {
                "filename": "train/cat/=bad.png",
                "error_code": "ERROR_CORRUPT_IMAGE",
                "message": "the content is no picture that can be read",
            },
            {"filename": "train/cat/empty.png", "error_code": "ERROR_ZERO_SIZE_FILE", "message": "the file is empty"},
        ],
        "copies": {
            "sets": 1,
            "images": 3,
            "conflicts": 1,
            "leaks": 1,
            "examples": [["cat: train/cat/2.png", "dog: train/dog/2.png", "dog: val/dog/2.png"]],
        },
        "near_copies": {"sets": 0, "images": 0, "conflicts": 0, "leaks": 0, "examples": []},
        "ignored": {".DS_Store": 1},
    }


def test_many_classes_are_shown_in_part(tmp_path: Path) -> None:
    make_folder(tmp_path / "data", [f"{k:02}/{j}.png" for k in range(50) for j in range(1 + k % 2)])
    result = run(tmp_path / "data")
    assert "(20 more)" in result.stdout
    shown = [line.split()[0] for line in result.stdout.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert len(shown) == 30


def test_table_options_reach_the_reader(tmp_path: Path) -> None:
    make_folder(tmp_path / "images", ["1.png", "2.png", "3.png", "4.png"])
    table = write_table(
        tmp_path / "t.csv", "where:what:part\n1.png:größe:train\n2.png:dog:train\n3.png:dog:dev\n", "cp1252"
    )
    columns = ("--path-column", "where", "--label-column", "what", "--split-column", "part", "--sep", ":")
    more = write_table(tmp_path / "more.csv", "where:what:part\n4.png:dog:train\n", "cp1252")
    found = json.loads(
        run(table, *columns, "--root", tmp_path / "images", "--encoding", "cp1252", "--test", more, "--json").stdout
    )
    assert found["splits"] == {"train": 2, "dev": 1, "test": 1}
    assert [entry["name"] for entry in found["classes"]] == ["dog", "größe"]
    assert found["readable"] == 4
    found = json.loads(run(tmp_path / "images", "--labels", table, *columns, "--encoding", "cp1252", "--json").stdout)
    assert found["readable"] == 4


def test_untrainable_set_is_shown_and_refused(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", ["a/1.png", "b/1.png"])
    (data / "b" / "1.png").write_bytes(b"garbage")
    result = run(data, "--json", "--out", tmp_path / "bad.csv")
    assert isinstance(result.exception, DataError)
    found = json.loads(result.stdout)
    assert found["trainable"] is False
    assert found["problem"] == str(result.exception)
    assert len((tmp_path / "bad.csv").read_text().splitlines()) == 2


def test_unusable_input_is_one_sentence_and_with_json_an_object(tmp_path: Path) -> None:
    problem = f"{tmp_path / 'gone'} does not exist; check the path"
    result = run(tmp_path / "gone")
    assert isinstance(result.exception, DataError)
    assert (str(result.exception), result.stdout) == (problem, "")
    result = run(tmp_path / "gone", "--json")
    assert isinstance(result.exception, DataError)
    assert json.loads(result.stdout) == {"data": str(tmp_path / "gone"), "trainable": False, "problem": problem}


def test_exit_codes(troubled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_folder(tmp_path / "one", ["cat/1.png", "cat/2.png"])
    for data, code in ((troubled, 0), (tmp_path / "one", 2), (tmp_path / "gone", 2)):
        with pytest.raises(SystemExit) as stopped:
            main(["check", str(data)])
        assert (stopped.value.code or 0) == code
    assert capsys.readouterr().err.splitlines() == [
        f"scanmix: {tmp_path}/one has training images of only one class, 'cat'; add a second class",
        f"scanmix: {tmp_path}/gone does not exist; check the path",
    ]


def test_rescan_and_truncated_reach_the_decoder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        smooth_picture(64, 64).rotate(90 * len(list(data.rglob("*.jpg")))).save(data / name)
    path = data / "a" / "1.jpg"
    path.write_bytes(path.read_bytes()[:-200])
    found = json.loads(run(data, "--json").stdout)
    assert found["bad_files"] == {"ERROR_TRUNCATED_IMAGE": 1}
    found = json.loads(run(data, "--json", "--truncated", "use").stdout)
    assert found["bad_files"] == {}
    assert "file cut short, what is there of the picture is used (1 time)" in found["warnings"]
    before = path.stat()
    path.write_bytes(b"x" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert json.loads(run(data, "--json").stdout)["bad_files"] == {"ERROR_TRUNCATED_IMAGE": 1}
    assert json.loads(run(data, "--json", "--rescan").stdout)["bad_files"] == {"ERROR_CORRUPT_IMAGE": 1}
    assert run(data, "--truncated", "maybe").exit_code == 2


def test_near_copies_across_classes_and_splits_are_said(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", ["train/a/1.png", "train/b/1.png"])
    for name, options in (
        ("train/a/2.jpg", {"quality": 95}),
        ("train/b/2.jpg", {"quality": 60}),
        ("val/a/2.webp", {"quality": 80}),
    ):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        smooth_picture(64, 48).save(data / name, **options)
    lines = run(data).stdout.splitlines()
    at = lines.index(
        "near copies 3 images in 1 set; 1 set with more than one label; 1 held-out image also in the training part"
    )
    assert lines[at + 1] == "            a: train/a/2.jpg = b: train/b/2.jpg = a: val/a/2.webp"
    assert lines[at - 1] == "copies      none"


def test_formats_and_litter_are_counted_by_kind(tmp_path: Path) -> None:
    data = make_folder(tmp_path / "data", ["a/1.png", "b/2.png", "b/3.jpg"])
    picture(5).convert("L").save(data / "a" / "4.png")
    picture(6).convert("RGBA").save(data / "a" / "5.webp", lossless=True)
    for name in (
        "a/x.txt",
        "a/y.txt",
        "b/._2.png",
        ".DS_Store",
        "b/.ipynb_checkpoints",
        "b/z.xml",
        "b/q.psd",
        "b/r.md",
    ):
        (data / name).touch()
    lines = run(data).stdout.splitlines()
    assert "formats     PNG RGB 3, PNG grey 1, WEBP RGB 1" in lines
    (ignored,) = [line for line in lines if line.startswith("ignored")]
    assert ignored == (
        "ignored     8, since no images of a class: "
        "*.txt 2, *.md 1, *.psd 1, *.xml 1, .DS_Store 1, ._* 1, .ipynb_checkpoints 1"
    )
    assert json.loads(run(data, "--json").stdout)["ignored"] == {
        **{"*.txt": 2, "._*": 1, ".DS_Store": 1, ".ipynb_checkpoints": 1, "*.xml": 1, "*.psd": 1, "*.md": 1},
    }


def test_help_starts_with_a_sentence_and_an_example() -> None:
    lines = [line.strip() for line in run("--help").stdout.splitlines() if line.strip()]
    assert lines[1] == "Read a data set and say what would be used and what is wrong with it."
    assert lines[2] == "Example: scanmix check photos --out bad_files.csv"
