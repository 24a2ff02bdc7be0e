"""A few of the faults and of the damaged files of the two benchmarks, with every change."""

import os
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
    printed = run("faults.py", "--only", "kill at half scan-", "enospc at half report.csv")
    assert printed.count("  ok\n") == 2
    assert printed.splitlines()[-1] == "2 faults on cpu, 0 not as they should be"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_batches_that_do_not_fit() -> None:
    assert "are worked on in 4 parts" in run("faults.py", "--too-large")


def test_damaged_files_are_refused_or_read() -> None:
    printed = run("fuzz.py", "--pictures", "120", "--tables", "60")
    assert "120 pictures: slowest " in printed
    assert "60 tables: slowest " in printed
    assert "several lines" not in printed
    assert "takes longer" not in printed
