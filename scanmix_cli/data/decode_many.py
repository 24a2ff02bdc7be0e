"""Decoding of many files in parallel, in row order."""

import re
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanmix_cli.data.decode import DecodeError, decode_file

_CHUNK = 32  # rows per task: enough to make handing over a task cheap against decoding
_AHEAD = 4  # tasks per worker decoded ahead of writing, which bounds memory

Decoded = tuple[np.ndarray, tuple[int, int]] | DecodeError


@dataclass
class Outcome:
    """What became of every row: errors by row, original sizes, and complaints of the image libraries by text."""

    source_sizes: np.ndarray
    bad: dict[int, tuple[str, str]]
    complaints: Counter[str]

    def notes(self) -> dict[str, Any]:
        return {"bad": [[row, *error] for row, error in self.bad.items()], "complaints": self.complaints}

    @classmethod
    def from_notes(cls, source_sizes: np.ndarray, notes: dict[str, Any]) -> "Outcome":
        bad = {row: (code, message) for row, code, message in notes["bad"]}
        return cls(source_sizes, bad, Counter(notes["complaints"]))


@dataclass(frozen=True)
class Decoder:
    """Decodes files in threads, since Pillow lets go of the interpreter lock while it decodes and resizes."""

    paths: list[str]
    size: int
    workers: int
    on_progress: Callable[[int, int], None] | None

    def run(self, keep: Callable[[np.ndarray], None]) -> Outcome:
        """Call `keep` with every readable image in row order."""
        outcome = Outcome(np.zeros((len(self.paths), 2), np.int32), {}, Counter())
        row = 0
        with _collected_warnings(outcome.complaints):
            for chunk in self._chunks():
                for decoded in chunk:
                    if isinstance(decoded, DecodeError):
                        outcome.bad[row] = (decoded.code, decoded.message)
                    else:
                        image, outcome.source_sizes[row] = decoded
                        keep(image)
                    row += 1
                if self.on_progress:
                    self.on_progress(row, len(self.paths))
        return outcome

    def _chunks(self) -> Iterator[list[Decoded]]:
        starts = iter(range(0, len(self.paths), _CHUNK))
        pool = ThreadPoolExecutor(self.workers)
        waiting: deque[Future[list[Decoded]]] = deque()
        try:
            for start in starts:
                waiting.append(pool.submit(self._decode, start))
                if len(waiting) >= _AHEAD * self.workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _decode(self, start: int) -> list[Decoded]:
        return [_decoded(path, self.size) for path in self.paths[start : start + _CHUNK]]


def _decoded(path: str, size: int) -> Decoded:
    try:
        return decode_file(path, size)
    except DecodeError as error:
        return error


@contextmanager
def _collected_warnings(counts: Counter[str]) -> Iterator[None]:
    """Count what image libraries warn of by its wording, numbers left out, in place of printing it."""

    def count(message: Warning | str, *_: Any, **__: Any) -> None:
        counts[re.sub(r"\d+", "N", str(message)).strip()] += 1

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = count
        yield
