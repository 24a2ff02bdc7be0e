"""One run folder, one process: whoever comes second is told so at once."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from scanmix_cli.errors import SettingsError
from scanmix_cli.files import lock_file

LOCK = ".lock"  # in the run folder; says who works there, and is gone when the work is done


def check_unlocked(folder: Path) -> None:
    """SettingsError where another process is at work in `folder`; touches nothing."""
    with suppress(FileNotFoundError, NotADirectoryError), (folder / LOCK).open("rb") as file:
        if lock_file(file) is False:
            raise _in_use(folder)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else works in this existing folder meanwhile; SettingsError where somebody does already.

    The system frees the lock of a process that ends, however it ends. Where a file system knows no locks there is none.
    """
    path = folder / LOCK
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644), "r+b")
        if lock_file(file) is False:
            file.close()
            raise _in_use(folder)
        if _same_file(file, path):
            break
        file.close()  # whoever had it has just taken it away
    with file:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _same_file(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _in_use(folder: Path) -> SettingsError:
    who = ""
    with suppress(OSError):
        who = (folder / LOCK).read_text(encoding="utf-8", errors="replace")[:100]
    return SettingsError(
        f"{folder} is in use by another run ({who or 'no more is known'}); wait for it to end or name another folder "
        "with --out"
    )
