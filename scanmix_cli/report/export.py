"""A selection of the report as a file, in the format its name asks for."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from scanmix_cli.errors import SettingsError
from scanmix_cli.files import write_bytes, write_text
from scanmix_cli.legible import legible
from scanmix_cli.report.spreadsheet import csv_text

MARKDOWN_COLUMNS = ("rank", "filename", "given_label", "suggested_label", "p_mislabeled", "suggested_action")
DECIMALS = 6


def export(rows: pd.DataFrame, path: Path, write_page: Callable[[Path], None]) -> None:
    """Write the rows; `write_page` makes the HTML page. Raises SettingsError for an unknown extension."""
    check_extension(path)
    if path.suffix.lower() == ".html":
        write_page(path)
    else:
        write_table(rows, path)


def write_table(rows: pd.DataFrame, path: Path) -> None:
    """Write the rows in the format of the extension, one of TABLES or `.md`."""
    extension = path.suffix.lower()
    if extension == ".parquet":
        write_bytes(path, _parquet(rows))
    else:
        write_text(path, _TEXTS[extension](rows))


def check_extension(path: Path, known: Sequence[str] | None = None, *, option: str = "--out") -> None:
    """SettingsError naming the known extensions, by default all, where the file's is none of them."""
    allowed = EXTENSIONS if known is None else known
    if path.suffix.lower() not in allowed:
        raise SettingsError(f"{option} {path} has no known extension: use one of {', '.join(allowed)}")


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """One plain object a row, None where a cell is blank, floats with 6 decimals: fit for JSON."""
    columns = [_plain(rows.iloc[:, k]) for k in range(rows.shape[1])]
    names = [str(name) for name in rows.columns]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _plain(column: pd.Series) -> list[Any]:
    missing = column.isna().tolist()
    shorten = pd.api.types.is_float_dtype(column.dtype)
    return [
        None if gone else round(value, DECIMALS) if shorten else value
        for value, gone in zip(column.tolist(), missing, strict=True)
    ]


def unicode_text(text: str) -> str:
    """The text with escapes in place of bytes that are no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _json(rows: pd.DataFrame) -> str:
    return json.dumps(records(rows), indent=1) + "\n"


def _jsonl(rows: pd.DataFrame) -> str:
    return "".join(json.dumps(record) + "\n" for record in records(rows))


def _parquet(rows: pd.DataFrame) -> bytes:
    """Text as UTF-8 strings; bytes of a file name that are no UTF-8 are shown as escapes."""
    texts = {name: [unicode_text(text) for text in rows[name]] for name in rows.columns if rows[name].dtype == object}
    stream = io.BytesIO()
    rows.assign(**texts).to_parquet(stream, index=False)
    return stream.getvalue()


def _markdown(rows: pd.DataFrame) -> str:
    """A table of the columns a person reads; the other formats hold all of them."""
    header = f"| {' | '.join(MARKDOWN_COLUMNS)} |\n|{' --- |' * len(MARKDOWN_COLUMNS)}\n"
    lines = [
        "| " + " | ".join(_markdown_cell(record[name]) for name in MARKDOWN_COLUMNS) + " |\n"
        for record in records(rows)
    ]
    return header + "".join(lines)


def _markdown_cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.3f}" if isinstance(value, float) else " ".join(str(value).splitlines())
    text = legible(text)
    for mark in "\\|`*_<>[]&":
        text = text.replace(mark, f"\\{mark}")
    return text


_TEXTS: dict[str, Callable[[pd.DataFrame], str]] = {
    ".csv": csv_text,
    ".jsonl": _jsonl,
    ".json": _json,
    ".md": _markdown,
}
TABLES: Sequence[str] = (".csv", ".jsonl", ".json", ".parquet")  # with all columns
EXTENSIONS: Sequence[str] = (*TABLES, ".html", ".md")
