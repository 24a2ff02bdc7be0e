"""What people and other tools decided about rows of a run: an append-only log in `RUN/decisions.sqlite`.

    from scanmix_cli.report.choices import Choice   # (row, filename, decision, label)

    with open_decisions(run) as log:
        log.record(Choice(7, "cat/007.jpg", "relabel", "dog"), who="ada", source="review")
        log.current()[7].label                 # "dog": the latest decision that was not undone, by row
        log.undo(source="review")              # takes back the newest one that still stands; says which
        log.export_csv(Path("decisions.csv"))
        log.import_csv(Path("decisions.csv"), report["filename"], classes)
    read_current(run)                          # the same as current(), without making a file where there is none

One file serves several processes and threads: SQLite in WAL mode, one transaction a call, and a writer waits for
another. Nothing is ever changed or removed in it: an undo is an entry of its own that names the entry it takes back.
`row` is the row number of report.csv (0 is the first), `filename` that row's file name, kept so that a decision is not
laid on another image. Times are UTC, ISO 8601.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from scanmix_cli.errors import DataError, RunError, ScanmixError
from scanmix_cli.report.choices import KINDS, TOOLS, Choice
from scanmix_cli.report.decision_table import (
    read_decision_table,
    refuse_new_classes,
    require_images,
    write_decision_table,
)

DECISIONS = "decisions.sqlite"
T = TypeVar("T")
WAIT_SECONDS, PAUSE_SECONDS = 30.0, 0.02  # how long a writer waits for another process, and between two tries

_SCHEMA = """
CREATE TABLE IF NOT EXISTS log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    row INTEGER NOT NULL,
    filename BLOB NOT NULL,
    decision TEXT NOT NULL,
    label BLOB NOT NULL,
    who TEXT NOT NULL,
    "when" TEXT NOT NULL,
    source TEXT NOT NULL,
    undoes INTEGER REFERENCES log (id)
)
"""
_STORED = 'row, filename, decision, label, who, "when", source'
_COLUMNS = f"id, {_STORED}"
# an entry stands unless another one takes it back
_STANDING = "undoes IS NULL AND id NOT IN (SELECT undoes FROM log WHERE undoes IS NOT NULL)"


@dataclass(frozen=True)
class Decision:
    """One entry of the log."""

    id: int
    row: int
    filename: str
    decision: str
    label: str
    who: str
    when: str
    source: str


@dataclass(frozen=True)
class Imported:
    """How many decisions were new, stood already, named no row of this run, and gave way to a person's."""

    new: int
    known: int
    foreign: int = 0
    left: int = 0


