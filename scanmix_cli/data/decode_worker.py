"""A process that decodes pictures for `isolated.py`: requests on standard input, answers on standard output.

It has little memory, writes no file, and may die: that costs one picture.
"""

import json
import signal
import struct
import warnings
from contextlib import suppress
from typing import BinaryIO

REQUEST = struct.Struct("<QIB")  # length of the file's content, size of the picture, whether to salvage
ORPHANED = 300  # seconds for a picture, longer than the asking process ever waits
MEMORY = 4 << 30  # bytes of addresses, also for a picture of MAX_PIXELS


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until there are no more requests: a line of JSON, then pixels and frame."""
    from scanmix_cli.data.decode import DecodeError, decode_bytes

    _limit()
    while head := requests.read(REQUEST.size):
        length, size, salvage = REQUEST.unpack(head)
        _alarm(ORPHANED)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                picture = decode_bytes(requests.read(length), size, salvage=bool(salvage))
                answer = {"size": picture.size, "kind": picture.kind, "frame": len(picture.frame)}
                body = picture.pixels.tobytes() + picture.frame
            except DecodeError as error:
                answer, body = {"code": error.code, "message": error.message}, b""
        answer["heard"] = [str(warning.message) for warning in heard]
        _alarm(0)
        answers.write(json.dumps(answer).encode() + b"\n" + body)
        answers.flush()


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
