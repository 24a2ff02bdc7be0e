"""Files that are either the old one or the whole new one, never half of it; locks on files; TOML; where runs lie."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from scanmix_cli.errors import DataError, RunError, ScanmixError, SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there
    fcntl = None  # type: ignore[assignment]

RUNS = Path("scanmix-runs")
LATEST = "latest"  # a text file in RUNS that names the newest run

_NO_FOLDER = "the working folder has been removed; change to one that is there and run the command again"

# What the machine may be short of for a while, which says nothing of the file at hand.
_SHORTAGES = {
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "close programs that have many files open",
    errno.ENOMEM: "close other programs or use a machine with more memory",
    errno.EAGAIN: "raise the limit of processes (`ulimit -u`) or close other programs",
}


def shortage(error: OSError) -> str | None:
    """What the machine is short of, and what helps; None where the error is about something else."""
    advice = _SHORTAGES.get(error.errno or 0)
    return None if advice is None else f"{error.strerror}; {advice} and run the command again"


def openable(path: str) -> str:
    """The path as the system is to be asked for it: where the locale has no letters for it, by its bytes in UTF-8."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        with suppress(UnicodeEncodeError):  # half a letter, which no file name has
            return os.fsdecode(path.encode("utf-8", "surrogateescape"))
    return path


def refused_file(error: OSError) -> ScanmixError | None:
    """The sentence for a file that the system does not let us use, or for a working folder that is gone; None where
    the error names no file."""
    if error.filename is None:
        return _gone_folder()
    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    if told := shortage(error):
        return RunError(f"{name} cannot be read or written: {told}")
    return DataError(f"{name} cannot be read or written ({error.strerror}); check the path and its permissions")


def _gone_folder() -> DataError | None:
    try:
        os.getcwd()
    except FileNotFoundError:
        return DataError(_NO_FOLDER)
    return None


def lock_file(file: IO[bytes]) -> bool | None:
    """Lock an open file until it is closed or its process ends: False where another process has done so, None where
    the system or the file system knows no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def write_file(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Let `write` fill a temporary file in the same folder, flush it to disk, rename it; RunError when that fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:  # never through a link that someone has put there
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        reason = error.strerror or str(error)
        raise RunError(f"{path} could not be written ({reason}): free some space or choose another folder") from error


def _sync_folder(folder: Path) -> None:
    """Make a rename outlast a power cut, where the system can open folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """`write_file` with bytes at hand."""
    write_file(path, lambda file: file.write(content))


def write_text(path: Path, text: str) -> None:
    """`write_file` in UTF-8; bytes of a file name that are no UTF-8 go out as they came in."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_toml(path: Path, table: dict[str, Any]) -> None:
    """`write_file` of a TOML table."""
    import tomli_w  # the only place that needs it

    write_text(path, tomli_w.dumps(table))


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a table; SettingsError when it is missing or not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"configuration {path} does not exist; check the path given to --config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"configuration {path} is not valid TOML ({error}); mend that line") from None
