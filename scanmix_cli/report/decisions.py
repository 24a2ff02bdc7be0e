"""What people and other tools decided about rows of a run: an append-only log in `RUN/decisions.sqlite`.

    from scanmix_cli.report.choices import Choice   # (row, filename, decision, label)

    with open_decisions(run) as log:
        log.record(Choice(7, "cat/007.jpg", "relabel", "dog"), who="ada", source="review")
        log.current()[7].label                 # "dog": the latest decision that was not undone, by row
        log.undo(source="review")              # takes back the newest one that still stands; says which
        log.export_csv(Path("decisions.csv"))
        log.import_csv(Path("decisions.csv"), report["filename"])
    read_current(run)                          # the same as current(), without making a file where there is none

One file serves several processes and threads: SQLite in WAL mode, one transaction a call, and a writer waits for
another. Nothing is ever changed or removed in it: an undo is an entry of its own that names the entry it takes back.
`row` is the row number of report.csv (0 is the first), `filename` that row's file name, kept so that a decision is not
laid on another image. Times are UTC, ISO 8601.
"""

import csv
import io
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

from scanmix_cli.errors import DataError, RunError
from scanmix_cli.evidence.verdicts import RELABEL
from scanmix_cli.files import write_text
from scanmix_cli.report.choices import KINDS, Choice, RowFinder
from scanmix_cli.report.spreadsheet import harmless, restored

DECISIONS = "decisions.sqlite"
T = TypeVar("T")
COLUMNS = ("id", "row", "filename", "decision", "label", "who", "when", "source")
WAIT_SECONDS = 30.0  # how long a writer waits for another process

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
    """How many decisions were new, stood already, and named no row of this run."""

    new: int
    known: int
    foreign: int


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
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(_SCHEMA)
        except sqlite3.Error as error:
            raise _unusable(path, error) from None

    def __enter__(self) -> "Decisions":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        later = "row IN (SELECT row FROM log WHERE id > ?)"
        with self._lock:
            try:
                (newest,) = self._db.execute("SELECT ifnull(max(id), 0) FROM log").fetchone()
                if newest <= position:
                    return newest, {}
                changed = self._db.execute("SELECT DISTINCT row FROM log WHERE id > ?", (position,)).fetchall()
                query = f"SELECT {_COLUMNS} FROM log WHERE {_STANDING} AND {later} ORDER BY id"
                found = [_decision(entry) for entry in self._db.execute(query, (position,))]
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from None
        stands: dict[int, Decision | None] = dict.fromkeys(row for (row,) in changed)
        return newest, stands | {decision.row: decision for decision in found}

    def export_csv(self, path: Path) -> int:
        """Write the latest decision of every row, by row; returns their number. Raises RunError on a full disk."""
        decisions = sorted(self.current().values(), key=lambda decision: decision.row)
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for decision in decisions:
            cells = [getattr(decision, name) for name in COLUMNS]
            writer.writerow([harmless(cell) if isinstance(cell, str) else cell for cell in cells])
        write_text(path, text.getvalue())
        return len(decisions)

    def import_csv(self, path: Path, filenames: Sequence[str], *, who: str = "", source: str = "csv") -> Imported:
        """Append the decisions of a CSV as `export_csv` writes it; columns filename and decision are needed.

        filenames: the run's, in row order. A row is found by its number if that row has the file name, else by the
        file name. Decisions that stand already are not repeated, so a second import changes nothing. Raises DataError.
        """
        choices, foreign = _read_csv(path, filenames)
        new = self.add_new(choices, who=who, source=source)
        return Imported(new, len(choices) - new, foreign)

    def add_new(self, choices: Sequence[Choice], *, who: str, source: str) -> int:
        """Append, in one transaction, those that differ from what stands for their row; returns their number."""
        when = _now()

        def append() -> int:
            stand = {entry.row: (entry.decision, entry.label) for entry in _standing(self._db)}
            new = [choice for choice in choices if stand.get(choice.row) != (choice.decision, choice.label)]
            for choice in new:
                self._append(choice, who, when, source)
            return len(new)

        return self._write(append)

    def _append(self, choice: Choice, who: str, when: str, source: str) -> Decision:
        name, label = _bytes(choice.filename), _bytes(choice.label)
        values = (choice.row, name, choice.decision, label, who, when, source)
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
    """The log of a run folder, made where there is none; raises RunError where it cannot be used."""
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


def _bytes(text: str) -> bytes:
    """Names of files and of class folders may hold bytes that are no UTF-8, which SQLite's text refuses."""
    return text.encode("utf-8", "surrogateescape")


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def _unusable(path: Path, error: sqlite3.Error) -> RunError:
    return RunError(f"the decisions in {path} cannot be used ({error}): free some space or mend the file")


def _read_csv(path: Path, filenames: Sequence[str]) -> tuple[list[Choice], int]:
    """The rows' choices, the last one where a row is named twice, and how many rows name no image of the run."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check the path") from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    missing = [name for name in ("filename", "decision") if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{path} has no column '{missing[0]}'; its header should be {','.join(COLUMNS)}")
    rows = RowFinder(filenames)
    choices: dict[int, Choice] = {}
    foreign = 0
    for line in reader:
        name = restored(line["filename"] or "")
        row = rows.find(name, line.get("row") or "")
        if row is None:
            foreign += 1
            continue
        decision = (line["decision"] or "").strip()
        label = restored(line.get("label") or "") if decision == RELABEL else ""
        choices[row] = Choice(row, name, decision, label)
    return list(choices.values()), foreign
