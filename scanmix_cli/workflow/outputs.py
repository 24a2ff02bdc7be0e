"""Where results must not go: over what was read, into the data, over a run's own files. Every command asks here."""

import os
from collections.abc import Iterable
from pathlib import Path

from scanmix_cli.data.listing import IMAGE_SUFFIXES, is_litter
from scanmix_cli.data.metadata import METADATA_NAMES
from scanmix_cli.engine.run_folder import run_that_owns
from scanmix_cli.errors import DataError, RunError, SettingsError
from scanmix_cli.report.files import read_summary


def check_file(out: Path, sources: Iterable[Path | None] = (), *, option: str = "--out") -> None:
    """SettingsError where a table written to `out` would replace a source, a picture or a file of a run.

    sources: what the command reads, files or folders. Touches nothing.
    """
    if out.is_dir():
        raise SettingsError(f"{option} {out} is a folder; name a file")
    above = next(folder for folder in out.absolute().parents if folder.exists())
    if not above.is_dir():
        raise SettingsError(f"{option} {out} lies below {above}, which is a file; name a file in a folder")
    for place in _places(out):
        if place.suffix.casefold() in IMAGE_SUFFIXES:
            raise SettingsError(f"{option} {out} is named like a picture, but a table is written; name it .csv")
        read = [source for source in sources if source is not None and _is_read(place, source)]
        if any(source.is_dir() for source in read):
            raise SettingsError(f"{option} {out} belongs to the data; name another file")
        if read:
            raise SettingsError(f"{option} {out} is one of the files to read; name another file")
        if run := run_that_owns(place):
            raise SettingsError(f"{option} {out} belongs to the run in {run}, which it would break; name another file")


def trained_on(run: Path) -> list[Path]:
    """The tables that a finished run has its labels from, as far as its summary tells and they are still there."""
    try:
        tables = read_summary(run)["data"].get("tables", [])
    except DataError:
        return []
    return [Path(table) for table in tables if os.path.isfile(table)]


def make_room(out: Path) -> None:
    """Make the folders above `out`; RunError where that fails."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{out.parent} cannot be made ({error.strerror}); name a file in another folder") from None


def check_folder(out: Path, sources: Iterable[Path | None]) -> None:
    """SettingsError where a folder of results would lie inside a folder of the data, to be taken for a class.

    `scanmix-runs` and hidden folders may, since reading passes them over. Touches nothing.
    """
    target = Path(os.path.realpath(out))
    for source in sources:
        if source is None or not source.is_dir():
            continue
        data = Path(os.path.realpath(source))
        if target.is_relative_to(data) and not any(map(is_litter, target.relative_to(data).parts)):
            raise SettingsError(
                f"--out {out} lies inside {source}, where its pictures would be taken for images of a class; "
                "name a folder elsewhere"
            )


def _places(out: Path) -> tuple[Path, Path]:
    """The file that would be replaced, and the one that it leads to where it is a link."""
    return Path(os.path.realpath(out.parent), out.name), Path(os.path.realpath(out))


def _is_read(place: Path, source: Path) -> bool:
    """Whether `place` is the file `source`, or a file in the folder `source` that is there already or would be read."""
    if source.is_dir():
        inside = place.is_relative_to(os.path.realpath(source))
        return inside and (place.exists() or place.name in METADATA_NAMES)
    return place.exists() and source.exists() and place.samefile(source)
