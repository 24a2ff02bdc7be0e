"""Where an export must not go, and where the originals are looked for once they were moved."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from handoff_run import ROWS, HandoffRun

from scanmix_cli.errors import DataError, SettingsError
from scanmix_cli.report.places import PLACES
from scanmix_cli.workflow.handoff import export_run

TESTED = next(k for k, row in enumerate(ROWS) if row.split == "test")


def with_test_folder(run: HandoffRun) -> Path:
    """The held-out image of the run in a folder beside the data, as `--test` has it."""
    original = run.data / ROWS[TESTED].filename
    moved = run.data.with_name("tests") / "NA" / original.name
    moved.parent.mkdir(parents=True)
    original.rename(moved)
    original.parent.rmdir()
    (run.folder / PLACES).write_text(f"row,path\n{TESTED},{moved}\n", encoding="utf-8")
    return moved.parent.parent


def change(run: HandoffRun, changed: Callable[[dict[str, str]], dict[str, str]]) -> None:
    """Write other cells into the rows of the report."""
    report = run.folder / "report.csv"
    with report.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = list(csv.DictReader(file))
    with report.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | changed(row) for row in rows)


def with_table(run: HandoffRun, table: Path, *, absolute: bool) -> None:
    """The run as one on a table whose images lie below `run.data`."""
    base = run.data if absolute else Path(run.data.name)
    change(run, lambda row: {"filename": str(base / row["filename"].removeprefix("'"))})
    summary = json.loads((run.folder / "summary.json").read_text(encoding="utf-8"))
    summary["data"] |= {"root": str(table.parent), "tables": [str(table)]}
    (run.folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")


def test_an_export_beside_the_data_and_the_test_folder(own_run: HandoffRun) -> None:
    tests = with_test_folder(own_run)
    for inside in (own_run.data / "new", own_run.data / "01", tests / "NA", tests / "NA" / "new"):
        with pytest.raises(SettingsError, match=r"lies inside .*, which holds the original images"):
            export_run(own_run.folder, "csv", inside)
    assert export_run(own_run.folder, "csv", own_run.data.with_name("out")).rows == 9


@pytest.mark.parametrize("absolute", [True, False])
def test_an_export_beside_a_table_and_its_images(own_run: HandoffRun, absolute: bool) -> None:
    with_table(own_run, own_run.data.with_name("labels.csv"), absolute=absolute)
    with pytest.raises(SettingsError, match=r"lies inside .*, which holds the original images"):
        export_run(own_run.folder, "csv", own_run.data / "new")
    assert export_run(own_run.folder, "csv", own_run.data.with_name("out")).rows == 9


def test_a_folder_is_kept_apart_whatever_its_splits(own_run: HandoffRun) -> None:
    """Its training images lie below `data/01`, and yet the folder is `data`."""
    below = ("01/a b", "held out")
    change(own_run, lambda row: {} if row["filename"].startswith(below) else {"error_code": "ERROR_MISSING_FILE"})
    with pytest.raises(SettingsError, match=r"lies inside .*, which holds the original images"):
        export_run(own_run.folder, "csv", own_run.data / "new")


@pytest.mark.parametrize("table", ["labels.csv", "lists/labels.csv"])
def test_images_of_absolute_paths_are_found_where_they_were_moved(own_run: HandoffRun, table: str) -> None:
    with_table(own_run, own_run.data.parent / table, absolute=True)
    new = own_run.data.with_name("new")
    new.mkdir()
    own_run.data.rename(new / "data")
    with pytest.raises(DataError, match=r"^none of the 9 images is where it was, .*, or name the folder that holds"):
        export_run(own_run.folder, "csv", new.with_name("none"))
    with pytest.raises(DataError, match=r"^none of the 9 images is below --root .*/none, such as .*/none/.*a b\.png; "):
        export_run(own_run.folder, "csv", new.with_name("out"), root=new.with_name("none"))
    done = export_run(own_run.folder, "csv", new.with_name("out"), root=new / "data")
    assert (done.rows, done.gone) == (9, [])
    if table == "labels.csv":  # its folder is where relative paths would have begun
        assert export_run(own_run.folder, "csv", new.with_name("also"), root=new).rows == 9


def test_a_test_folder_that_was_moved_with_the_data_or_not(own_run: HandoffRun) -> None:
    tests = with_test_folder(own_run)
    new = own_run.data.with_name("new")
    new.mkdir()
    own_run.data.rename(new / "data")
    done = export_run(own_run.folder, "csv", new.with_name("one"), root=new / "data")
    assert (done.rows, done.gone) == (9, [])
    tests.rename(new / tests.name)
    assert export_run(own_run.folder, "csv", new.with_name("two"), root=new / "data").gone == [ROWS[TESTED].filename]
    done = export_run(own_run.folder, "csv", new.with_name("three"), root=new)
    assert (done.rows, done.gone) == (9, [])


def test_absolute_paths_stay_where_they_are_found(own_run: HandoffRun, tmp_path: Path) -> None:
    with_table(own_run, own_run.data.with_name("labels.csv"), absolute=True)
    assert export_run(own_run.folder, "csv", tmp_path / "out", root=tmp_path).rows == 9
