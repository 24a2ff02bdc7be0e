"""Where the newest run lies."""

import os
from pathlib import Path

from scanmix_cli.errors import DataError
from scanmix_cli.files import LATEST, RUNS

LONGEST = 4096  # bytes that the name of a folder may have on common systems


def latest_run(base: Path = RUNS) -> Path:
    """The folder that `base/latest` names: a link to it, or a text file holding its name.

    Raises DataError where there is no such file, or the folder it names is gone.
    """
    pointer = base / LATEST
    if not pointer.is_dir() and not _named(pointer):
        raise DataError(f"no run found in {base}: run `scanmix train DATA` first or name a run folder with `--run`")
    return resolve_run(pointer)


def resolve_run(path: Path) -> Path:
    """A run folder as given, or the one that a pointer file such as `scanmix-runs/latest` names."""
    if os.path.isdir(path):  # False, where Path.is_dir raises, for names that no system takes
        return path.resolve() if path.is_symlink() else path
    name = _named(path)
    if not name:
        raise DataError(f"{path} is no run folder: name the folder of a finished run, or train first")
    run = path.parent / name
    if not os.path.isdir(run):
        raise DataError(f"{path} names {run}, which is gone: name a run folder with `--run`")
    return run


def _named(pointer: Path) -> str:
    """What a file called `latest` names: a folder, whose name may hold line ends and blanks, or the one line that it
    holds; "" where it is another file or holds something else."""
    if pointer.name != LATEST or not pointer.is_file():
        return ""
    with pointer.open("rb") as file:
        name = file.read(LONGEST + 1).decode("utf-8", "surrogateescape").removesuffix("\n")
    if name and os.path.isdir(pointer.parent / name):
        return name
    lines = name.strip().splitlines()
    return lines[0] if len(lines) == 1 and len(lines[0]) <= LONGEST else ""
