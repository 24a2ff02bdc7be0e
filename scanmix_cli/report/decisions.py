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

from scanmix_cli.errors import RunError
from scanmix_cli.report.choices import TOOLS, Choice, Origin
from scanmix_cli.report.decision_entries import (
    COLUMNS,
    SCHEMA,
    STANDING,
    STORED,
    Decision,
    decision_of,
    standing_in,
    stored_bytes,
    unusable,
)
from scanmix_cli.report.decision_table import (
    read_decision_table,
    refuse_new_classes,
    require_images,
    write_decision_table,
)
from scanmix_cli.report.result_table import open_result_table

DECISIONS = "decisions.sqlite"
T = TypeVar("T")
WAIT_SECONDS, PAUSE_SECONDS = 30.0, 0.02  # how long a writer waits for another process, and between two tries


@dataclass(frozen=True)
class Imported:
    """How many decisions were new, stood already, named no row of this run or several, and gave way to a person's."""

    new: int
    known: int
    foreign: int = 0
    left: int = 0
    repeated: int = 0


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
            try:
                self._make_ready()
            except sqlite3.Error:
                self._db.close()
                raise
        except sqlite3.Error as error:
            raise unusable(path, error, writing=True) from None

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
        self._db.execute(SCHEMA)

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
        query = f"SELECT {COLUMNS} FROM log WHERE {STANDING} AND row = ifnull(?, row) AND source = ifnull(?, source)"

        def take_back() -> Decision | None:
            found = self._db.execute(f"{query} ORDER BY id DESC LIMIT 1", (row, source)).fetchone()
            if found is None:
                return None
            values = (*found[1:5], who, _now(), found[7], found[0])
            self._db.execute(f"INSERT INTO log ({STORED}, undoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            return decision_of(found)

        return self._write(take_back)

    def current(self) -> dict[int, Decision]:
        """By row, the latest decision that stands."""
        return {decision.row: decision for decision in self.standing()}

    def standing(self) -> list[Decision]:
        """Every decision that was not taken back, oldest first."""
        with self._lock:
            try:
                return standing_in(self._db)
            except sqlite3.Error as error:
                raise unusable(self.path, error, writing=True) from None

    def since(self, position: int) -> tuple[int, dict[int, Decision | None]]:
        """The newest entry's number, and what stands now for every row that entries after `position` are about.

        A row of which every decision was taken back is None. Position 0 is the beginning.
        """
        with self._lock:
            try:
                (newest,) = self._db.execute("SELECT ifnull(max(id), 0) FROM log").fetchone()
                if newest <= position:
                    return newest, {}
                position = max(position, 0)  # SQLite takes no number of more than 64 bits
                later = "SELECT DISTINCT row FROM log WHERE id > ?"
                changed = self._db.execute(later, (position,)).fetchall()
                query = f"SELECT {COLUMNS} FROM log WHERE {STANDING} AND row IN ({later}) ORDER BY id"
                found = [decision_of(entry) for entry in self._db.execute(query, (position,))]
            except sqlite3.Error as error:
                raise unusable(self.path, error, writing=True) from None
        stands: dict[int, Decision | None] = dict.fromkeys(row for (row,) in changed)
        return newest, stands | {decision.row: decision for decision in found}

    def export_csv(self, path: Path) -> int:
        """Write the latest decision of every row, as `write_decision_table` does."""
        return write_decision_table(path, self.current())

    def import_csv(
        self,
        path: Path,
        filenames: Sequence[str],
        classes: Sequence[str],
        *,
        training: Sequence[bool] = (),
        who: str = "",
        source: str = "csv",
    ) -> Imported:
        """Append the decisions of a table as `export_csv` writes it; columns filename and decision are needed.

        filenames: the run's, in row order; training: which rows it trained on. A row is found by its number if that
        row has the file name, else by the file name, of a training image first. Decisions that stand already are not
        repeated, so a second import changes nothing; who decided goes along. Raises DataError, for labels too that are
        neither a class of the run nor a decision that stands.
        """
        table = open_result_table(path, (*filenames, *classes))
        choices, unfound = read_decision_table(table, filenames, training)
        require_images(path, len(choices), unfound)
        known = {*classes, *(entry.label for entry in self.standing())}
        refuse_new_classes(path, choices, known, self.path.parent)
        done = self.add_new(choices, who=who, source=source)
        return replace(done, foreign=unfound.foreign, repeated=unfound.repeated)

    def add_new(self, choices: Sequence[Choice], *, who: str, source: str, over_people: bool = False) -> Imported:
        """Append, in one transaction, those that differ from what stands for their row.

        who, source: of choices that do not say so themselves. What a tool says gives way to what a person decided
        unless `over_people`; a person who agrees with a tool has decided.
        """
        when = _now()

        def append() -> Imported:
            stand = {entry.row: entry for entry in standing_in(self._db)}
            new = known = left = 0
            for choice in choices:
                old = stand.get(choice.row)
                by = _origin(choice, old, Origin(who, source))
                of_person, by_tool = old is not None and old.source not in TOOLS, by.source in TOOLS
                if _same(old, choice) and (of_person or by_tool):
                    known += 1
                elif by_tool and of_person and not over_people:
                    left += 1
                else:
                    self._append(choice, by.who, when, by.source)
                    new += 1
            return Imported(new, known, left=left)

        return self._write(append)

    def _append(self, choice: Choice, who: str, when: str, source: str) -> Decision:
        name, label = stored_bytes(choice.filename), stored_bytes(choice.label)
        values = (choice.row, name, choice.decision, label, who, when, source)
        cursor = self._db.execute(f"INSERT INTO log ({STORED}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
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
                raise unusable(self.path, error, writing=True) from None
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
            begun = db.execute("SELECT 1 FROM sqlite_master").fetchone()  # not where a full disk or a kill came first
            return {decision.row: decision for decision in standing_in(db)} if begun else {}
    except sqlite3.Error as error:
        raise unusable(path, error, writing=False) from None


def _same(old: Decision | None, choice: Choice) -> bool:
    return old is not None and (old.decision, old.label) == (choice.decision, choice.label)


def _origin(choice: Choice, old: Decision | None, taken_by: Origin) -> Origin:
    """Whose choice it is: that of who takes it in where it names nobody, or says something else than its own entry."""
    said = choice.origin
    if said is None:
        return taken_by
    if old is not None and not _same(old, choice) and said == Origin(old.who, old.source, str(old.id)):
        return taken_by
    return Origin(said.who or taken_by.who, said.source or taken_by.source)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
