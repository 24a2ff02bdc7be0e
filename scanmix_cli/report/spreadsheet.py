"""CSV text that a spreadsheet opens without running any of it, and the way back.

A text cell beginning with `=`, `+`, `-`, `@`, tab or carriage return would be run as a formula; it gets an apostrophe
in front. A cell that already begins with apostrophes and such a character gets one more, so that reading can always
take away exactly one.
"""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from scanmix_cli.files import write_file

BLOCK = 20_000  # rows of text at once

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_NEEDS_QUOTES = re.compile(r'[,"\r\n]')


def harmless(text: str) -> str:
    """The cell as it may stand in a spreadsheet."""
    return "'" + text if _FORMULA.match(text) else text


def restored(text: str) -> str:
    """The cell as it was before `harmless`."""
    return text[1:] if _GUARDED.match(text) else text


def csv_text(frame: pd.DataFrame, *, guard: bool = True) -> str:
    """The table as CSV: floats with 6 decimals, blanks for missing values, lines end with a newline.

    Text cells and the header are made harmless unless `guard` is off. Written by hand because the csv module leaves a
    lone carriage return unquoted, which readers take for the end of the line.
    """
    header = [_text_cell(str(name), guard) for name in frame.columns]
    cells = [_cells(frame.iloc[:, k], guard) for k in range(frame.shape[1])]
    lines = [",".join(header), *(",".join(row) for row in zip(*cells, strict=True))]
    return "\n".join(lines) + "\n"


def write_csv(path: Path, frame: pd.DataFrame, *, guard: bool = True) -> None:
    """`csv_text` into a file, BLOCK rows at a time: the text of a million rows is never in memory as a whole."""

    def write(file: BinaryIO) -> None:
        for start in range(0, max(len(frame), 1), BLOCK):
            text = csv_text(frame.iloc[start : start + BLOCK], guard=guard)
            lines = text if start == 0 else text[len(header) :]
            file.write(lines.encode("utf-8", "surrogateescape"))

    header = csv_text(frame.iloc[:0], guard=guard)
    write_file(path, write)


def _cells(column: pd.Series, guard: bool) -> list[str]:
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_integer_dtype(column.dtype):
        text_of: Callable[[Any], str] = str
    elif pd.api.types.is_float_dtype(column.dtype):
        text_of = "{:.6f}".format
    else:
        text_of = partial(_text_cell, guard=guard)
    missing = column.isna().to_numpy()
    return ["" if gone else text_of(value) for value, gone in zip(column.tolist(), missing, strict=True)]


def _text_cell(text: str, guard: bool) -> str:
    if guard:
        text = harmless(text)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
