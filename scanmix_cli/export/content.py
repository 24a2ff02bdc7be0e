"""What a layout is given to write, and words that several layouts share."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scanmix_cli.export.items import Item
from scanmix_cli.export.pictures import Picture


@dataclass(frozen=True)
class Content:
    """The rows of an export in row order, with pictures or without them (`paths` then holds the originals' places)."""

    run: str  # name of the run
    classes: Sequence[str]
    items: Sequence[Item]
    paths: Sequence[str]  # of each item: in the export, relative with forward slashes
    values: np.ndarray | None = None  # float32 (items, ...): the classifier's outputs, for layouts that hold them

    def pairs(self) -> list[tuple[Item, str]]:
        return list(zip(self.items, self.paths, strict=True))


def of_pictures(run: str, classes: Sequence[str], pictures: Sequence[Picture]) -> Content:
    """Content whose pictures lie in the export."""
    return Content(run, classes, [picture.item for picture in pictures], [picture.path for picture in pictures])


def unicode_text(text: str) -> str:
    """The text without the bytes of a name that are no UTF-8, which XML and Parquet refuse: they become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def xml_text(text: str) -> str:
    """`unicode_text` without the control characters that no XML file may hold."""
    return "".join(mark if mark >= " " or mark in "\t\n\r" else "\ufffd" for mark in unicode_text(text))
