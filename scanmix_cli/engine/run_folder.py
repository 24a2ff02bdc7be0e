"""The folder of a run: made once, never overwritten unasked, and named as the newest."""

import re
import shutil
from pathlib import Path

from scanmix_cli.errors import RunError, SettingsError

RUNS = Path("scanmix-runs")
LATEST = "latest"
CONTENTS = {"report.csv", "summary.json", "config.toml", "metrics.csv", "log.txt", "checkpoints", "model"}


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
    if folder.is_file():
        raise SettingsError(f"{folder} is a file; name a folder with --out")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not overwrite:
        raise SettingsError(
            f"run folder {folder} exists already; use --overwrite to replace it, --resume to go on, or another --out"
        )
    foreign = not any((folder / name).exists() for name in CONTENTS)
    if foreign:
        raise SettingsError(f"{folder} holds files that are no run of scanmix; name another folder with --out")


def open_folder(folder: Path, overwrite: bool, resume: bool) -> Path:
    """Create the folder, emptied of an earlier run when overwriting."""
    try:
        if overwrite and not resume and folder.is_dir():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"run folder {folder} cannot be made ({error.strerror}); name another one with --out") from None
    return folder


def point_latest(folder: Path) -> None:
    """Make `scanmix-runs/latest` name this run."""
    RUNS.mkdir(exist_ok=True)
    inside = folder.resolve().parent == RUNS.resolve()
    pointer = RUNS / LATEST
    temporary = RUNS / f".{LATEST}.tmp"
    temporary.write_text((folder.name if inside else str(folder.resolve())) + "\n", encoding="utf-8")
    temporary.replace(pointer)
