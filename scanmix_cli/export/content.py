"""What a layout is given to write, as text that every reader takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scanmix_cli.export.items import Item
from scanmix_cli.report.export import unicode_text


@dataclass(frozen=True)
class Content:
    """The rows of an export in row order; made by `content_of`."""

    run: str  # name of the run
    classes: Sequence[str]
    items: Sequence[Item]
    paths: Sequence[str]  # of each item: in the export, relative with forward slashes; the original's without pictures
    values: np.ndarray | None = None  # float32 (items, ...): the classifier's outputs, for layouts that hold them

    def pairs(self) -> list[tuple[Item, str]]:
        return list(zip(self.items, self.paths, strict=True))


def content_of(
    run: str, classes: Sequence[str], items: Sequence[Item], paths: Sequence[str], values: np.ndarray | None = None
) -> Content:
    """Content whose names and labels are valid Unicode: bytes that are no UTF-8 become escapes such as `\\udcff`."""
    texts = ("filename", "split", "label", "given_label", "predicted_label", "suggested_label")

    def shown(item: Item) -> Item:
        changes: dict[str, Any] = {name: unicode_text(getattr(item, name)) for name in texts}
        return replace(item, **changes)

    return Content(
        unicode_text(run), [*map(unicode_text, classes)], [*map(shown, items)], [*map(unicode_text, paths)], values
    )


def xml_text(text: str) -> str:
    """The text without the control characters that no XML file may hold."""
    return "".join(mark if mark >= " " or mark in "\t\n\r" else "\ufffd" for mark in text)
