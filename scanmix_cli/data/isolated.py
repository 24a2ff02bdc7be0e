"""Decoding in processes beside this one: of pictures that are not calm, with a time limit, since each may cost its row
alone; and of calm ones by the dozen, where there are many."""

import errno
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import IO, Any

import numpy as np

from scanmix_cli.data.decode import (
    CORRUPT_IMAGE,
    NO_MEMORY,
    SHORTAGE,
    TOO_LARGE,
    DecodeError,
    Picture,
    decode_bytes,
)
from scanmix_cli.data.decode_worker import BATCH, READY, REQUEST
from scanmix_cli.data.risk import is_calm
from scanmix_cli.files import shortage

SECONDS = 60.0  # for one picture; the largest that is read takes a few
_START_SECONDS = 60.0
_CALM = "run the command again when the machine has less to do"
_STARTS = 5  # a process that starts may be killed by whoever wants its memory, which says nothing of a picture
_TRIES = 2  # a picture that a process died over goes to a fresh one: somebody else may have killed the first


# Modules come from where ours do, and not from the folder that the user, or whoever sent the pictures, is in.
_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from scanmix_cli.data.decode_worker import serve
serve(sys.stdin.buffer, sys.stdout.buffer)
"""

Outcome = tuple[Picture | DecodeError, list[str]]  # of one file, and what the image libraries warned of


class Isolation:
    """A worker process for each thread that needs one, started when it does; `close` ends them all."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._own = threading.local()
        self._all: list[Worker] = []

    def decode(self, data: bytes, size: int, salvage: bool) -> Picture:
        """As `decode_bytes`; also raises DecodeError where the decoder dies or takes longer than allowed, and of code
        SHORTAGE where no process can be started."""
        if not is_calm(data):
            return self._worker().decode(data, size, salvage)
        try:
            return decode_bytes(data, size, salvage=salvage)
        except DecodeError as error:
            if error.message != NO_MEMORY:
                raise
            told = shortage(OSError(errno.ENOMEM, "not enough memory"))  # for a picture of ordinary size
            raise DecodeError(SHORTAGE, str(told)) from None

    def decode_calm(self, paths: list[str], size: int, salvage: bool) -> dict[int, Outcome]:
        """What becomes of the calm ones among the files, by their place in `paths`; none where the process dies."""
        return self._worker().decode_calm(paths, size, salvage)

    def _worker(self) -> "Worker":
        worker: Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = Worker(self.seconds)
            self._all.append(worker)
        return worker

    def close(self) -> None:
        """End all workers."""
        for worker in self._all:
            worker.stop()


class Worker:
    """One process at a time; the next picture after one that was too much gets a new process."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.process: subprocess.Popen[bytes] | None = None

    def decode(self, data: bytes, size: int, salvage: bool) -> Picture:
        """Hand the picture over and wait."""
        for _ in range(_TRIES):
            process, late = self._running(), threading.Event()
            try:
                with _within(process, self.seconds, late):
                    return _exchange(process, data, size, salvage)
            except (OSError, ValueError, EOFError):
                self.stop()
                if late.is_set():
                    raise DecodeError(TOO_LARGE, f"decoding takes longer than {self.seconds:g} seconds") from None
        raise DecodeError(CORRUPT_IMAGE, "the decoder breaks down over it")

    def decode_calm(self, paths: list[str], size: int, salvage: bool) -> dict[int, Outcome]:
        """Hand the paths over and wait."""
        try:
            process = self._running()
            with _within(process, self.seconds * len(paths), threading.Event()):
                return _exchange_files(process, paths, size, salvage)
        except (OSError, ValueError, EOFError, DecodeError):
            self.stop()
            return {}

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):  # what could not be handed over any more
                pipe.close()

    def _running(self) -> "subprocess.Popen[bytes]":
        """The process, or a new one that is ready; DecodeError where there is none to be had."""
        if self.process is not None and self.process.poll() is None:
            return self.process
        reason = f"it ends before it begins; see to it that memory is left and that {_python()} starts Python"
        for _ in range(_STARTS):
            try:
                if (started := self._start()) is not None:
                    return started
            except OSError as error:
                reason = shortage(error) or f"{error.strerror}; see to it that {_python()} starts Python"
            self.stop()
        raise DecodeError(SHORTAGE, f"no process to decode it can be started: {reason}")

    def _start(self) -> "subprocess.Popen[bytes] | None":
        """A new process, None where it does not get ready."""
        self.stop()
        process = self.process = subprocess.Popen(
            [sys.executable or "", "-I", "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        assert process.stdout is not None
        late = threading.Event()
        with _within(process, _START_SECONDS, late):
            if process.stdout.readline(len(READY)) == READY:
                return process
        if late.is_set():  # once is long enough
            raise DecodeError(SHORTAGE, f"no process to decode it gets ready in {_START_SECONDS:g} seconds; {_CALM}")
        return None


@contextmanager
def _within(process: "subprocess.Popen[bytes]", seconds: float, late: threading.Event) -> Iterator[None]:
    """Kill the process after so long, which `late` tells of."""

    def stop() -> None:
        late.set()
        process.kill()

    clock = threading.Timer(seconds, stop)
    clock.daemon = True
    try:
        clock.start()
    except RuntimeError as error:  # no thread more
        raise DecodeError(SHORTAGE, str(shortage(OSError(errno.EAGAIN, str(error))))) from None
    try:
        yield
    finally:
        clock.cancel()


def _python() -> str:
    return f"sys.executable, which is {sys.executable!r},"


def _exchange(process: "subprocess.Popen[bytes]", data: bytes, size: int, salvage: bool) -> Picture:
    answer, body = _asked(process, REQUEST.pack(len(data), size, salvage) + data)
    outcome, heard = _outcome(answer, body, 0, size)
    for text in heard:
        warnings.warn(text, UserWarning, stacklevel=2)
    if isinstance(outcome, DecodeError):
        raise outcome
    return outcome


def _exchange_files(
    process: "subprocess.Popen[bytes]", paths: list[str], size: int, salvage: bool
) -> dict[int, Outcome]:
    names = json.dumps(paths).encode()
    answers, body = _asked(process, REQUEST.pack(BATCH + len(names), size, salvage) + names)
    starts = accumulate((answer["bytes"] for answer in answers), initial=0)
    return {
        answer["place"]: _outcome(answer, body, start, size) for answer, start in zip(answers, starts, strict=False)
    }


def _asked(process: "subprocess.Popen[bytes]", request: bytes) -> tuple[Any, bytes]:
    """The answer's line and what follows it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request)
    process.stdin.flush()
    line = process.stdout.readline(1 << 24)
    if not line.endswith(b"\n"):
        raise EOFError
    answer = json.loads(line)
    several = answer if isinstance(answer, list) else [answer]
    return answer, _exactly(process.stdout, sum(one["bytes"] for one in several))


def _outcome(answer: dict[str, Any], body: bytes, start: int, size: int) -> Outcome:
    """What the part of the body from `start` on holds: pixels, then the frame."""
    if "code" in answer:
        return DecodeError(answer["code"], answer["message"]), answer["heard"]
    count = 3 * size * size
    pixels = np.frombuffer(body, np.uint8, count, start).reshape(3, size, size)
    width, height = answer["size"]
    frame = body[start + count : start + answer["bytes"]]
    return Picture(pixels, (width, height), answer["kind"], frame), answer["heard"]


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    content = pipe.read(count)
    if len(content) < count:
        raise EOFError
    return content
