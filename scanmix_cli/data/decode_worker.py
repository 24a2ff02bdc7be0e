"""A process that decodes pictures for `isolated.py`: requests on standard input, answers on standard output.

It has little memory, writes no file, and may die: that costs one picture.
"""

import json
import signal
import struct
import warnings
from contextlib import suppress
from typing import Any, BinaryIO

from scanmix_cli.data import decode
from scanmix_cli.data.risk import is_calm

READY = b"ready\n"  # the first that is answered: what ends the process before is no picture's fault
REQUEST = struct.Struct("<QIB")  # length of the file's content, size of the picture, whether to salvage
BATCH = 1 << 62  # added to the length: what follows is a list of paths in JSON
ORPHANED = 300  # seconds for a picture, longer than the asking process ever waits
MEMORY = 4 << 30  # bytes of addresses, also for a picture of MAX_PIXELS


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until there are no more requests: a line of JSON on the picture, then its pixels and frame; or a list of
    several, then those of each."""
    _limit()
    answers.write(READY)
    answers.flush()
    while head := requests.read(REQUEST.size):
        length, size, salvage = REQUEST.unpack(head)
        if length < BATCH:
            _alarm(ORPHANED)
            answer, body = _decoded(requests.read(length), size, bool(salvage))
            line = json.dumps(answer)
            _alarm(0)
        else:
            several, body = _decoded_files(json.loads(requests.read(length - BATCH)), size, bool(salvage))
            line = json.dumps(several)
        answers.write(line.encode() + b"\n" + body)
        answers.flush()


def _decoded(data: bytes, size: int, salvage: bool) -> tuple[dict[str, Any], bytes]:
    body = b""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            picture = decode.decode_bytes(data, size, salvage=salvage)
            answer: dict[str, Any] = {"size": picture.size, "kind": picture.kind}
            body = picture.pixels.tobytes() + picture.frame
        except decode.DecodeError as error:
            answer = {"code": error.code, "message": error.message}
    return answer | {"bytes": len(body), "heard": [str(warning.message) for warning in heard]}, body


def _decoded_files(paths: list[str], size: int, salvage: bool) -> tuple[list[dict[str, Any]], bytes]:
    """Of the calm ones alone, each with its place; none that memory was short for."""
    answers, bodies = [], []
    for place, path in enumerate(paths):
        with suppress(decode.DecodeError):  # what cannot be read is left to the process that asks
            data = decode.read_content(path)
            if not is_calm(data):
                continue
            answer, body = _decoded(data, size, salvage)
            if answer.get("code") not in (decode.SHORTAGE, decode.TOO_LARGE):
                answers.append(answer | {"place": place})
                bodies.append(body)
    return answers, b"".join(bodies)


def _alarm(seconds: int) -> None:
    """End the process after so long, whatever it does: should the one that would end it be gone itself."""
    if hasattr(signal, "alarm"):  # not on Windows
        signal.alarm(seconds)


def _limit() -> None:
    with suppress(ImportError, OSError, ValueError):  # no such limits on Windows; lower ones may be set already
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
