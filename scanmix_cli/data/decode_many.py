"""Decoding of many files in parallel, in row order."""

import re
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scanmix_cli.data.cache import Earlier
from scanmix_cli.data.decode import SHORTAGE, DecodeError, Picture, read_content
from scanmix_cli.data.isolated import Isolation
from scanmix_cli.data.prints import make_prints
from scanmix_cli.data.records import Records
from scanmix_cli.data.wording import shown
from scanmix_cli.errors import RunError

MANY = 10_000  # files from which on processes are worth starting
_CHUNK = 32  # rows per task: enough to make handing over a task cheap against decoding
_AHEAD = 4  # tasks per worker decoded ahead of writing, which bounds memory


@dataclass(frozen=True)
class Decoded:
    """Some rows' pictures, why the others have none, the pictures' prints, and what the image libraries said."""

    pictures: dict[int, Picture]
    prints: np.ndarray
    errors: dict[int, tuple[str, str]]
    remarks: dict[int, list[str]]


@dataclass(frozen=True)
class Decoder:
    """Decodes files in threads, since Pillow lets go of the interpreter lock while it decodes and resizes; those that
    could get stuck or break the decoder in processes beside them.

    Of `MANY` files and more each thread has a process decode its calm ones: small pictures spend most of their time
    in Python, where only one thread can be.
    """

    paths: list[str]
    size: int
    workers: int
    salvage: bool
    on_progress: Callable[[int, int], None] | None
    earlier: Earlier | None = None
    begun: Records = field(default_factory=lambda: Records.empty(0))  # of the first rows, which are kept already

    def run(
        self, keep: Callable[[np.ndarray], None], note: Callable[[Records, int], None] = lambda *_: None
    ) -> Records:
        """Call `keep` with every readable image in row order; rows that an earlier entry holds come from there.

        `note` is told of all records, and of how many rows they are complete by then. Raises RunError where the
        machine is too short of something to go on, which is no row's fault.
        """
        records = self.begun.extended(len(self.paths))
        known = None if self.earlier is None else _Known(self.earlier)
        with _collected_warnings():
            for start, decoded in self._chunks():
                end = min(start + _CHUNK, len(self.paths))
                prints = iter(decoded.prints)
                for row in range(start, end):
                    if picture := decoded.pictures.get(row):
                        records.source_sizes[row], records.prints[row] = picture.size, next(prints)
                        records.set_kind(row, picture.kind)
                        keep(picture.pixels)
                    elif known is not None and self._is_known(row) and (image := known.copy(row, records)) is not None:
                        keep(image)
                records.bad |= decoded.errors
                records.remarks |= decoded.remarks
                note(records, end)
                if self.on_progress:
                    self.on_progress(end, len(self.paths))
        return records

    def _is_known(self, row: int) -> bool:
        return self.earlier is not None and self.earlier.rows[row] >= 0

    def _chunks(self) -> Iterator[tuple[int, Decoded]]:
        pool, isolation = ThreadPoolExecutor(self.workers), Isolation()
        waiting: deque[tuple[int, Future[Decoded]]] = deque()
        try:
            for start in range(len(self.begun), len(self.paths), _CHUNK):
                waiting.append((start, pool.submit(self._decode, start, isolation)))
                if len(waiting) >= _AHEAD * self.workers:
                    first, future = waiting.popleft()
                    yield first, future.result()
            while waiting:
                first, future = waiting.popleft()
                yield first, future.result()
        finally:
            pool.shutdown(cancel_futures=True)
            isolation.close()

    def _decode(self, start: int, isolation: Isolation) -> Decoded:
        rows = [row for row in range(start, min(start + _CHUNK, len(self.paths))) if not self._is_known(row)]
        pictures, errors, remarks = {}, {}, {}
        if self.workers > 1 and len(self.paths) >= MANY:
            taken = isolation.decode_calm([self.paths[row] for row in rows], self.size, self.salvage)
            for place, (outcome, heard) in taken.items():
                row = rows[place]
                if isinstance(outcome, DecodeError):
                    errors[row] = outcome.code, outcome.message
                else:
                    pictures[row] = outcome
                if heard:
                    remarks[row] = [_wording(text) for text in heard]
            rows = [row for place, row in enumerate(rows) if place not in taken]
        for row in rows:
            _LOCAL.heard = []
            try:
                pictures[row] = isolation.decode(read_content(self.paths[row]), self.size, self.salvage)
            except DecodeError as error:
                if error.code == SHORTAGE:
                    raise RunError(f"reading stopped at {shown(self.paths[row])}: {error.message}") from None
                errors[row] = error.code, error.message
            if _LOCAL.heard:
                remarks[row] = _LOCAL.heard
        pictures = dict(sorted(pictures.items()))
        return Decoded(pictures, make_prints(list(pictures.values())), errors, remarks)


class _Known:
    """Reads images from an earlier entry by file, since mapped pages would stay in memory."""

    def __init__(self, earlier: Earlier) -> None:
        self.rows, self.records = earlier.rows, earlier.entry.records
        self.places = np.cumsum(self.records.is_readable()) - 1
        self.shape = earlier.entry.images.shape[1:]
        self.start = earlier.entry.images.offset  # type: ignore[attr-defined]
        self.file = open(earlier.entry.folder / "images.npy", "rb")  # noqa: SIM115 - closed with the object

    def copy(self, row: int, records: Records) -> np.ndarray | None:
        """Take over what is known of a row; its image, None where the file is bad."""
        old = int(self.rows[row])
        if old in self.records.remarks:
            records.remarks[row] = self.records.remarks[old]
        if old in self.records.bad:
            records.bad[row] = self.records.bad[old]
            return None
        records.source_sizes[row], records.prints[row] = self.records.source_sizes[old], self.records.prints[old]
        records.set_kind(row, self.records.kind(old))
        length = int(np.prod(self.shape))
        self.file.seek(self.start + int(self.places[old]) * length)
        return np.frombuffer(self.file.read(length), np.uint8).reshape(self.shape)


_LOCAL = threading.local()  # `heard`: what the image libraries warned of while the thread decoded its present file


def _wording(remark: str) -> str:
    """What many files' remarks have in common."""
    return re.sub(r"\d+", "N", remark).strip()


@contextmanager
def _collected_warnings() -> Iterator[None]:
    """Keep what image libraries warn of by its wording, numbers left out, in place of printing it."""

    def hear(message: Warning | str, *_: Any, **__: Any) -> None:
        heard = getattr(_LOCAL, "heard", None)
        if heard is not None:
            heard.append(_wording(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = hear
        yield
