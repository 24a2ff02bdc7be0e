"""Names of files and class folders in an export: unique, and allowed on every file system."""

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence

from scanmix_cli.data.listing import IMAGE_SUFFIXES

LONGEST = 200  # bytes of a stem, which leaves room for a number and a suffix within the usual 255
LONGEST_FOLDER = 255  # bytes
TOGETHER, DATA, UNLABELLED = FLAT = ("images", "data", "unlabelled")  # folders of pictures of all splits
DIGITS = 16  # of the digest that tells folder names apart
_FORBIDDEN = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]')
_FOLDER_ENCODED = re.compile(r"[\x00/\udc80-\udcff]|^\.|%(?=[0-9A-F]{2}|~)")


def unique_stems(filenames: Sequence[str]) -> list[str]:
    """A file name without suffix for every row of a run, no two alike even where case or Unicode form is ignored.

    They follow from the run's file names alone, so that a name that comes back from another tool finds its row. A
    repeated name gets a number: `cat`, `cat-2`.
    """
    taken: dict[str, int] = {}
    return [_unique(_allowed(split_suffix(name.replace("\\", "/").rsplit("/", 1)[-1])[0]), taken) for name in filenames]


def split_suffix(name: str) -> tuple[str, str]:
    """Stem and suffix, "" where what follows the last dot is no suffix of images."""
    stem, suffix = os.path.splitext(name)
    return (stem, suffix) if suffix.casefold() in IMAGE_SUFFIXES else (name, "")


def class_folders(labels: Iterable[str]) -> dict[str, str]:
    """A folder name by label, no two alike even where case or Unicode form is ignored.

    It is `class_folder`; where a label before it in string order has that, `%~` and a digest of the label follow.
    """
    folders: dict[str, str] = {}
    taken: set[str] = set()
    for label in sorted(set(labels)):
        name = class_folder(label)
        if folded(name) in taken:
            name = _with_digest(name, label)
        folders[label] = name
        taken.add(folded(name))
    return folders


def class_folder(label: str) -> str:
    """The label as a folder name, another one for every label.

    It is the label itself, but for what no folder can be called, which is percent-encoded, as is a percent sign that
    would look like such a code. Of a name that is too long the beginning stays, then `%~` and a digest of the label.
    """
    name = _FOLDER_ENCODED.sub(lambda match: f"%{ord(match[0]) & 0xFF:02X}", label)
    return name if len(name.encode("utf-8", "replace")) <= LONGEST_FOLDER else _with_digest(name, label)


def _with_digest(name: str, label: str) -> str:
    digest = hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
    return f"{name.encode('utf-8', 'replace')[:LONGEST].decode('utf-8', 'ignore')}%~{digest}"


def folded(stem: str) -> str:
    """What two names must not share: some file systems ignore case, some the form of an accent."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", stem).casefold())


def _unique(stem: str, taken: dict[str, int]) -> str:
    key = folded(stem)
    number = taken.get(key, 0) + 1
    taken[key] = number
    if number == 1:
        return stem
    while folded(f"{stem}-{number}") in taken:
        number += 1
    taken[key] = number
    taken[folded(f"{stem}-{number}")] = 1
    return f"{stem}-{number}"


def _allowed(stem: str) -> str:
    """The stem without control characters and what Windows refuses; bytes that are no UTF-8 as %FF."""
    text = "".join(f"%{ord(mark) & 0xFF:02X}" if 0xDC80 <= ord(mark) <= 0xDCFF else mark for mark in stem)
    text = _FORBIDDEN.sub("_", text).strip(" .") or "image"
    return text.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore")
