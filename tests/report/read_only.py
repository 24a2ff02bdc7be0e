"""A folder that can be written to at first and not any more later on, for root too."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def closable(folder: Path) -> Iterator[Callable[[], Path]]:
    """Makes `folder`; what it yields closes the folder to writing and returns it."""
    folder.mkdir()
    root = os.geteuid() == 0
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(folder)]
    if root and subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("root writes everywhere but in a read-only file system, which not every container may mount")

    def close() -> Path:
        if root:
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        else:
            folder.chmod(0o555)
        return folder

    try:
        yield close
    finally:
        if root:
            subprocess.run(["umount", str(folder)], check=True)
        else:
            folder.chmod(0o755)
