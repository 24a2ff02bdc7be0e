"""Which files of a folder are images, and which are litter that operating systems and tools leave behind."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from scanmix_cli.errors import DataError

IMAGE_SUFFIXES = frozenset(
    (
        *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".bmp", ".dib", ".gif", ".webp", ".tif", ".tiff"),
        *(".ppm", ".pgm", ".pbm", ".pnm", ".jp2", ".j2k", ".avif", ".heic", ".heif", ".tga", ".ico", ".qoi"),
    )
)
_LITTER = frozenset({"thumbs.db", "desktop.ini", "icon\r", "__macosx", "@eadir", "$recycle.bin", "scanmix-runs"})
_MAGIC = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF8", b"BM", b"II*\0", b"MM\0*")


def is_litter(name: str) -> bool:
    """Hidden files and folders, what file managers leave behind, and our own results."""
    return name.startswith(".") or name.casefold() in _LITTER


def _is_image(entry: os.DirEntry) -> bool:
    suffix = os.path.splitext(entry.name)[1].casefold()
    return suffix in IMAGE_SUFFIXES or (suffix == "" and _looks_like_image(entry.path))


def _looks_like_image(path: str) -> bool:
    """Whether the content of a file without a suffix starts as an image does."""
    try:
        if not os.path.isfile(path):  # opening a pipe would wait for a writer
            return False
        with open(path, "rb") as file:
            head = file.read(12)
    except OSError:
        return False
    return head.startswith(_MAGIC) or (head[:4] == b"RIFF" and head[8:] == b"WEBP")


def sub_folders(folder: Path, leave_out: Path | None = None) -> list[str]:
    """Names of the sub-folders that are no litter, sorted, without the folder `leave_out`."""
    entries = [entry for entry in _entries(str(folder)) if _is_folder(entry) and not is_litter(entry.name)]
    return sorted(entry.name for entry in entries if leave_out is None or not leave_out.samefile(entry.path))


def list_images(folder: Path, leave_out: Path | None = None) -> tuple[list[str], Counter[str]]:
    """Sorted paths of all images at any depth, relative to `folder` with forward slashes; ignored entries by kind.

    A symbolic link keeps its own place; a broken one is listed, so that its row can say that the file is missing.
    """
    images: list[str] = []
    ignored: Counter[str] = Counter()
    closed = frozenset() if leave_out is None else frozenset({os.path.realpath(leave_out)})
    for name, is_image in _walk(str(folder), "", closed):
        if is_image:
            images.append(name)
        else:
            ignored[_kind(name.rsplit("/", 1)[-1])] += 1
    return sorted(images), ignored


def _kind(name: str) -> str:
    """How ignored entries are counted together: `._*`, `.DS_Store`, `*.txt`."""
    if name.startswith("._"):
        return "._*"
    suffix = os.path.splitext(name)[1].casefold()
    return f"*{suffix}" if suffix and not is_litter(name) else name


def _entries(folder: str) -> list[os.DirEntry]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError as error:
        raise DataError(f"{folder} cannot be read ({error.strerror}); make it readable or move it elsewhere") from None


def _is_folder(entry: os.DirEntry) -> bool:
    """Also through a link; a link that leads to itself is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _walk(folder: str, prefix: str, closed: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Every file and litter folder as (relative name, whether it is an image).

    Folders of `closed` are not entered, and it takes up the folders above, since a link may lead back to them.
    """
    here = os.path.realpath(folder)
    if here in closed:
        return
    for entry in _entries(folder):
        name = prefix + entry.name
        if is_litter(entry.name):
            yield name, False
        elif _is_folder(entry):
            yield from _walk(entry.path, name + "/", closed | {here})
        else:
            yield name, _is_image(entry)
