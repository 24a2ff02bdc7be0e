"""A few of the faults and of the damaged files of the two benchmarks, with every change."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def run(script: str, *arguments: str) -> str:
    """Standard output; the benchmark itself says with its exit code whether all was well."""
    command = [sys.executable, str(FOLDER / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_runs_go_on_after_what_stopped_them() -> None:
    printed = run("faults.py", "--only", "kill at half scan-", "enospc at half report.csv (beliefs)")
    assert printed.count("  ok\n") == 2
    assert printed.splitlines()[-1] == "2 faults on cpu, 0 not as they should be"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_faults_are_tried_once_and_within_a_time(tmp_path: Path) -> None:
    table = tmp_path / "faults.csv"
    table.write_text(
        "fault,device,seconds,outcome\n"
        "kill at half scan- (published),cpu,9.9,a temporary file was left\n"
        '"kill at rename scan-, time 2 (published)",cpu,9.9,ok\n'
        '"kill at half scan-, time 2 (published)",cuda,9.9,ok\n'
    )
    only = ["--only", "kill at half scan-", "kill at rename scan-", "--results", str(table)]
    assert run("faults.py", *only, "--seconds", "0").splitlines() == [
        "not tried: kill at half scan-, time 2 (published)",
        "0 faults on cpu, 0 not as they should be, 1 more not tried",
    ]
    run("faults.py", *only)
    assert re.fullmatch(
        r'"kill at half scan-, time 2 \(published\)",cpu,\d+\.\d,ok', table.read_text().splitlines()[-1]
    )
    assert run("faults.py", *only) == "0 faults on cpu, 0 not as they should be\n"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_batches_that_do_not_fit() -> None:
    printed = run("faults.py", "--too-large", "--only", "beliefs")
    for stage in ("simclr", "scanmix"):
        assert f"in epoch 1 of {stage}: batches of 30 are worked on in 4 parts from here on" in printed
    assert re.fullmatch(r"batches of 30 images \(beliefs\): \d+\.\d s, ok", printed.splitlines()[-1])


def test_damaged_files_are_refused_or_read() -> None:
    printed = run("fuzz.py", "--pictures", "120", "--tables", "60")
    assert "120 pictures: slowest " in printed
    assert "60 tables: slowest " in printed
    assert "several lines" not in printed
    assert "takes longer" not in printed