class Decisions:
    """The open log of one run; a context manager, usable from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"):
            if path.with_name(name).is_symlink():  # what is decided would be written elsewhere
                raise RunError(f"{path.with_name(name)} is a link, which no run makes; remove it and try again")
        try:
            # isolation_level None: transactions are begun by hand, so that a write takes its lock before it reads
            self._db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
            self._make_ready()
        except sqlite3.Error as error:
            raise _unusable(path, error) from None

    def __enter__(self) -> "Decisions":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make_ready(self) -> None:
        """Set WAL mode and make the table. SQLite waits for other processes, but not to set the mode of a new file."""
        end = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= end:
                    raise
                time.sleep(PAUSE_SECONDS)
        self._db.execute(_SCHEMA)

    def close(self) -> None:
        """Give the file back; the log must not be used afterwards."""
        self._db.close()

    def record(self, choice: Choice, *, who: str, source: str) -> Decision:
        """Append one decision and return it as stored."""
        return self.record_all([choice], who=who, source=source)[0]

    def record_all(self, choices: Iterable[Choice], *, who: str, source: str) -> list[Decision]:
        """Append several decisions in one transaction: all of them or none."""
        when = _now()
        return self._write(lambda: [self._append(choice, who, when, source) for choice in choices])

    def undo(self, *, who: str = "", row: int | None = None, source: str | None = None) -> Decision | None:
        """Take back the newest decision that stands (of one row or source, if named); None where there is none.

        Returns the decision taken back. What stood before it for that row stands again.
        """
        query = f"SELECT {_COLUMNS} FROM log WHERE {_STANDING} AND row = ifnull(?, row) AND source = ifnull(?, source)"

        def take_back() -> Decision | None:
            found = self._db.execute(f"{query} ORDER BY id DESC LIMIT 1", (row, source)).fetchone()
            if found is None:
                return None
            values = (*found[1:5], who, _now(), found[7], found[0])
            self._db.execute(f"INSERT INTO log ({_STORED}, undoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            return _decision(found)

        return self._write(take_back)

    def current(self) -> dict[int, Decision]:
        """By row, the latest decision that stands."""
        return {decision.row: decision for decision in self.standing()}

    def standing(self) -> list[Decision]:
        """Every decision that was not taken back, oldest first."""
        with self._lock:
            try:
                return _standing(self._db)
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from None

    def since(self, position: int) -> tuple[int, dict[int, Decision | None]]:
        """The newest entry's number, and what stands now for every row that entries after `position` are about.

        A row of which every decision was taken back is None. Position 0 is the beginning.
        """
        with self._lock:
            try:
                (newest,) = self._db.execute("SELECT ifnull(max(id), 0) FROM log").fetchone()
                if newest <= position:
                    return newest, {}
                later = "SELECT DISTINCT row FROM log WHERE id > ?"
                changed = self._db.execute(later, (position,)).fetchall()
                query = f"SELECT {_COLUMNS} FROM log WHERE {_STANDING} AND row IN ({later}) ORDER BY id"
                found = [_decision(entry) for entry in self._db.execute(query, (position,))]
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from None
        stands: dict[int, Decision | None] = dict.fromkeys(row for (row,) in changed)
        return newest, stands | {decision.row: decision for decision in found}

    def export_csv(self, path: Path) -> int:
        """Write the latest decision of every row, by row; returns their number. Raises RunError on a full disk."""
        decisions = sorted(self.current().values(), key=lambda decision: decision.row)
        write_decision_table(path, decisions)
        return len(decisions)

    def import_csv(
        self, path: Path, filenames: Sequence[str], classes: Sequence[str], *, who: str = "", source: str = "csv"
    ) -> Imported:
        """Append the decisions of a CSV as `export_csv` writes it; columns filename and decision are needed.

        filenames: the run's, in row order. A row is found by its number if that row has the file name, else by the
        file name. Decisions that stand already are not repeated, so a second import changes nothing. Raises DataError,
        for labels too that are neither a class of the run nor a decision that stands.
        """
        choices, foreign = read_decision_table(path, filenames)
        require_images(path, choices, foreign)
        refuse_new_classes(path, choices, {*classes, *(entry.label for entry in self.standing())})
        return replace(self.add_new(choices, who=who, source=source), foreign=foreign)

    def add_new(self, choices: Sequence[Choice], *, who: str, source: str, over_people: bool = False) -> Imported:
        """Append, in one transaction, those that differ from what stands for their row.

        What a tool says gives way to what a person decided unless `over_people`; a person who agrees with a tool has
        decided.
        """
        when, by_tool = _now(), source in TOOLS

        def append() -> Imported:
            stand = {entry.row: entry for entry in _standing(self._db)}
            new = known = left = 0
            for choice in choices:
                old = stand.get(choice.row)
                of_person = old is not None and old.source not in TOOLS
                if _same(old, choice) and (of_person or by_tool):
                    known += 1
                elif by_tool and of_person and not over_people:
                    left += 1
                else:
                    self._append(choice, who, when, source)
                    new += 1
            return Imported(new, known, left=left)

        return self._write(append)

    def _append(self, choice: Choice, who: str, when: str, source: str) -> Decision:
        values = (choice.row, _bytes(choice.filename), choice.decision, _bytes(choice.label), who, when, source)
        cursor = self._db.execute(f"INSERT INTO log ({_STORED}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        assert cursor.lastrowid is not None
        return Decision(cursor.lastrowid, choice.row, choice.filename, choice.decision, choice.label, who, when, source)

    def _write(self, action: Callable[[], T]) -> T:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    result = action()
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from None
            return result


def open_decisions(run: Path) -> Decisions:
    """The log of a run folder, made where there is none; raises DataError where it is damaged and RunError where
    it cannot be written."""
    return Decisions(run / DECISIONS)


def read_current(run: Path) -> dict[int, Decision]:
    """By row, the latest decision that stands; {} where nobody decided anything. Works in a read-only folder."""
    path = run / DECISIONS
    if not path.is_file():
        return {}
    mode = "mode=ro" if os.access(run, os.W_OK) else "immutable=1"  # WAL needs a file beside the log to read it
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=WAIT_SECONDS)) as db:
            return {decision.row: decision for decision in _standing(db)}
    except sqlite3.Error as error:
        raise _unusable(path, error) from None


def _standing(db: sqlite3.Connection) -> list[Decision]:
    return [_decision(found) for found in db.execute(f"SELECT {_COLUMNS} FROM log WHERE {_STANDING} ORDER BY id")]


def _decision(found: tuple) -> Decision:
    number, row, name, decision, label, *rest = found
    sound = isinstance(row, int) and row >= 0 and isinstance(name, bytes) and isinstance(label, bytes)
    if not sound or decision not in KINDS:
        raise sqlite3.DataError(f"entry {number} is damaged")
    return Decision(number, row, _text(name), decision, _text(label), *rest)


def _same(old: Decision | None, choice: Choice) -> bool:
    return old is not None and (old.decision, old.label) == (choice.decision, choice.label)


def _bytes(text: str) -> bytes:
    """Names of files and of class folders may hold bytes that are no UTF-8, which SQLite's text refuses."""
    return text.encode("utf-8", "surrogateescape")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def _unusable(path: Path, error: sqlite3.Error) -> ScanmixError:
    """A disk that refuses is an OperationalError of SQLite; so is a table that is not there, as in another database."""
    if isinstance(error, sqlite3.OperationalError) and not str(error).startswith("no such"):
        return RunError(f"the decisions in {path} cannot be reached ({error}): free some space, or try again later")
    return DataError(f"{path} is damaged ({error}): put a copy of it back, or move it away to go on without decisions")
