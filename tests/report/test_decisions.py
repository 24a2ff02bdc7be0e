"""The log of decisions: append-only, safe for several processes, readable in a spreadsheet."""

import multiprocessing
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from read_only import closable

from scanmix_cli.errors import DataError, RunError
from scanmix_cli.report import decisions
from scanmix_cli.report.choices import Choice, RowFinder
from scanmix_cli.report.decisions import DECISIONS, Imported, open_decisions, read_current

CLASSES = ["01", "=cmd", "dog"]
NAMES = ["a/1.png", "=b.png", "c\udcff, d.png", "twice.png", "twice.png"]


def relabel(row: int, label: str = "dog") -> Choice:
    return Choice(row, NAMES[row], "relabel", label)


def test_the_latest_decision_of_a_row_counts_and_all_entries_stay(tmp_path: Path) -> None:
    with open_decisions(tmp_path) as log:
        first = log.record(relabel(2, "Hündin \udcfe"), who="ada", source="review")
        log.record(Choice(0, NAMES[0], "keep"), who="ada", source="review")
        second = log.record(Choice(2, NAMES[2], "drop"), who="bob", source="review")
        assert first.label == "Hündin \udcfe"
        assert first.when.endswith("+00:00")
        assert log.standing()[0] == first
        assert log.current()[2] == second
    assert {row: entry.decision for row, entry in read_current(tmp_path).items()} == {2: "drop", 0: "keep"}


def test_undo_brings_back_what_stood_before_and_changes_no_entry(tmp_path: Path) -> None:
    with open_decisions(tmp_path) as log:
        kept = log.record(Choice(0, NAMES[0], "keep"), who="ada", source="review")
        dropped = log.record(Choice(0, NAMES[0], "drop"), who="ada", source="review")
        other = log.record(Choice(1, NAMES[1], "unsure"), who="", source="cleanlab")
        assert log.undo(who="ada", source="review") == dropped
        assert log.current() == {0: kept, 1: other}
        assert log.undo(row=0) == kept
        assert log.undo(row=0) is None
        assert log.undo() == other
        assert log.undo() is None
        assert log.current() == {}
    with closing(sqlite3.connect(tmp_path / DECISIONS)) as db:
        assert [undoes for (undoes,) in db.execute("SELECT undoes FROM log ORDER BY id")] == [None] * 3 + [2, 1, 3]


def test_a_person_who_agrees_with_a_tool_has_decided(tmp_path: Path) -> None:
    with open_decisions(tmp_path) as log:
        assert log.add_new([relabel(0)], who="", source="cleanlab") == Imported(new=1, known=0)
        assert log.add_new([relabel(0)], who="", source="cleanlab") == Imported(new=0, known=1)
        assert log.add_new([relabel(0)], who="ada", source="csv") == Imported(new=1, known=0)
        assert log.add_new([relabel(0)], who="", source="cleanlab") == Imported(new=0, known=1)
        assert log.add_new([relabel(0, "01")], who="", source="cleanlab") == Imported(new=0, known=0, left=1)
        assert log.current()[0].who == "ada"


def test_a_relabel_needs_a_label_and_nothing_else_takes_one() -> None:
    with pytest.raises(DataError, match="needs a label"):
        Choice(0, "a", "relabel")
    with pytest.raises(DataError, match="takes no label"):
        Choice(0, "a", "keep", "dog")


def test_rows_are_found_by_number_and_name_or_by_a_name_that_is_one(tmp_path: Path) -> None:
    rows = RowFinder(NAMES)
    assert rows.find("a/1.png") == 0
    assert rows.find("a/1.png", "3") == 0  # the number is another image's: the name counts
    assert rows.find("twice.png", "4") == 4
    assert rows.find("twice.png") is None
    assert rows.find("nobody.png", "0") is None


def record_many(folder: Path, row: int, start: threading.Event) -> None:
    start.wait()
    with open_decisions(folder) as log:
        for _ in range(25):
            log.record(Choice(row, f"{row}.png", "keep"), who=str(os.getpid()), source="review")


def test_two_processes_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Event()
    workers = [context.Process(target=record_many, args=(tmp_path, row, start)) for row in (0, 1)]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with open_decisions(tmp_path) as log:
        assert sorted(entry.row for entry in log.standing()) == [0] * 25 + [1] * 25


