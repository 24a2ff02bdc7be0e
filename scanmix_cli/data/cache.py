"""Decoded pixels on disk: one folder per data set and size, put in place by one rename; what a stopped call has done
by then, the next one goes on with."""

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO
from zipfile import BadZipFile

import numpy as np

from scanmix_cli.data.identity import is_outdated, rows_in
from scanmix_cli.data.records import Records
from scanmix_cli.files import lock_file

_ABANDONED_SECONDS = 24 * 3600
_SAVE_SECONDS = 60.0  # so often it is noted what has been done, for a call that is killed
_CANDIDATES = 8  # so many entries are searched for files that were decoded earlier
VERSION = 4  # raise it whenever decoding gives other pixels or entries hold other files


def default_cache_dir() -> Path:
    """`$XDG_CACHE_HOME/scanmix`, or `~/.cache/scanmix`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "scanmix"


@dataclass(frozen=True)
class Place:
    """Where the pixels of these files at this size belong; `mode` is how they were decoded."""

    cache_dir: Path
    size: int
    mode: str
    states: np.ndarray  # uint64 (rows, 2), see `identity.file_states`

    @property
    def kind(self) -> str:
        """What entries have in common whose pixels may stand in for each other."""
        return f"v{VERSION}-{self.size}-{self.mode}-"

    @property
    def folder(self) -> Path:
        """Named by the state of every file in row order."""
        return self.cache_dir / (self.kind + hashlib.sha256(self.states.tobytes()).hexdigest())


@dataclass(frozen=True)
class Entry:
    """Memory-mapped images of the readable rows, what is known of all rows, and the state of their files."""

    folder: Path
    images: np.ndarray
    records: Records
    states: np.ndarray


@dataclass(frozen=True)
class Earlier:
    """Another entry that holds some of the files already; `rows` int64: where, -1 where it does not."""

    entry: Entry
    rows: np.ndarray


class CacheWriter:
    """Writes one entry image by image; `finish` puts it in its place, whole.

    Where a call was stopped before that, by a signal or an error other than the disk's, the next one for the same files
    goes on with its folder: `records` then tells of the rows that are done, and none of them is written again.
    """

    def __init__(self, place: Place, fresh: bool = False) -> None:
        self._place = place
        place.cache_dir.mkdir(parents=True, exist_ok=True)
        _sweep(place.cache_dir)
        self._saved = time.monotonic()
        self.records = Records.empty(0)
        if fresh or not self._go_on():
            self._folder = Path(tempfile.mkdtemp(prefix=f".{place.kind}", dir=place.cache_dir))
            self._images: BinaryIO = open(self._folder / "images.npy", "wb")  # noqa: SIM115 - closed in __exit__
            lock_file(self._images)
            self._write_header(0)
        self._done = len(self.records)

    def _go_on(self) -> bool:
        """Take over the folder of a stopped call whose files are the first ones of these, in the same state."""
        for path in self._place.cache_dir.glob(f".{self._place.kind}*/images.npy"):
            with suppress(OSError):
                images = path.open("r+b")
                entry = load_entry(path.parent) if lock_file(images) else None  # locked first: it may be in use
                if entry is not None and np.array_equal(entry.states, self._place.states[: len(entry.states)]):
                    self._folder, self._images, self.records = path.parent, images, entry.records
                    images.truncate(entry.images.offset + entry.images.nbytes)  # type: ignore[attr-defined]
                    images.seek(0, os.SEEK_END)
                    return True
                images.close()
        return False

    def _write_header(self, count: int) -> None:
        """The header is as long for any number of images, so it is written again when the number is known."""
        self._images.seek(0)
        shape = (count, 3, self._place.size, self._place.size)
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._images, header)
        self._images.seek(0, os.SEEK_END)

    def append(self, image: np.ndarray) -> None:
        """The next image in row order, uint8 (3, size, size)."""
        self._images.write(image.tobytes())

    def note(self, records: Records, done: int) -> None:
        """The first `done` rows are written, and `records` tells of them; kept from time to time for a later call."""
        self.records, self._done = records, done
        if time.monotonic() - self._saved > _SAVE_SECONDS:
            self._save()
            self._saved = time.monotonic()

    def _save(self) -> None:
        """Make the folder an entry of the rows that are done. Pixels are on the disk before anything tells of them:
        a power cut must not leave an entry whose pixels were never written."""
        records, states = self.records.first(self._done), self._place.states[: self._done]
        _synchronise(self._images)
        self._put("records.npz", lambda file: np.savez(file, states=states, **records.arrays()))
        self._put("notes.json", lambda file: file.write(json.dumps(records.notes()).encode()))
        self._write_header(int(records.is_readable().sum()))
        _synchronise(self._images)

    def _put(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        path = self._folder / f"{name}.new"
        with path.open("wb") as file:
            write(file)
            _synchronise(file)
        os.replace(path, self._folder / name)

    def finish(self, records: Records, replace: bool = False) -> None:
        """Write what belongs to the images and move the entry into place, over an earlier one with `replace`."""
        self.records, self._done = records, len(records)
        self._save()
        # Windows moves no folder with an open file in it; elsewhere the lock holds until it is moved.
        if os.name == "nt":
            self._images.close()
        final = self._place.folder
        try:
            self._folder.rename(final)
        except OSError:
            if not replace and load_entry(final) is not None:
                return  # another process was faster, with the same content
            shutil.rmtree(final, ignore_errors=True)  # damaged, or to be replaced
            self._folder.rename(final)

    def __enter__(self) -> "CacheWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        kept = False
        with suppress(OSError):  # on a full disk saving and closing fail as writing did
            if error is not None and not isinstance(error, OSError) and self._done:
                self._save()
                kept = True
        with suppress(OSError):
            self._images.close()
        if not kept:
            shutil.rmtree(self._folder, ignore_errors=True)


def _synchronise(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sweep(cache_dir: Path) -> None:
    """Remove what killed processes left behind. The clock alone does not tell: it may have been set."""
    for images in cache_dir.glob(".*/images.npy"):
        with suppress(OSError):  # its process has just moved it into place
            old = time.time() - images.stat().st_mtime > _ABANDONED_SECONDS
            with images.open("rb") as file:
                if old and lock_file(file) is not False:
                    shutil.rmtree(images.parent, ignore_errors=True)


def load_entry(folder: Path) -> Entry | None:
    """An entry, None where there is none or it cannot be read."""
    try:
        notes = json.loads((folder / "notes.json").read_text(encoding="utf-8"))
        with np.load(folder / "records.npz") as arrays:
            states, records = arrays["states"], Records.load(dict(arrays), notes)
        images = np.load(folder / "images.npy", mmap_mode="r")
        whole = len(images) == records.is_readable().sum() and len(states) == len(records)
        return Entry(folder, images, records, states) if whole else None
    except (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, BadZipFile):
        return None


def find_earlier(place: Place) -> Earlier | None:
    """The entry that holds most of the files in their present state, None where none holds any."""
    best, most = None, 0
    for folder in _alike(place):
        if (entry := load_entry(folder)) is not None:
            rows = rows_in(place.states, entry.states)
            if (count := int((rows >= 0).sum())) > most:
                best, most = Earlier(entry, rows), count
    return best


def remove_outdated(place: Place) -> None:
    """Remove entries of files that have changed since: they can never fit again."""
    for folder in _alike(place):
        entry = None if folder == place.folder else load_entry(folder)
        if entry is not None and is_outdated(place.states, entry.states):
            shutil.rmtree(folder, ignore_errors=True)


def _alike(place: Place) -> list[Path]:
    """The newest entries whose pixels may stand in for those of `place`."""
    return sorted(place.cache_dir.glob(f"{place.kind}*"), key=_time, reverse=True)[:_CANDIDATES]


def _time(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
