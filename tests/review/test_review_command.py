"""`scanmix review` on the command line."""

import csv
import json
from pathlib import Path
from shutil import copytree

import pandas as pd
import pytest
from read_only import closable
from review_run import CLASSES, HOSTILE, write_review_run

from scanmix_cli.cli.app import main
from scanmix_cli.errors import SettingsError
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions, read_current
from scanmix_cli.review.queue import read_queue
from scanmix_cli.review.server import bind


def run_command(*arguments: str | Path) -> int:
    """The exit code; 0 where the command just ends."""
    with pytest.raises(SystemExit) as ended:
        main(["review", *map(str, arguments)])
    return int(ended.value.code or 0)


def test_decisions_go_from_one_run_to_another_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write_review_run(tmp_path / "a"), write_review_run(tmp_path / "b")
    with open_decisions(first) as log:
        log.record_all(
            [Choice(0, HOSTILE[0], "relabel", CLASSES[3]), Choice(4, HOSTILE[4], "drop")], who="", source="x"
        )
        log.record(Choice(1, HOSTILE[1], "drop"), who="ada", source="cleanlab")
    table = tmp_path / "decisions.csv"
    assert run_command("--run", first, "--export", table) == 0
    assert "3 decisions written to" in capsys.readouterr().err
    with table.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        assert [line["decision"] for line in csv.DictReader(file)] == ["relabel", "drop", "drop"]
    with open_decisions(second) as log:
        log.record(Choice(1, HOSTILE[1], "keep"), who="eve", source="review")
    assert run_command("--run", second, "--import", table, "--who", "bob") == 0
    assert "2 new decisions, 0 known already, 1 left as people decided" in capsys.readouterr().err
    taken = read_current(second)
    assert {row: (entry.decision, entry.label, entry.who) for row, entry in taken.items()} == {
        0: ("relabel", CLASSES[3], "bob"),
        1: ("keep", "", "eve"),
        4: ("drop", "", "bob"),
    }


@pytest.mark.parametrize("decided", [False, True])
def test_export_only_reads_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], decided: bool) -> None:
    with closable(tmp_path / "run") as close:
        copytree(write_review_run(tmp_path / "made", 4, 4), tmp_path / "run", dirs_exist_ok=True)
        if decided:
            with open_decisions(tmp_path / "run") as log:
                log.record(Choice(1, HOSTILE[1], "drop"), who="ada", source="review")
        assert run_command("--run", close(), "--export", tmp_path / "decisions.csv") == 0
    told = "1 decision" if decided else "0 decisions"
    assert capsys.readouterr().err == f"{told} written to {tmp_path / 'decisions.csv'}\n"
    assert len((tmp_path / "decisions.csv").read_text().splitlines()) == 1 + decided


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_decisions_are_written_as_the_name_says_and_come_back(tmp_path: Path, suffix: str) -> None:
    first, second = write_review_run(tmp_path / "a", 4, 4), write_review_run(tmp_path / "b", 4, 4)
    choices = [Choice(0, HOSTILE[0], "relabel", CLASSES[3]), Choice(2, HOSTILE[2], "drop")]
    with open_decisions(first) as log:
        log.record_all(choices, who="ada", source="review")
    table = tmp_path / f"decisions{suffix}"
    assert run_command("--run", first, "--export", table) == 0
    found = pd.read_parquet(table) if suffix == ".parquet" else pd.read_json(table, lines=suffix == ".jsonl")
    assert list(found) == ["id", "row", "filename", "decision", "label", "who", "when", "source"]
    assert found["row"].tolist() == [0, 2]
    assert run_command("--run", second, "--import", table, "--who", "bob") == 0
    taken = read_current(second)
    assert {row: (entry.decision, entry.label, entry.who) for row, entry in taken.items()} == {
        0: ("relabel", CLASSES[3], "ada"),
        2: ("drop", "", "ada"),
    }


def test_another_name_for_decisions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_review_run(tmp_path, 4, 4)
    assert run_command("--run", run, "--export", tmp_path / "decisions.html") == 2
    known = "use one of .csv, .jsonl, .json, .parquet"
    assert capsys.readouterr().err == f"scanmix: --export {tmp_path}/decisions.html has no known extension: {known}\n"


def test_decisions_do_not_replace_what_they_come_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, table = write_review_run(tmp_path, 4, 4), tmp_path / "new" / "decisions.csv"
    report = (run / "report.csv").read_bytes()
    assert run_command("--run", run, "--export", run / "report.csv") == 2
    assert capsys.readouterr().err == (
        f"scanmix: --export {run}/report.csv belongs to the run in {run}, which it would break; name another file\n"
    )
    assert (run / "report.csv").read_bytes() == report
    assert run_command("--run", run, "--export", table) == 0
    capsys.readouterr()
    summary = json.loads((run / "summary.json").read_text())
    summary["data"]["tables"] = [str(table)]
    (run / "summary.json").write_text(json.dumps(summary))
    assert run_command("--run", run, "--export", table) == 2, "the run was trained on it"
    assert capsys.readouterr().err == f"scanmix: --export {table} is one of the files to read; name another file\n"
    (run / "summary.json").write_text(json.dumps(summary | {"data": summary["data"] | {"tables": []}}))
    assert run_command("--run", run, "--import", table, "--export", table) == 2
    assert f"--export {table} is one of the files to read; name another file" in capsys.readouterr().err


def test_a_taken_port_is_said_in_one_sentence() -> None:
    with bind(0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"^port {port} of 127.0.0.1 cannot be had .*--port"):
            bind(port)


def test_a_folder_that_is_none_is_said_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_review_run(tmp_path, 4, 4)
    assert run_command("--run", run, "--root", tmp_path / "gone") == 2
    assert "is no folder; name the folder that holds the images" in capsys.readouterr().err


def test_top_takes_rows_that_nothing_is_held_against(tmp_path: Path) -> None:
    run = write_review_run(tmp_path, 20, 5)
    assert read_queue(run).suspects.index.tolist() == list(range(5))
    assert read_queue(run, top=8).suspects.index.tolist() == list(range(8))