def test_two_processes_that_make_the_file_at_once_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself does not wait where another process sets the mode of the new file."""
    busy = ["database is locked", "database table is locked"]

    class Connection(sqlite3.Connection):
        def execute(self, *query: Any) -> sqlite3.Cursor:
            if busy and "journal_mode" in query[0]:
                raise sqlite3.OperationalError(busy.pop())
            return super().execute(*query)

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Connection))
    with open_decisions(tmp_path) as log:
        log.record(relabel(0), who="", source="review")
        assert len(log.standing()) == 1
    assert not busy


def test_threads_share_one_open_log(tmp_path: Path) -> None:
    with open_decisions(tmp_path) as log:

        def work(row: int) -> None:
            for _ in range(20):
                log.record(Choice(row, f"{row}.png", "keep"), who="", source="review")

        threads = [threading.Thread(target=work, args=(row,)) for row in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(log.standing()) == 80


def test_a_failed_batch_leaves_nothing(tmp_path: Path) -> None:
    def choices() -> Iterator[Choice]:
        yield relabel(0)
        raise ValueError("stop")

    with open_decisions(tmp_path) as log:
        with pytest.raises(ValueError, match="stop"):
            log.record_all(choices(), who="", source="review")
        assert log.current() == {}
        log.record(relabel(0), who="", source="review")


def test_looking_makes_no_file_and_a_broken_file_is_one_sentence(tmp_path: Path) -> None:
    assert read_current(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []
    (tmp_path / DECISIONS).write_bytes(b"no database, but long enough to be looked at" * 40)
    for use in (read_current, open_decisions):
        with pytest.raises(DataError) as error:
            use(tmp_path)
        assert str(error.value) == (
            f"{tmp_path / DECISIONS} is damaged (file is not a database): put a copy of it back, or move it away to go "
            "on without decisions"
        )


def test_a_log_that_a_full_disk_cut_short_before_its_table_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / DECISIONS).touch()
    assert read_current(tmp_path) == {}
    with closing(sqlite3.connect(tmp_path / DECISIONS)) as db:
        db.execute("PRAGMA journal_mode=WAL")  # a header, no table
    assert (tmp_path / DECISIONS).stat().st_size
    assert read_current(tmp_path) == {}
    with open_decisions(tmp_path) as log:
        log.record(Choice(0, "a.jpg", "keep"), who="ada", source="review")
    assert read_current(tmp_path)[0].decision == "keep"


def test_a_database_of_something_else_is_damaged_and_a_locked_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / DECISIONS)) as db:
        db.execute("CREATE TABLE other (id)")
    with pytest.raises(DataError, match=r"is damaged \(no such table: log\): put a copy of it back"):
        read_current(tmp_path)
    monkeypatch.setattr(decisions, "WAIT_SECONDS", 0)
    with open_decisions(tmp_path) as log, closing(sqlite3.connect(tmp_path / DECISIONS)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RunError, match=r"^the decisions in .* cannot be reached \(database is locked\): free some"):
            log.record(relabel(0), who="ada", source="review")


@pytest.mark.parametrize("change", ["row = -1", "filename = NULL", "decision = 'burn'", "label = 7"])
def test_entries_that_nobody_made_here_are_one_sentence(tmp_path: Path, change: str) -> None:
    with open_decisions(tmp_path) as log:
        log.record(relabel(0), who="ada", source="review")
    with closing(sqlite3.connect(tmp_path / DECISIONS)) as db:
        text = db.execute("SELECT sql FROM sqlite_master WHERE name = 'log'").fetchone()[0].replace(" NOT NULL", "")
        db.executescript(f"ALTER TABLE log RENAME TO own; {text}; INSERT INTO log SELECT * FROM own")
        db.execute(f"UPDATE log SET {change}")
        db.commit()
    with pytest.raises(DataError, match=r"decisions\.sqlite is damaged \(entry 1 is damaged\): put a copy of it back"):
        read_current(tmp_path)


@pytest.mark.parametrize("name", [DECISIONS, f"{DECISIONS}-wal"])
def test_decisions_are_not_written_through_a_link(tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite"
    elsewhere.touch()
    (tmp_path / name).symlink_to(elsewhere)
    with pytest.raises(RunError, match=rf"{name} is a link, which no run makes; remove it and try again$"):
        open_decisions(tmp_path)
    assert elsewhere.read_bytes() == b""


def test_a_reader_sees_what_an_open_writer_has_stored(tmp_path: Path) -> None:
    with open_decisions(tmp_path) as log:
        log.record(relabel(0), who="ada", source="review")
        assert read_current(tmp_path)[0].label == "dog"


@pytest.mark.parametrize("decided", [False, True])
def test_a_folder_that_is_not_writable_is_said(tmp_path: Path, decided: bool) -> None:
    with closable(tmp_path / "run") as close:
        if decided:
            with open_decisions(tmp_path / "run") as log:
                log.record(relabel(0), who="ada", source="review")
        run = close()
        with pytest.raises(RunError) as error:
            open_decisions(run).record(relabel(1), who="ada", source="review")
        assert str(error.value) == (
            f"decisions are kept in {run / DECISIONS}, which cannot be written: allow writing in that folder, or copy "
            "it and name the copy with --run"
        )
        assert len(read_current(run)) == decided
