"""The report itself, edited in a spreadsheet or not, comes back as decisions."""

import json
from pathlib import Path

import pandas as pd
import pytest
from handoff_run import CLASSES, HandoffRun, decided, report_table, run

from scanmix_cli.errors import DataError
from scanmix_cli.export.results import read_results
from scanmix_cli.report.decisions import read_current
from scanmix_cli.report.export import write_table
from scanmix_cli.report.spreadsheet import csv_text
from scanmix_cli.workflow.handoff import export_run


def edited(path: Path, *changes: tuple[int, str, str]) -> Path:
    """The whole report with some cells changed, as a spreadsheet with semicolons writes it."""
    report = report_table()
    for row, name, cell in changes:
        report.loc[row, name] = cell
    path.write_bytes(csv_text(report).encode("utf-8", "surrogateescape").replace(b",", b";"))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json", ".parquet"])
def test_suspects_come_back_as_their_actions_say(
    own_run: HandoffRun, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / f"noisy{suffix}"
    assert run("report", "--run", own_run.folder, "--out", table) == 0
    capsys.readouterr()
    assert run("import", table, "--run", own_run.folder, "--json") == 0
    told = capsys.readouterr()
    assert told.err == "2 decisions from report, 1 left to review\n"
    assert json.loads(told.out)["undecided"] == 1
    assert decided(own_run) == {1: ("relabel", "=cat"), 9: ("drop", "")}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json", ".parquet"])
def test_names_that_are_no_utf8_come_back(own_run: HandoffRun, tmp_path: Path, suffix: str) -> None:
    report = report_table()
    report.loc[12, "suggested_action"] = "drop"
    write_table(report, tmp_path / f"edited{suffix}")
    assert run("import", tmp_path / f"edited{suffix}", "--run", own_run.folder) == 0
    assert decided(own_run)[12] == ("drop", "")


def test_what_nobody_need_have_looked_at_is_no_decision(
    own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "all.csv"
    assert run("report", "--run", own_run.folder, "--all", "--out", table) == 0
    capsys.readouterr()
    assert run("import", table, "--run", own_run.folder) == 0
    told = "3 decisions from report, 2 left to review, 5 kept as the run keeps them\n"
    assert capsys.readouterr().err == told
    assert decided(own_run) == {1: ("relabel", "=cat"), 6: ("relabel", "01"), 9: ("drop", "")}


def test_edits_are_taken_as_they_stand(own_run: HandoffRun, tmp_path: Path) -> None:
    changes = (
        (0, "suggested_action", "Drop"),
        (1, "suggested_action", "keep"),
        (2, "suggested_action", "relabel"),
        (2, "suggested_label", "NA"),
        (5, "suggested_action", "relabel"),
        (9, "suggested_action", " relabel"),
        (9, "suggested_label", "01"),
    )
    assert run("import", edited(tmp_path / "edited.csv", *changes), "--run", own_run.folder, "--who", "ada") == 0
    found = decided(own_run)
    assert found == {
        0: ("drop", ""),
        1: ("keep", ""),
        2: ("relabel", "NA"),
        5: ("relabel", "NA"),
        6: ("relabel", "01"),
        9: ("keep", ""),  # relabelled to what it was given
    }  # and nobody looked at what the run keeps and the table too
    assert {(entry.who, entry.source) for entry in read_current(own_run.folder).values()} == {("ada", "report")}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            (5, "suggested_label", "01"),
            r"row 6: suggested_label '01' is new, but suggested_action is still review; write relabel there, or take "
            "the label back$",
        ),
        ((0, "suggested_label", "NA"), "row 1: suggested_label 'NA' is new, but suggested_action is still keep; write"),
        (
            (0, "suggested_action", "burn"),
            "row 1: suggested_action 'burn' is unknown; use one of keep, relabel, review, ",
        ),
        ((1, "suggested_label", ""), "row 2: suggested_action 'relabel' needs a label; mend that row$"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, change: tuple[int, str, str], sentence: str) -> None:
    with pytest.raises(DataError, match=rf"edited\.csv, {sentence}"):
        read_results(edited(tmp_path / "edited.csv", change), report_table(), CLASSES)


def test_a_file_under_two_labels_is_told_by_its_label(tmp_path: Path) -> None:
    report = report_table()
    report.loc[9, ["filename", "given_label"]] = [report.loc[1, "filename"], "=cat"]
    path = tmp_path / "noisy.csv"
    path.write_bytes(csv_text(report.loc[[9, 1]]).encode("utf-8"))
    results = read_results(path, report, CLASSES)
    assert [(choice.row, choice.decision) for choice in results.choices] == [(9, "drop"), (1, "relabel")]


def test_the_manifest_of_an_export_is_such_a_table_and_other_runs_are_not(own_run: HandoffRun, tmp_path: Path) -> None:
    export_run(own_run.folder, "csv", tmp_path / "out", only="suspects")
    assert run("import", tmp_path / "out" / "manifest.csv", "--run", own_run.folder) == 0
    assert decided(own_run) == {1: ("relabel", "=cat"), 9: ("drop", "")}
    table = pd.DataFrame({"filename": ["x.png"], "suggested_action": ["drop"], "suggested_label": ["01"]})
    table.to_csv(tmp_path / "other.csv")
    with pytest.raises(DataError, match=r"other\.csv names no image of this run \(1 name looked for\)"):
        read_results(tmp_path / "other.csv", report_table(), CLASSES)
    table.drop(columns="filename").to_csv(tmp_path / "nameless.csv")
    with pytest.raises(
        DataError, match=r"nameless\.csv has no column 'filename', by which images are known; write the"
    ):
        read_results(tmp_path / "nameless.csv", report_table(), CLASSES)
