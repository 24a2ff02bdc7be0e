"""Large runs: the report in blocks, the noise matrix as a list."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_run import Run

from scanmix_cli.errors import DataError
from scanmix_cli.report import files, matrix_file, spreadsheet
from scanmix_cli.report.files import read_report, read_summary
from scanmix_cli.report.matrix_file import NOISE_MATRIX, intervals_table, matrix_table, read_noise_matrix
from scanmix_cli.report.spreadsheet import csv_text, write_csv


@pytest.mark.parametrize("rows", [0, 1, 2, 7])
def test_blocks_make_the_bytes_of_the_whole(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreadsheet, "BLOCK", 2)
    frame = pd.DataFrame({"a\nb": pd.Series([f"=x{k}\udcff" for k in range(rows)], dtype=object), "n": np.arange(rows)})
    write_csv(tmp_path / "t.csv", frame)
    assert (tmp_path / "t.csv").read_bytes() == csv_text(frame).encode("utf-8", "surrogateescape")


def test_a_report_read_in_parts_is_the_same(run: Run, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_report(run_dir)
    monkeypatch.setattr(files, "READ_AT_ONCE", 3)
    pd.testing.assert_frame_equal(read_report(run_dir), whole)
    lines = (run_dir / "report.csv").read_bytes().split(b"\n")
    (run_dir / "report.csv").write_bytes(lines[0] + b"\n")
    summary = read_summary(run_dir)
    (run_dir / "summary.json").write_text(json.dumps(summary | {"counts": summary["counts"] | {"rows": 0}}))
    assert len(read_report(run_dir)) == 0


def test_many_classes_are_a_list_and_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_file, "TABLE_CLASSES", 2)
    classes = ["b", "=a", "c"]
    matrix = np.array([[0.8996, 0.1, 0.0004], [0.0, 1.0, 0.0], [0.3, 0.0, 0.7]])
    write_csv(tmp_path / NOISE_MATRIX, matrix_table(matrix, classes))
    assert (tmp_path / NOISE_MATRIX).read_text() == (
        "true_label,given_label,probability\n"
        "b,b,0.899600\nb,'=a,0.100000\n'=a,'=a,1.000000\nc,b,0.300000\nc,c,0.700000\n"
    )
    assert intervals_table(matrix, np.ones(3), classes) is None
    found = read_noise_matrix(tmp_path)
    assert found.toarray() == pytest.approx(np.where(matrix == 0.0004, 0, matrix))
    (tmp_path / NOISE_MATRIX).write_text("true_label,given_label,probability\n" + "x,y,0.5\n" * 3)
    with pytest.raises(DataError, match="cannot be read"):
        read_noise_matrix(tmp_path)
