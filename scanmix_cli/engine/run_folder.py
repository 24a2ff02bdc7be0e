"""The folder of a run: made once, never overwritten unasked, and named as the newest."""

import re
import shutil
from pathlib import Path

from scanmix_cli.errors import RunError, SettingsError
from scanmix_cli.files import LATEST, RUNS, write_text

CONTENTS = {
    "report.csv",
    "cleaned.csv",
    "report.html",
    "summary.json",
    "noise_matrix.csv",
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


def choose_folder(out: Path | None, name: str) -> Path:
    """The folder asked for, or the first free `scanmix-runs/<name>-<n>`."""
    if out is not None:
        return out
    safe = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    number = 1
    while (RUNS / f"{safe}-{number}").exists():
        number += 1
    return RUNS / f"{safe}-{number}"


def check_free(folder: Path, overwrite: bool, resume: bool) -> None:
    """SettingsError where `folder` holds something that this run may not replace; touches nothing."""
    if resume:
        if not (folder / "config.toml").is_file():
            raise SettingsError(f"{folder} holds no run to resume; start it without --resume")
        return
    if folder == RUNS / LATEST:
        raise SettingsError(f"{folder} is where the newest run is noted; name another folder with --out")
    if folder.is_file():
        raise SettingsError(f"{folder} is a file; name a folder with --out")
    entries = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if entries and not overwrite:
        raise SettingsError(
            f"run folder {folder} exists already; use --overwrite to replace it, --resume to go on, or another --out"
        )
    if any(name.startswith("decisions.sqlite") for name in entries):
        raise SettingsError(
            f"{folder} holds decisions about its images (decisions.sqlite), which are not overwritten; name another "
            f"folder with --out, and take the decisions along with --reviewed {folder}"
        )
    foreign = [name for name in entries if name not in CONTENTS and not _half_written(name)]
    if foreign:
        raise SettingsError(f"{folder} holds {foreign[0]}, which is no part of a run; name another folder with --out")


def _half_written(name: str) -> bool:
    """Whether a killed run left this temporary file of `write_file`."""
    match = re.fullmatch(r"\.(.+)\.\d+\.tmp", name)
    return match is not None and match[1] in CONTENTS


def open_folder(folder: Path, overwrite: bool, resume: bool) -> Path:
    """Create the folder; when overwriting, what an earlier run left there goes first."""
    try:
        if overwrite and not resume and folder.is_dir():
            for path in [entry for entry in folder.iterdir() if entry.name in CONTENTS or _half_written(entry.name)]:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"run folder {folder} cannot be made ({error.strerror}); name another one with --out") from None
    return folder


def point_latest(folder: Path) -> None:
    """Make `scanmix-runs/latest` name this run; RunError where it cannot be written."""
    try:
        RUNS.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"{RUNS} cannot be made ({error.strerror}); the run itself is complete in {folder}") from None
    inside = folder.resolve().parent == RUNS.resolve()
    write_text(RUNS / LATEST, (folder.name if inside else str(folder.resolve())) + "\n")
