"""Tables as input: CSV, TSV, JSON lines and Parquet, read into columns without changing any text."""

import csv
import io
import json
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from scanmix_cli.data.text import Text, decode_text, sniff_separator
from scanmix_cli.data.wording import shown, valid
from scanmix_cli.errors import DataError

TEXT_SUFFIXES = frozenset({".csv", ".tsv", ".txt"})
JSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})
PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})
_SPREADSHEETS = frozenset({".xlsx", ".xls", ".ods", ".numbers"})
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # writes half of a character outside the basic plane, as JSON allows
_NO_STRAY_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # the other halves stand for bytes that are no UTF-8
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)(\.0+)?")
_CHUNK = 10_000  # rows turned into columns at a time, which keeps memory and garbage collection small


class _Fraction(str):
    """A number of JSON with a point or an exponent, as it is written."""

    __slots__ = ()


@dataclass
class Table:
    """Columns by name in the order of the file, equally long; None where a JSON or Parquet cell is null."""

    path: Path
    columns: dict[str, list[Any]]
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def text(self, name: str) -> list[str]:
        """One column as text, "" where blank; raises DataError naming the first row that holds a list or an object.

        Integers that JSON has as 1.0, as pandas writes them beside a blank, are 1 where all cells are whole numbers.
        """
        values = self.columns[name]
        try:
            texts = [value if type(value) is str else _text(value) for value in values]
        except TypeError:
            row = next(k for k, value in enumerate(values) if isinstance(value, (list, dict)))
            raise DataError(
                f"{self.path}, row {row + 1}: column '{shown(name)}' holds {type(values[row]).__name__} "
                f"where one text is needed; give one path and one label per row"
            ) from None
        if any(type(value) is _Fraction for value in values) and all(_WHOLE.fullmatch(text) for text in texts if text):
            texts = [text.partition(".")[0] for text in texts]
        return texts


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, (list, dict)):
        raise TypeError
    if isinstance(value, bool):
        return str(value).lower()
    # A Parquet column of integers with a blank among them is stored as floats.
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value)


@dataclass(frozen=True)
class _Dialect:
    """How a text table is to be read, as far as anybody said so."""

    known: Collection[str]  # column names that help to find the separator
    sep: str | None = None
    encoding: str | None = None
    keep_stray: bool = False  # as `decode_text` has it
    has_options: bool = True  # whether --sep and --encoding are there to be advised


def read_table(path: Path, *, sep: str | None, encoding: str | None, known: Collection[str]) -> Table:
    """Read a table by its suffix; `known` are column names that help to find the separator."""
    table = _read(path, _Dialect(known, sep, encoding))
    if table is None:
        raise DataError(
            f"{path} is neither a folder nor a table; tables end in .csv, .tsv, .txt, .jsonl, .json or .parquet"
        )
    if not len(table):
        raise DataError(f"{path} has no rows{_advice(path, encoding)}")
    return table


def _advice(path: Path, encoding: str | None) -> str:
    if encoding is None or path.suffix.casefold() in PARQUET_SUFFIXES:
        return "; give a table with one row per image"
    return f" when read as {encoding}; leave out --encoding if the table has one row per image"


def one_object(path: Path) -> DataError:
    """The error for JSON that is a single object, such as one of paths and labels."""
    return DataError(
        f"{path} is one JSON object, not one for each image; "
        'write lines such as {"file_name": "a.jpg", "label": "cat"}, or a list of such objects'
    )


def read_result_table(path: Path, *, known: Collection[str], keep_stray: bool = False) -> Table:
    """As `read_table`, but CSV where the suffix says nothing, and a table may have no rows; `keep_stray` as
    `decode_text` has it. Errors advise no options: what reads such tables has none for them."""
    dialect = _Dialect(known, keep_stray=keep_stray, has_options=False)
    table = _read(path, dialect)
    return _read_csv(path, dialect) if table is None else table


def _read(path: Path, dialect: _Dialect) -> Table | None:
    """The table at `path`, None where its suffix is no table's."""
    suffix = path.suffix.casefold()
    if suffix in PARQUET_SUFFIXES:
        return _read_parquet(path)
    if suffix in JSON_SUFFIXES:
        return _read_json(path, dialect)
    if suffix in TEXT_SUFFIXES:
        return _read_csv(path, dialect)
    if suffix in _SPREADSHEETS:
        raise DataError(f"{path} is a spreadsheet; save its sheet as CSV and give that file")
    return None


