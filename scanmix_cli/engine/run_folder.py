"""The folder of a run: made once, never overwritten unasked, and named as the newest."""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from scanmix_cli.engine.lock import LOCK, check_unlocked, locked
from scanmix_cli.errors import RunError, SettingsError
from scanmix_cli.files import LATEST, RUNS, write_text

CONTENTS = {
    "report.csv",
    "cleaned.csv",
    "report.html",
    "summary.json",
    "noise_matrix.csv",
    "noise_intervals.csv",
    "bad_files.csv",
    "metrics.csv",
    "config.toml",
    "places.csv",
    "evidence.npz",
    "log.txt",
    "checkpoints",
    "model",
    "plots",
}


_DECISIONS = "decisions.sqlite"  # with the endings of SQLite's own files beside it


class Stopped(KeyboardInterrupt):
    """The user stopped the run that was at work in `folder`."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder


def run_that_owns(place: Path) -> Path | None:
    """The run folder among those above `place` that uses this name, or the sub-folder it lies in, for itself."""
    return next((folder for folder in place.parents if _is_own(place, folder) and is_run(folder)), None)


def _is_own(place: Path, folder: Path) -> bool:
    name = place.relative_to(folder).parts[0]
    return name in CONTENTS or name == LOCK or name.startswith(_DECISIONS)


def is_run(folder: Path) -> bool:
    """Whether it holds a run, finished or begun; a folder of the user's may hold one file with such a name."""
    signs = (("summary.json", "report.csv"), ("config.toml", "checkpoints"))
    return any(all((folder / name).exists() for name in pair) for pair in signs)


def choose_folder(out: Path | None, name: str) -> Path:
    """The folder asked for, or the first free `scanmix-runs/<name>-<n>`."""
    if out is not None:
        return out
    safe = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    folder = RUNS / f"{safe}-1"
    while folder.exists():
        folder = _next(folder)
    return folder


def _next(folder: Path) -> Path:
    """`<name>-<n + 1>` after `<name>-<n>`."""
    name, _, number = folder.name.rpartition("-")
    return folder.with_name(f"{name}-{int(number) + 1}")


def check_free(folder: Path, overwrite: bool, resume: bool) -> None:
    """SettingsError where another run is at work in `folder`, or it holds something that this run may not replace;
    touches nothing."""
    check_unlocked(folder)
    _check_contents(folder, overwrite, resume)


def _check_contents(folder: Path, overwrite: bool, resume: bool) -> None:
    if resume:
        if not (folder / "config.toml").is_file():
            raise SettingsError(f"{folder} holds no run to resume; start it without --resume")
        links = sorted(name for name in CONTENTS if (folder / name).is_symlink())
        if links:  # what is written there would end up elsewhere
            raise SettingsError(f"{folder / links[0]} is a link, which no run makes; remove it, or use another --out")
        return
    if folder == RUNS / LATEST:
        raise SettingsError(f"{folder} is where the newest run is noted; name another folder with --out")
    if folder.is_file():
        raise SettingsError(f"{folder} is a file; name a folder with --out")
    found = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    entries = sorted(name for name in found if name != LOCK and not _half_written(name))
    if entries and not overwrite:
        raise SettingsError(
            f"run folder {folder} exists already; use --overwrite to replace it, --resume to go on, or another --out"
        )
    if any(name.startswith(_DECISIONS) for name in entries):
        raise SettingsError(
            f"{folder} holds decisions about its images (decisions.sqlite), which are not overwritten; name another "
            f"folder with --out, and take the decisions along with --reviewed {folder}"
        )
    foreign = [name for name in entries if name not in CONTENTS]
    if foreign:
        raise SettingsError(f"{folder} holds {foreign[0]}, which is no part of a run; name another folder with --out")


def _half_written(name: str) -> bool:
    """Whether a killed run left this temporary file of `write_file`."""
    match = re.fullmatch(r"\.(.+)\.\d+\.tmp", name)
    return match is not None and match[1] in CONTENTS


@contextmanager
def opened_folder(folder: Path, overwrite: bool, resume: bool, numbered: bool = False) -> Iterator[Path]:
    """Make the folder and work in it alone; when overwriting, what an earlier run left there goes first.

    numbered: the name is that of `choose_folder`; where another run has taken it since, the next free one is made.
    Leftovers of a killed run's unfinished writing go in any case. Raises SettingsError as `check_free` does, and
    Stopped where the user stops the run that works there.
    """
    ready = False
    try:
        with ExitStack() as stack:
            try:
                folder = _made(folder, numbered)
                stack.enter_context(locked(folder))
                _check_contents(folder, overwrite, resume)
                _clear(folder, overwrite and not resume)
            except OSError as error:
                reason = error.strerror
                raise RunError(
                    f"run folder {folder} cannot be made or written to ({reason}); name another one with --out"
                ) from None
            ready = True
            yield folder
    except KeyboardInterrupt:  # also one of the moment in which the lock is taken away
        if not ready:
            raise
        raise Stopped(folder) from None


def _made(folder: Path, numbered: bool) -> Path:
    if not numbered:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
        folder = _next(folder)


@contextmanager
def disk_told(folder: Path) -> Iterator[None]:
    """Turn what a disk refuses a run in this folder into a RunError that says how to go on."""
    try:
        yield
    except OSError as error:
        raise RunError(
            f"{error.filename or folder} cannot be written or read ({error.strerror or error}); "
            "make room and go on with --resume"
        ) from None


def _clear(folder: Path, everything: bool) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink() and path.name in CONTENTS:
            if everything:
                shutil.rmtree(path)
            else:
                for leftover in path.glob(".*.tmp"):
                    leftover.unlink()
        elif _half_written(path.name) or (everything and path.name in CONTENTS):
            path.unlink()


def point_latest(folder: Path) -> None:
    """Make `scanmix-runs/latest` name this run; RunError where it cannot be written."""
    try:
        RUNS.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"{RUNS} cannot be made ({error.strerror})") from None
    inside = folder.resolve().parent == RUNS.resolve()
    write_text(RUNS / LATEST, (folder.name if inside else str(folder.resolve())) + "\n")
