"""Whatever bytes a table holds: rows as they are, or one sentence; never a traceback, never a lost or shifted row."""

import csv
import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanmix_cli.data.overview import overview
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import DataError

ROWS = [(f"folder/bild-ä {k}.png", ("cat", "dög", "")[k % 3], f"note {k}") for k in range(40)]
NAMES = ("file_name", "label", "note")


def as_csv(separator: str = ",") -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=csv.QUOTE_MINIMAL)
    writer.writerows([NAMES, *ROWS])
    return text.getvalue()


def as_parquet() -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(ROWS, columns=list(NAMES)).to_parquet(buffer)
    return buffer.getvalue()


RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
WHOLE = {
    "t.csv": as_csv().encode(),
    "bom.csv": as_csv().encode("utf-8-sig"),
    "wide.csv": as_csv(";").encode("utf-16"),
    "western.csv": as_csv(";").encode("cp1252"),
    "t.tsv": as_csv("\t").encode(),
    "t.jsonl": "\n".join(map(json.dumps, RECORDS)).encode(),
    "t.json": json.dumps(RECORDS).encode(),
    "t.parquet": as_parquet(),
}


@contextmanager
def table(name: str, content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path


def read_or_refuse(path: Path) -> Samples | None:
    """The samples, through all that comes after reading; None where one sentence says why there are none."""
    refused = ""
    try:
        samples = read_samples(path)
    except DataError as error:
        refused = str(error)
    if refused:
        assert "\n" not in refused
        assert str(path) in refused
        return None
    pixels = load_pixels(samples, 8, workers=1, cache_dir=None)
    assert overview(samples, pixels).rows == len(samples) == len(pixels.error_codes)
    assert len(samples.fingerprint()) == 64
    return samples


def rows(samples: Samples) -> list[tuple[str, str, str]]:
    columns = (samples.table[name].fillna("") for name in ("filename", "given_label", "note"))
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("name", list(WHOLE))
def test_whole_tables_are_read_row_by_row(name: str) -> None:
    with table(name, WHOLE[name]) as path:
        assert rows(read_samples(path)) == ROWS


@settings(deadline=None)
@given(
    name=st.sampled_from(["t.csv", "t.tsv", "t.txt", "t.jsonl", "t.json", "t.parquet"]), content=st.binary(max_size=300)
)
def test_random_bytes(name: str, content: bytes) -> None:
    with table(name, content) as path:
        read_or_refuse(path)


@settings(deadline=None)
@given(
    head=st.sampled_from(["file_name,label\n", "path;class\n", "image\tlabel\n", ""]),
    content=st.text(st.sampled_from("ab1,;\t|\"'\n\r\\ .é\0\x1a{}[]:"), max_size=120),
)
def test_random_text_behind_a_header(head: str, content: str) -> None:
    with table("t.csv", (head + content).encode()) as path:
        read_or_refuse(path)


@settings(deadline=None)
@given(name=st.sampled_from(list(WHOLE)), keep=st.floats(0, 1))
def test_truncated_tables_lose_only_what_was_cut_off(name: str, keep: float) -> None:
    """All rows but the last are those of the whole table, in order."""
    content = WHOLE[name][: int(keep * len(WHOLE[name]))]
    with table(name, content) as path:
        samples = read_or_refuse(path)
        if samples is not None and "note" in samples.table and name != "western.csv":
            assert rows(samples)[:-1] == ROWS[: len(samples) - 1]


@settings(deadline=None)
@given(
    name=st.sampled_from(list(WHOLE)),
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_damaged_tables(name: str, damage: list[tuple[float, int]]) -> None:
    content = bytearray(WHOLE[name])
    for place, value in damage:
        content[int(place * len(content))] = value
    with table(name, bytes(content)) as path:
        read_or_refuse(path)


JSON_TEXT = st.text(st.characters() | st.sampled_from("\"'\\\ud800\udfff\udcff\n"), max_size=8)
CELL = JSON_TEXT | st.none() | st.booleans() | st.integers() | st.floats() | st.lists(st.integers(), max_size=2)


@settings(deadline=None)
@given(records=st.lists(st.dictionaries(st.sampled_from(NAMES) | JSON_TEXT, CELL, max_size=4), max_size=6))
def test_random_json_records_keep_their_places(records: list[dict]) -> None:
    records = [*records, {"file_name": "x", "label": "one"}, {"file_name": "y", "label": "other"}]
    with table("t.jsonl", "\n".join(map(json.dumps, records)).encode()) as path:
        samples = read_or_refuse(path)
    if samples is None:  # only since a path, a label or a split is a list
        assert any(isinstance(value, list) for record in records for value in record.values())
        return
    assert len(samples) == len(records)
    assert samples.table["given_label"].tolist()[-2:] == ["one", "other"]
    for name, record in zip(samples.table["filename"], records, strict=True):
        value = record.get("file_name")
        if isinstance(value, str) and value.isascii():
            assert name == value


@pytest.mark.parametrize("name", ["deep.json", "deep.jsonl"])
def test_deep_nesting_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b'[{"a":' * 100_000)
    with pytest.raises(DataError) as caught:
        read_samples(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}, line 1, is nested too deeply; write one flat object per line"


def test_blank_rows_between_others_keep_their_places_and_those_at_the_end_go(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("file_name,label,note\na,cat,1\n,,\n\nb,dog,2\n , ,\nc,dog,3\n,,\n , ,\n,,\n")
    samples = read_samples(tmp_path / "t.csv")
    assert rows(samples) == [("a", "cat", "1"), ("", "", ""), ("b", "dog", "2"), (" ", "", ""), ("c", "dog", "3")]
    pixels = load_pixels(samples, 8, workers=1, cache_dir=None)
    assert pixels.messages[1] == "the row names no file"


def test_stray_bytes_in_utf8_stay_as_they_are(tmp_path: Path) -> None:
    content = "file_name,label\nä.png,größe\nb.png,dög\n".encode() + b"\xff.png,dog\n"
    (tmp_path / "t.csv").write_bytes(content)
    samples = read_samples(tmp_path / "t.csv")
    assert samples.table["filename"].tolist() == ["ä.png", "b.png", "\udcff.png"]
    assert "t.csv holds 1 byte that cannot be UTF-8, kept as they are." in samples.warnings


def test_stray_bytes_in_json_stay_as_they_are_and_other_halves_do_not(tmp_path: Path) -> None:
    cells = [("\udcff.png", "cat"), ("\ud800.png", "dog\udcff")]
    records = [{"file_name": name, "label": label, "\udcff": "x"} for name, label in cells]
    (tmp_path / "t.json").write_text(json.dumps(records))
    samples = read_samples(tmp_path / "t.json")
    assert samples.table["filename"].tolist() == ["\udcff.png", "\ufffd.png"]
    assert (samples.classes, samples.extra_columns) == (("cat", "dog\\xff"), ("\\xff",))


def test_rows_of_a_western_table_cut_anywhere_stay_in_place(tmp_path: Path) -> None:
    """Every cut of the last two rows, one by one."""
    content = WHOLE["western.csv"]
    for length in range(len(content) - 80, len(content)):
        (tmp_path / "t.csv").write_bytes(content[:length])
        samples = read_samples(tmp_path / "t.csv")
        assert rows(samples)[:-1] == ROWS[: len(samples) - 1]