def _read_csv(path: Path, dialect: _Dialect) -> Table:
    text = _decoded(path, dialect)
    content, sep = text.content, dialect.sep
    if content[:4].casefold() == "sep=" and content[5:6] in ("\n", "\r"):  # the first line Excel writes on request
        sep = sep or content[4]
        content = content[5:].lstrip("\r\n")
    sep = "\t" if sep == "\\t" else sep
    separator = sep or sniff_separator(content, dialect.known, "\t" if path.suffix.casefold() == ".tsv" else ",")
    if len(separator) != 1 or separator in '"\r\n':
        raise DataError(f"--sep needs one character between cells, not '{separator}'; a tab is written \\t")
    advice = f"quote cells that contain '{separator}'"
    if dialect.has_options:
        advice += " or name the separator with --sep"
    return Table(path, _parse(path, content, separator, advice), list(text.warnings))


def _decoded(path: Path, dialect: _Dialect) -> Text:
    return decode_text(path, dialect.encoding, keep_stray=dialect.keep_stray, has_option=dialect.has_options)


def _parse(path: Path, content: str, separator: str, advice: str) -> dict[str, list[Any]]:
    """Columns by name; rows without any text at the end, as spreadsheets append them, are left out.

    advice: what helps where a row has too many cells.
    """
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
    try:
        header = _header(next((row for row in reader if row), []))
        columns: list[list[Any]] = [[] for _ in header]
        filled = _without_blank_end(row for row in reader if row)
        rows = (_regular(path, reader.line_num, row, len(header), advice) for row in filled)
        while chunk := list(islice(rows, _CHUNK)):
            for column, cells in zip(columns, zip(*chunk, strict=True), strict=True):
                column += cells
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}, is no valid row ({error}); look for a quote that is not closed"
        ) from None
    return dict(zip(header, columns, strict=True))


def _without_blank_end(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """All rows up to the last that holds text: a blank one between others keeps its place."""
    blank: list[list[str]] = []
    for row in rows:
        if any(cell.strip() for cell in row):
            yield from blank
            blank.clear()
            yield row
        else:
            blank.append(row)


def _regular(path: Path, line: int, row: list[str], width: int, advice: str) -> list[str]:
    """The row padded to the width of the header; raises DataError where it has more cells with text."""
    if len(row) == width:
        return row
    if any(row[width:]):
        raise DataError(f"{path}, line {line}, has {len(row)} cells where the header has {width}; {advice}")
    return row[:width] + [""] * (width - len(row))


def _header(row: list[str]) -> list[str]:
    """Column names: blank ones are numbered, repeated ones get a number behind them."""
    names: list[str] = []
    for k, cell in enumerate(row):
        title = valid(cell.strip())
        name = title or f"column {k + 1}"
        count = 1
        while name in names:
            count += 1
            name = f"{title} {count}"
        names.append(name)
    return names


def _read_json(path: Path, dialect: _Dialect) -> Table:
    text = _decoded(path, dialect)
    content = text.content
    if content.lstrip()[:1] == "[":
        records = _load(path, 1, content)
    else:
        lines = [(k, line) for k, line in enumerate(content.split("\n"), 1) if line.strip()]
        if len(lines) > 1 and _is_one_value(content):
            raise one_object(path)
        records = [_load(path, k, line) for k, line in lines]
    names: dict[str, None] = {}
    for k, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise DataError(f"{path}, row {k}, is no JSON object; write one object per line, with a path and a label")
        names.update(dict.fromkeys(record))
    columns = {name: [record.get(name) for record in records] for name in names}
    return Table(path, columns, list(text.warnings))


def _is_one_value(text: str) -> bool:
    """Whether several lines are a single JSON value; soon told of lines that are one each."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _load(path: Path, line: int, text: str) -> Any:
    """Numbers stay as they are written, and so do bytes that are no UTF-8 as `report` writes them; other halves of a
    character's code become the mark of an unknown character."""
    try:
        value = json.loads(text, parse_int=str, parse_float=_Fraction)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {line}, is no valid JSON ({error.msg}); write one object per line") from None
    except RecursionError:
        raise DataError(f"{path}, line {line}, is nested too deeply; write one flat object per line") from None
    return _without_halves(value) if _HALF.search(text) else value


def _without_halves(value: Any) -> Any:
    if isinstance(value, str):
        return _NO_STRAY_HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_halves(item) for item in value]
    if isinstance(value, dict):
        return {valid(_without_halves(name)): _without_halves(item) for name, item in value.items()}
    return value


def _read_parquet(path: Path) -> Table:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
        cells = [column.to_pylist() for column in table.columns]
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:  # text or dates that are none
        raise DataError(f"{path} cannot be read as Parquet ({str(error).splitlines()[0]}); write it anew") from None
    return Table(path, dict(zip(_header(table.column_names), cells, strict=True)))
