"""Where the newest run lies."""

from pathlib import Path

from scanmix_cli.errors import DataError
from scanmix_cli.files import LATEST, RUNS


def latest_run(base: Path = RUNS) -> Path:
    """The folder that `base/latest` names: a link to it, or a text file holding its name.

    Raises DataError where there is no such file, or the folder it names is gone.
    """
    pointer = base / LATEST
    if not pointer.is_dir() and not (pointer.is_file() and pointer.read_text(encoding="utf-8").strip()):
        raise DataError(f"no run found in {base}: run `scanmix train DATA` first or name a run folder with `--run`")
    return resolve_run(pointer)


def resolve_run(path: Path) -> Path:
    """A run folder as given, or the one that a pointer file such as `scanmix-runs/latest` names."""
    if path.is_dir():
        return path.resolve() if path.is_symlink() else path
    if not path.is_file():
        raise DataError(f"{path} is no run folder: name the folder of a finished run, or train first")
    name = path.read_text(encoding="utf-8", errors="replace").strip()
    run = path.parent / name
    if not run.is_dir():
        raise DataError(f"{path} names {run}, which is gone: name a run folder with `--run`")
    return run
