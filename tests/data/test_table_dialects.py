"""Whatever dialect a table is written in, no row is lost or shifted."""

import csv
import io
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from scanmix_cli.data.sources import read_samples

TEXT = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff") | st.sampled_from("\"',;\t|\n\\ é中"),
    max_size=12,
)
LABELS = TEXT.filter(lambda label: label == "" or label.strip() != "")
ROWS = st.lists(st.tuples(TEXT.filter(bool), LABELS, TEXT), min_size=1, max_size=12)


@settings(deadline=None)
@given(
    rows=ROWS,
    separator=st.sampled_from(",;\t|"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    columns=st.permutations(["file_name", "label", "note"]),
)
def test_rows_are_neither_lost_nor_shifted(
    rows: list[tuple[str, str, str]],
    separator: str,
    line_end: str,
    quoting: int,
    encoding: str,
    columns: list[str],
) -> None:
    rows = [*rows, ("x", "one class", ""), ("y", "another", "")]
    cells = [dict(zip(("file_name", "label", "note"), row, strict=True)) for row in rows]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, delimiter=separator, lineterminator=line_end, quoting=quoting)
    writer.writeheader()
    writer.writerows(cells)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(text.getvalue().encode(encoding))
        table = read_samples(path).table
    assert table["filename"].tolist() == [row[0] for row in rows]
    assert table["given_label"].tolist() == [row[1] for row in rows]
    assert table["note"].tolist() == [row[2] for row in rows]
