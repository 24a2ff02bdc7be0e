"""A name of another tool finds the image that it means, or none; never another one."""

import json
from pathlib import Path

import pandas as pd
import pytest
from handoff_run import CLASSES, HandoffRun, report_table

from scanmix_cli.export.finder import ImageFinder
from scanmix_cli.export.formats import FORMATS
from scanmix_cli.export.results import read_results
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decided import read_decided_report
from scanmix_cli.report.decisions import open_decisions
from scanmix_cli.workflow.handoff import export_run

NAMES = ["cat/001.png", "cat/002.png", "dog/001.png", "dog/002.png", "dog/only.png", "deep/dog/003.png"]


def table(names: list[str] = NAMES, held_out: int = 0) -> pd.DataFrame:
    """A report of these images, the last ones held out; class of a file is its folder."""
    labels = [name.split("/")[0] for name in names]
    splits = ["train"] * (len(names) - held_out) + ["test"] * held_out
    return pd.DataFrame({"filename": names, "split": splits, "given_label": labels, "suggested_label": labels})


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("dog/001.png", [2]),
        ("B/dog/001.png", [2]),
        ("/home/ada/B/train/dog/001.png", [2]),
        ("./dog/001.png", [2]),
        ("cat/../dog/001.png", [2]),
        ("dog\\001.png", [2]),
        ("C:\\B\\dog\\001.png", [2]),
        ("dog/003.png", [5]),
        ("dog/001", [2]),
        ("only.png", [4]),
        ("only", [4]),
        ("001.png", [0, 2]),
        ("001", [0, 2]),
        ("bird/001.png", []),
        ("bird/only.png", []),
        ("hotdog/001.png", []),
        ("dog/001.jpg", []),
        ("DOG/001.png", []),
        ("og/001.png", []),
        ("001-2.png", [2]),
        ("images/001.png", [0]),
        ("/out/images/001-2.png", [2]),
        ("images/001-2.jpg", []),
        ("out/train/001-2.png", [2]),
        ("out/train/dog/001-2.png", [2]),
        ("out/train/cat/001-2.png", []),
    ],
)
def test_a_path_means_one_image_or_none(name: str, rows: list[int]) -> None:
    assert ImageFinder(table()).rows((name,)) == rows


def test_the_row_number_tells_which_image_a_name_means() -> None:
    finder = ImageFinder(table())
    assert finder.rows(("001.png",), "2") == [2]
    assert finder.rows(("001.png",), "1") == [0, 2]
    assert finder.rows(("001.png",), "9" * 5000) == [0, 2]


def test_of_images_with_one_name_the_only_one_that_is_trained_on_is_meant() -> None:
    finder = ImageFinder(table(["dog/1.png", "dog/2.png", "dog/1.png"], held_out=1), ["/a/1", "/a/2", "/b/dog/1.png"])
    assert finder.rows(("dog/1.png",)) == finder.rows(("./dog/1.png",)) == [0]
    assert finder.rows(("dog/1.png",), "2") == [2]
    assert finder.rows(("/b/dog/1.png",)) == [2]
    assert finder.rows(("/c/dog/1.png",)) == [0, 2]
    assert ImageFinder(table(["dog/1.png", "dog/1.png"])).rows(("dog/1.png",)) == [0, 1]


def test_a_relative_path_from_here_is_a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = table(["1.png", "dog/1.png", "cat/2.png"])
    places = [f"{tmp_path}/B/{name}" for name in report["filename"]]
    assert ImageFinder(report, places).rows(("B/1.png",)) == [0]
    assert ImageFinder(report, places).rows(("B/dog/1.png",)) == [1]


def test_a_relabelled_picture_of_an_export_is_not_taken_for_its_namesake() -> None:
    """The export lays cat/001.png to train/dog/001.png."""
    report = table()
    report.loc[0, "suggested_label"] = "dog"
    assert ImageFinder(report).rows(("out/train/dog/001.png",)) == [0, 2]
    assert ImageFinder(report, [f"/B/train/{name}" for name in NAMES]).rows(("/B/train/dog/001.png",)) == [2]


@pytest.mark.parametrize("layout", [name for name, kind in FORMATS.items() if kind.folder_of])
def test_pictures_of_an_export_are_found(own_run: HandoffRun, tmp_path: Path, layout: str) -> None:
    with open_decisions(own_run.folder) as log:
        log.record(Choice(3, "=cat/A B.jpg", "relabel", "01"), who="ada", source="review")
    export_run(own_run.folder, layout, tmp_path / "out", only="all")
    finder = ImageFinder(read_decided_report(own_run.folder)[0])
    manifest = pd.read_csv(tmp_path / "out" / "manifest.csv", keep_default_na=False)
    assert len(manifest) == 11
    for path, row in zip(manifest["file_name"], manifest["row"], strict=True):
        assert finder.rows((f"{tmp_path}/out/{path}",)) == [row]
        assert finder.rows((path.rsplit("/", 1)[-1],), exported=True) == [row]


@pytest.mark.parametrize(
    ("record", "rows"),
    [
        ({"image": "/data/dog/002.png"}, [3]),
        ({"image": "http://here:8080/data/dog/002.png"}, [3]),
        ({"image": "/data/002.png"}, []),
        ({"image": "/data/bird/002.png"}, []),
        ({"image": "/data/upload/1/0a1b2c3d-002.png"}, []),
        ({"image": "/data/upload/1/0a1b2c3d-only.png"}, [4]),
        ({"image": "/data/bird/0a1b2c3d-only.png"}, []),
        ({"image": "/data/dog/002.png", "filename": "002.png"}, [3]),
        ({"image": "/data/local-files/?d=images/002-2.png"}, [3]),
        ({"image": "/data/local-files/?d=images/002.png", "filename": "bird/002.png", "row": 1}, []),
    ],
)
def test_addresses_of_label_studio(tmp_path: Path, record: dict[str, object], rows: list[int]) -> None:
    result = tmp_path / "min.json"
    known = {"image": "", "filename": "cat/001.png", "row": 0}
    result.write_text(json.dumps([{**task, "label": "cat"} for task in (known, record)]), encoding="utf-8")
    results = read_results(result, table(), ["cat", "dog"])
    assert [choice.row for choice in results.choices] == [0, *rows]
    assert results.unfound.foreign + results.unfound.repeated == 1 - len(rows)


def test_the_whole_report_tells_held_out_images_from_their_namesakes(tmp_path: Path) -> None:
    report = report_table()
    report.loc[8, ["filename", "given_label"]] = report.loc[0, ["filename", "given_label"]]
    edited = report.loc[[8, 0]].assign(suggested_action=["", "drop"])
    edited.to_csv(tmp_path / "noisy.csv", index=False)
    choices = read_results(tmp_path / "noisy.csv", report, CLASSES).choices
    assert [(choice.row, choice.decision) for choice in choices] == [(0, "drop")]
