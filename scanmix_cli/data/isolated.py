"""Decoding of pictures that are not calm in processes of their own, with a time limit: each can cost its row alone."""

import json
import os
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from typing import IO

import numpy as np

from scanmix_cli.data.decode import CORRUPT_IMAGE, TOO_LARGE, DecodeError, Picture, decode_bytes
from scanmix_cli.data.decode_worker import REQUEST
from scanmix_cli.data.risk import is_calm

SECONDS = 60.0  # for one picture; the largest that is read takes a few


# Modules come from where ours do, and not from the folder that the user, or whoever sent the pictures, is in.
_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from scanmix_cli.data.decode_worker import serve
serve(sys.stdin.buffer, sys.stdout.buffer)
"""


class Isolation:
    """A worker process for each thread that needs one, started when it does; `close` ends them all."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._own = threading.local()
        self._all: list[Worker] = []

    def decode(self, data: bytes, size: int, salvage: bool) -> Picture:
        """As `decode_bytes`; also raises DecodeError where the decoder dies or takes longer than allowed."""
        if is_calm(data):
            return decode_bytes(data, size, salvage=salvage)
        worker: Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = Worker(self.seconds)
            self._all.append(worker)
        return worker.decode(data, size, salvage)

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
        process = self.process if self.process is not None and self.process.poll() is None else self._start()
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        clock = threading.Timer(self.seconds, stop)
        clock.daemon = True
        clock.start()
        try:
            return _exchange(process, data, size, salvage)
        except (OSError, ValueError, EOFError):
            self.stop()
            if late.is_set():
                raise DecodeError(TOO_LARGE, f"decoding takes longer than {self.seconds:g} seconds") from None
            raise DecodeError(CORRUPT_IMAGE, "the decoder breaks down over it") from None
        finally:
            clock.cancel()

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

    def _start(self) -> "subprocess.Popen[bytes]":
        self.stop()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        return self.process


def _exchange(process: "subprocess.Popen[bytes]", data: bytes, size: int, salvage: bool) -> Picture:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(REQUEST.pack(len(data), size, salvage))
    process.stdin.write(data)
    process.stdin.flush()
    line = process.stdout.readline(1 << 20)
    if not line.endswith(b"\n"):
        raise EOFError
    answer = json.loads(line)
    for text in answer["heard"]:
        warnings.warn(text, UserWarning, stacklevel=2)
    if "code" in answer:
        raise DecodeError(answer["code"], answer["message"])
    pixels = np.frombuffer(_exactly(process.stdout, 3 * size * size), np.uint8).reshape(3, size, size)
    width, height = answer["size"]
    return Picture(pixels, (width, height), answer["kind"], _exactly(process.stdout, answer["frame"]))


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    content = pipe.read(count)
    if len(content) < count:
        raise EOFError
    return content
