"""The folder of an export: filled aside, and only put in place whole.

Everything is first written into `OUT/.scanmix-export`; when it is complete, its entries move up by renaming, the
manifest last. A killed export leaves that hidden folder, by which the next one knows that it may start over.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scanmix_cli.errors import RunError, SettingsError

STAGING = ".scanmix-export"
MANIFEST = "manifest.csv"


def require_apart(out: Path, sources: Sequence[Sequence[str]], data: Path | None = None) -> None:
    """SettingsError where `out` lies in a folder that holds originals, in the one above all those of a source, or in
    `data`."""
    held = [{os.path.realpath(os.path.dirname(path)) for path in paths} for paths in sources if paths]
    whole = [os.path.commonpath(folders) for folders in held]
    if data is not None:
        whole.append(os.path.realpath(data))
    target = os.path.realpath(out)
    above = {target, *(str(folder) for folder in Path(target).parents)}
    inside = above & {*(folder for folder in whole if os.path.dirname(folder) != folder), *set().union(*held)}
    if inside:
        raise SettingsError(
            f"--out {out} lies inside {max(inside, key=len)}, which holds the original images; name a folder elsewhere"
        )


@contextmanager
def destination(out: Path) -> Iterator[Path]:
    """A folder to fill; its content appears in `out` when the block ends well, and nothing of it when not.

    Raises SettingsError where `out` holds something already, RunError where the disk is full or not to be written to.
    """
    existed = out.is_dir()
    staging = out / STAGING
    try:
        _require_free(out)
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        yield staging
        _move_up(staging, out)
    except BaseException as error:
        shutil.rmtree(staging, ignore_errors=True)
        if not existed and out.is_dir() and not any(out.iterdir()):
            out.rmdir()
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            raise RunError(
                f"the export to {out} stopped ({reason}), and nothing of it is left: "
                "free some space or choose another folder"
            ) from error
        raise


def _require_free(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise SettingsError(f"--out {out} is a link or a file; name a new folder")
    entries = [path.name for path in out.iterdir()] if out.is_dir() else []
    if entries and STAGING not in entries:
        raise SettingsError(f"--out {out} holds files already, such as {min(entries)}; name a new folder")


def _move_up(staging: Path, out: Path) -> None:
    entries = sorted(staging.iterdir(), key=lambda path: (path.name == MANIFEST, path.name))
    for entry in entries:
        final = out / entry.name
        if final.is_dir() and not final.is_symlink():  # an earlier export was killed while it moved its entries
            shutil.rmtree(final)
        os.replace(entry, final)
    staging.rmdir()
