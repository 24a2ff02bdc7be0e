"""The table of samples: label ids and the fingerprint."""

from pathlib import Path

import pytest
from image_files import write_table

from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples

ROWS = ["a.png,cat,train", "b.png,dog,train", "c.png,,train", "d.png,dog,val"]


def samples(tmp_path: Path, rows: list[str]) -> Samples:
    return read_samples(write_table(tmp_path / "t.csv", "file_name,label,split\n" + "\n".join(rows)))


def test_label_ids_index_the_classes(tmp_path: Path) -> None:
    ids = samples(tmp_path, ROWS).label_ids()
    assert ids.tolist() == [0, 1, -1, 1]
    assert ids.dtype.name == "int64"


@pytest.mark.parametrize(
    "other",
    [
        [*ROWS[1:], ROWS[0]],
        [*ROWS[:2], "c.png,cat,train", ROWS[3]],
        ["A.png,cat,train", *ROWS[1:]],
        [*ROWS[:3], "d.png,dog,test"],
        ROWS[:3],
    ],
)
def test_fingerprint_changes_with_order_label_name_and_split(tmp_path: Path, other: list[str]) -> None:
    first = samples(tmp_path, ROWS).fingerprint()
    assert first == samples(tmp_path, ROWS).fingerprint()
    assert first != samples(tmp_path, other).fingerprint()
