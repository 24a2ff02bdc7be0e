"""Originals laid into an export as copies or links; they themselves are only read."""

import errno
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from scanmix_cli.errors import DataError, SettingsError
from scanmix_cli.export.items import Item
from scanmix_cli.export.names import split_suffix
from scanmix_cli.files import openable

LINKS = ("copy", "hard", "sym")
_NO_HARD_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES)
_SUFFIXES = {"JPEG": ".jpg", "TIFF": ".tif", "JPEG2000": ".jp2"}


@dataclass(frozen=True)
class Placed:
    """What was laid down where, the file names of originals that are gone, how many hard links became copies."""

    items: list[Item]
    paths: list[str]  # relative to the export, with forward slashes
    gone: list[str]
    copied_instead: int


def lay_pictures(
    items: Sequence[Item], folder: Path, folders: Sequence[str], link: str, root: Path | None = None
) -> Placed:
    """Lay every item's file into `folder` at its one of `folders`/stem.suffix.

    A file that is gone is left out; DataError where all are, and where there is nothing to lay.
    """
    if link not in LINKS:
        raise SettingsError(f"--link {link!r} is unknown; choose one of {', '.join(LINKS)}")
    if not items:
        raise DataError("no row fits the choice, so there is nothing to export; try --only all")
    laid: dict[str, Item] = {}
    gone, copied = [], 0
    for item, below in zip(items, folders, strict=True):
        place = f"{below}/{item.stem}{_suffix(item)}"
        target = Path(openable(str(folder / place)))
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            copied += _lay(item.source, target, link)
        except FileNotFoundError:
            gone.append(item.filename)
            continue
        laid[place] = item
    if not laid:
        raise none_there(items, root)
    return Placed(list(laid.values()), list(laid), gone, copied)


def none_there(items: Sequence[Item], root: Path | None) -> DataError:
    """The error for an export of which every original is gone."""
    if root is None:
        return DataError(
            f"none of the {len(items)} images is where it was, such as {items[0].source}; "
            "put them back, or name the folder that holds them all now with --root"
        )
    return DataError(
        f"none of the {len(items)} images is below --root {root}, such as {items[0].source}; "
        "name the folder that stands now where the folder of the data was"
    )


def _lay(source: str, target: Path, link: str) -> bool:
    """Whether a copy had to stand in for a hard link."""
    real = os.path.realpath(openable(source))
    if link == "sym":
        os.stat(real)
        os.symlink(real, target)
        return False
    if link == "hard":
        try:
            os.link(real, target)
            return False
        except OSError as error:
            if error.errno not in _NO_HARD_LINK:
                raise
    shutil.copyfile(real, target)
    return link == "hard"


def _suffix(item: Item) -> str:
    """The original's suffix; where it has none, the one that its content asks for."""
    suffix = split_suffix(item.filename)[1] or split_suffix(item.source)[1]
    if suffix:
        return suffix
    try:
        with Image.open(openable(item.source)) as image:
            kind = image.format or ""
    except (OSError, ValueError):
        return ""
    return _SUFFIXES.get(kind, f".{kind.casefold()}")
