"""A few of the faults and of the damaged files of the two benchmarks, with every change."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def run(script: str, *arguments: str) -> str:
    """Standard output; the benchmark itself says with its exit code whether all was well."""
    command = [sys.executable, str(FOLDER / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script in this process, for calls that train nothing."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.chdir(tmp_path)
    return importlib.import_module("faults")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_runs_go_on_after_what_stopped_them_and_are_tried_once_and_within_a_time(
    faults: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "faults.csv"
    table.write_text(
        "fault,device,seconds,outcome\n"
        "kill at half scan- (published),cpu,9.9,a temporary file was left\n"
        '"kill at rename scan-, time 2 (published)",cpu,9.9,ok\n'
        '"kill at half scan-, time 2 (published)",cuda,9.9,ok\n'
    )
    only = ["--only", "kill at half scan-", "kill at rename scan-", "enospc at half report.csv (beliefs)"]
    only += ["--results", str(table)]

    def printed(*options: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["faults.py", *only, *options])
        with pytest.raises(SystemExit) as stopped:
            faults.main()
        assert not stopped.value.code
        monkeypatch.chdir(tmp_path)  # the folder that the script went to is gone
        return capsys.readouterr().out.splitlines()

    assert printed("--seconds", "0") == [
        "not tried: kill at half scan-, time 2 (published)",
        "not tried: enospc at half report.csv (beliefs)",
        "0 faults on cpu, 0 not as they should be, 2 more not tried",
    ]
    tried = run("faults.py", *only)
    assert tried.count("  ok\n") == 2
    assert tried.splitlines()[-1] == "2 faults on cpu, 0 not as they should be"
    known = table.read_text().splitlines()[-2:]
    assert re.fullmatch(r'"kill at half scan-, time 2 \(published\)",cpu,\d+\.\d,ok', known[0])
    assert re.fullmatch(r"enospc at half report\.csv \(beliefs\),cpu,\d+\.\d,ok", known[1])
    assert printed() == ["0 faults on cpu, 0 not as they should be"]


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
