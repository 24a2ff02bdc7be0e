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


TWICE = """
import runpy, sys
codes = []
for arguments in {arguments}:
    print("--- next")
    sys.argv = [{script!r}, *arguments]
    try:
        runpy.run_path({script!r}, run_name="__main__")
    except SystemExit as stopped:
        codes.append(int(stopped.code or 0))
    sys.stdout.flush()
sys.exit(max(codes, default=0))
"""


def run(script: str, *calls: list[str]) -> list[str]:
    """Standard output of each call, all in one process: what takes longest is importing. The benchmark itself says with
    its exit code whether all was well."""
    program = TWICE.format(script=str(FOLDER / script), arguments=list(calls))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(FOLDER), *sys.path])}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("--- next\n")[1:]


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
    """And batches that do not fit are worked on in parts."""
    table = tmp_path / "faults.csv"
    table.write_text(
        "fault,device,seconds,outcome\n"
        "kill at half scanmix- (beliefs),cpu,9.9,a temporary file was left\n"
        '"kill at rename scanmix-, time 2 (beliefs)",cpu,9.9,ok\n'
        '"kill at half scanmix-, time 2 (beliefs)",cuda,9.9,ok\n'
    )
    only = ["kill at half scanmix-, time 2 (b", "kill at rename scanmix-, time 2 (b", "enospc at half report.csv (b"]
    only = ["--only", *only, "--results", str(table)]

    def printed(*options: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["faults.py", *only, *options])
        with pytest.raises(SystemExit) as stopped:
            faults.main()
        assert not stopped.value.code
        monkeypatch.chdir(tmp_path)  # the folder that the script went to is gone
        return capsys.readouterr().out.splitlines()

    assert printed("--seconds", "0") == [
        "not tried: kill at half scanmix-, time 2 (beliefs)",
        "not tried: enospc at half report.csv (beliefs)",
        "0 faults on cpu, 0 not as they should be, 2 more not tried",
    ]
    tried, large = run("faults.py", only, ["--too-large", "--only", "beliefs"])
    assert tried.count("  ok\n") == 2
    assert tried.splitlines()[-1] == "2 faults on cpu, 0 not as they should be"
    known = table.read_text().splitlines()[-2:]
    assert re.fullmatch(r'"kill at half scanmix-, time 2 \(beliefs\)",cpu,\d+\.\d,ok', known[0])
    assert re.fullmatch(r"enospc at half report\.csv \(beliefs\),cpu,\d+\.\d,ok", known[1])
    assert printed() == ["0 faults on cpu, 0 not as they should be"]

    for stage in ("simclr", "scanmix"):
        assert f"in epoch 1 of {stage}: batches of 30 are worked on in 4 parts from here on" in large
    assert re.fullmatch(r"batches of 30 images \(beliefs\): \d+\.\d s, ok", large.splitlines()[-1])


def test_damaged_files_are_refused_or_read() -> None:
    (printed,) = run("fuzz.py", ["--pictures", "120", "--tables", "60"])
    assert "120 pictures: slowest " in printed
    assert "60 tables: slowest " in printed
    assert "several lines" not in printed
    assert "takes longer" not in printed
