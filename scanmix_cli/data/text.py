"""The encoding and the dialect of a text table, found out from its content."""

import codecs
import csv
import io
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from scanmix_cli.data.wording import counted
from scanmix_cli.errors import DataError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN = "cp1252"
_STRAY = re.compile("[\udc80-\udcff]")
_BEYOND_ASCII = re.compile("[\u0080-\ud7ff\ue000-\U0010ffff]")
_SEPARATORS = (",", ";", "\t", "|")
_SAMPLE_CHARACTERS = 64 * 1024
_SAMPLE_ROWS = 50


@dataclass(frozen=True)
class Text:
    """Decoded content of a text table; `warnings` say where the encoding was only a guess."""

    content: str
    warnings: tuple[str, ...] = ()


def has_stray_bytes(text: str) -> bool:
    """Whether it holds bytes that are no UTF-8, as names of files may."""
    return _STRAY.search(text) is not None


def decode_text(table: Path, encoding: str | None, *, keep_stray: bool = False, has_option: bool = True) -> Text:
    """Read `table` in `encoding`, or in the one its first bytes tell; raises DataError where no encoding fits.

    `keep_stray`: bytes that are no UTF-8 stay as they are in any case; `has_option`: whether errors may advise
    --encoding.
    """
    try:
        data = table.read_bytes()
    except OSError as error:
        raise DataError(f"{table} cannot be read ({error.strerror}); check the path and its permissions") from None
    advice = "name its encoding with --encoding" if has_option else "save it as UTF-8"
    if encoding is not None:
        return Text(_decode(table, data, encoding, advice))
    for bom, name in _BOMS:
        if data.startswith(bom):
            return Text(_decode(table, data, name, advice))
    if utf16 := _utf16_without_bom(data):
        return Text(_decode(table, data, utf16, advice))
    try:
        return Text(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _guess(table, data, keep_stray, advice)


def _guess(table: Path, data: bytes, keep_stray: bool, advice: str) -> Text:
    """UTF-8 with some stray bytes, which stay as they are, where it has more characters than those; else Western."""
    text = data.decode("utf-8", "surrogateescape")
    stray = len(_STRAY.findall(text))
    if keep_stray or stray < len(_BEYOND_ASCII.findall(text)):
        return Text(text, (f"{table.name} holds {counted(stray, 'byte')} that cannot be UTF-8, kept as they are.",))
    try:
        text = data.decode(_WESTERN)
    except UnicodeDecodeError:
        raise DataError(f"{table} is not UTF-8 text; {advice}") from None
    said = f"{table.name} is not UTF-8 and was read as {_WESTERN}; if names look wrong, give --encoding."
    return Text(text, (said,))


def _decode(table: Path, data: bytes, encoding: str, advice: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise DataError(
            f"'{encoding}' is no known text encoding; give --encoding a name such as utf-8 or cp1252"
        ) from None
    except UnicodeError as error:  # codecs such as punycode name no byte
        place = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
        raise DataError(f"{table} is not {encoding} text{place}; {advice}") from None


def _utf16_without_bom(data: bytes) -> str | None:
    """Text in Latin letters has a zero in every second byte of UTF-16."""
    head = data[:2000]
    half = len(head) // 2
    if half and head[1::2].count(0) > 0.8 * half:
        return "utf-16-le"
    if half and head[0::2].count(0) > 0.8 * half:
        return "utf-16-be"
    return None


def normal_name(column: str) -> str:
    """A column name as it is compared with known ones: `File Name` is `file_name`."""
    return column.strip().casefold().replace(" ", "_").replace("-", "_")


def sniff_separator(content: str, known: Collection[str], preferred: str = ",") -> str:
    """The separator under which the head of the table makes most sense.

    Best is one whose header holds a name of `known`, then one that gives all rows as many cells as the
    header, then the one with more cells; `preferred` wins where nothing tells them apart.
    """
    head = content[:_SAMPLE_CHARACTERS]
    order = (preferred, *(s for s in _SEPARATORS if s != preferred))
    return max(order, key=lambda separator: _fitness(head, separator, known))


def _fitness(head: str, separator: str, known: Collection[str]) -> tuple[bool, float, int]:
    rows = []
    try:
        for row in csv.reader(io.StringIO(head, newline=""), delimiter=separator):
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                break
    except csv.Error:
        return False, 0.0, 0
    if not rows or len(rows[0]) < 2:
        return False, 0.0, 0
    header, body = rows[0], rows[1:]
    regular = sum(len(row) == len(header) for row in body) / max(1, len(body))
    return any(normal_name(name) in known for name in header), regular, len(header)
