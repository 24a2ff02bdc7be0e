"""Formulas never leave, and everything comes back."""

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanmix_cli.report.spreadsheet import csv_text, harmless, restored

DANGEROUS = tuple("=+-@\t\r")
# labels and names as they come: often with the characters that matter here
texts = st.text(
    st.one_of(st.sampled_from("=+-@\t\r\n'\",; 01aé"), st.characters(codec="utf-8", exclude_characters="\0"))
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("=1+1", "'=1+1"), ("-5", "'-5"), ("'=a", "''=a"), ("'a", "'a"), ("a=b", "a=b"), ("", ""), ("\rx", "'\rx")],
)
def test_cells_as_they_are_shown(text: str, shown: str) -> None:
    assert harmless(text) == shown
    assert restored(shown) == text


@given(texts)
def test_every_text_survives_and_none_is_a_formula(text: str) -> None:
    shown = harmless(text)
    assert not shown.startswith(DANGEROUS)
    assert restored(shown) == text


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_tables_survive_the_csv_readers(rows: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["a", "b"], dtype=object)
    content = csv_text(frame)
    lines = list(csv.reader(io.StringIO(content, newline="")))
    assert [tuple(restored(cell) for cell in line) for line in lines[1:]] == rows
    by_pandas = pd.read_csv(io.StringIO(content), dtype=object, na_filter=False)
    assert [tuple(restored(cell) for cell in line) for line in by_pandas.itertuples(index=False)] == rows


def test_types_and_blanks(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "-name": pd.Series(["-a", None], dtype=object),
            "flag": pd.array([True, None], dtype="boolean"),
            "rank": pd.array([None, 2], dtype="Int64"),
            "score": [float("nan"), -1 / 3],
        }
    )
    assert csv_text(frame) == "'-name,flag,rank,score\n'-a,True,,\n,,2,-0.333333\n"
