"""The entries of the log of decisions as SQLite holds them: its table, one entry of it, and errors in words."""

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from scanmix_cli.errors import DataError, RunError, ScanmixError
from scanmix_cli.report.choices import KINDS

SCHEMA = """
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
STORED = 'row, filename, decision, label, who, "when", source'
COLUMNS = f"id, {STORED}"
# an entry stands unless another one takes it back
STANDING = "undoes IS NULL AND id NOT IN (SELECT undoes FROM log WHERE undoes IS NOT NULL)"


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


def standing_in(db: sqlite3.Connection) -> list[Decision]:
    """Every entry that stands, oldest first."""
    return [decision_of(found) for found in db.execute(f"SELECT {COLUMNS} FROM log WHERE {STANDING} ORDER BY id")]


def decision_of(found: tuple) -> Decision:
    """The values of COLUMNS as an entry; raises sqlite3.DataError for one that nobody made here."""
    number, row, name, decision, label, *rest = found
    sound = isinstance(row, int) and row >= 0 and isinstance(name, bytes) and isinstance(label, bytes)
    if not sound or decision not in KINDS:
        raise sqlite3.DataError(f"entry {number} is damaged")
    return Decision(number, row, stored_text(name), decision, stored_text(label), *rest)


def stored_bytes(text: str) -> bytes:
    """Names of files and of class folders may hold bytes that are no UTF-8, which SQLite's text refuses."""
    return text.encode("utf-8", "surrogateescape")


def stored_text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


def unusable(path: Path, error: sqlite3.Error, *, writing: bool) -> ScanmixError:
    """A disk that refuses is an OperationalError of SQLite; so is a table that is not there, as in another database."""
    if not isinstance(error, sqlite3.OperationalError) or str(error).startswith("no such"):
        return DataError(
            f"{path} is damaged ({error}): put a copy of it back, or move it away to go on without decisions"
        )
    if writing and not _may_write(path):
        return RunError(
            f"decisions are kept in {path}, which cannot be written: allow writing in that folder, or copy it and name "
            "the copy with --run"
        )
    return RunError(f"the decisions in {path} cannot be reached ({error}): free some space, or try again later")


def _may_write(path: Path) -> bool:
    """Whether the file can be changed, or made, and SQLite can make its own beside it."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
