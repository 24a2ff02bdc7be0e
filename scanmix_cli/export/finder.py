"""From what another tool calls an image to its row."""

import re
from collections.abc import Sequence

from scanmix_cli.export.names import split_suffix, unique_stems
from scanmix_cli.report.choices import RowFinder
from scanmix_cli.report.export import unicode_text

_UPLOADED = re.compile(r"^[0-9a-f]{8}-")  # Label Studio puts this before the name of an uploaded file


class ImageFinder:
    """Finds rows by row number and file name, by the name of an exported picture, or by a base name that is one."""

    def __init__(self, filenames: Sequence[str]) -> None:
        self._rows = RowFinder(filenames)
        self._stems = {stem: row for row, stem in enumerate(unique_stems(filenames))}
        self._shown = RowFinder([unicode_text(name) for name in filenames])
        self._bases = RowFinder([name.replace("\\", "/").rsplit("/", 1)[-1] for name in filenames])

    def find(self, names: Sequence[str], number: str = "") -> int | None:
        """The row of the first name that means one, None where none does."""
        for name in filter(None, names):
            for rows in (self._rows, self._shown):
                row = rows.find(name, number)
                if row is not None:
                    return row
            base = name.replace("\\", "/").rsplit("/", 1)[-1]
            for candidate in (base, _UPLOADED.sub("", base)):
                row = self._stems.get(split_suffix(candidate)[0], self._bases.find(candidate))
                if row is not None:
                    return row
        return None
