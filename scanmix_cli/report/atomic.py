"""Files that are either the old one or the whole new one, never half of it."""

import os
from pathlib import Path

from scanmix_cli.errors import RunError


def write_bytes(path: Path, content: bytes) -> None:
    """Write through a temporary file in the same folder and a rename; RunError when that fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise RunError(f"{path} could not be written ({reason}): free some space or choose another folder") from error


def write_text(path: Path, text: str) -> None:
    """`write_bytes` in UTF-8; bytes of a file name that are no UTF-8 go out as they came in."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))
