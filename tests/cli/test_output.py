"""Standard output and standard error that nobody reads to the end, or that hold no more."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scanmix_cli.__main__ import open_closed_streams
from scanmix_cli.cli.app import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with `photos` of two classes, and `half`, where nothing of the second can be read: `check` shows it
    without loading PyTorch for a plan, and ends with code 2 unless something else happens."""
    for number in range(12):
        path = tmp_path / "photos" / f"class {number % 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    shutil.copytree(tmp_path / "photos" / "class 0", tmp_path / "half" / "class 0")
    (tmp_path / "half" / "class 1").mkdir()
    (tmp_path / "half" / "class 1" / "1.png").write_bytes(b"no picture")
    return tmp_path


def scanmix(*arguments: object, folder: Path, **streams: Any) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "scanmix_cli", *map(str, arguments)]
    return subprocess.run(command, text=True, env=environment, cwd=folder, check=False, **streams)


def closed_pipe() -> int:
    """The end to write to of a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["check", "half"], ["check", "half", "--json"]])
def test_a_reader_that_has_seen_enough_is_no_failure(folder: Path, arguments: list[str]) -> None:
    done = scanmix(*arguments, folder=folder, stdout=closed_pipe(), stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, "")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Lines on standard output of a command that ends well, run in this process."""
    with pytest.raises(SystemExit) as stopped:
        main([*arguments])
    assert not stopped.value.code
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is in the folder, and knows no width of a terminal."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.mark.usefixtures("at_home")
@pytest.mark.parametrize("columns", ["0", "wide", "²"])
@pytest.mark.parametrize("arguments", [["--help"], ["check", "photos"]])
def test_a_terminal_of_no_width_is_taken_for_an_unknown_one(
    arguments: list[str], columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = printed(capsys, *arguments)
    assert len(expected) > 5
    monkeypatch.setenv("COLUMNS", columns)
    assert printed(capsys, *arguments)[:8] == expected[:8]  # further down are seconds


@pytest.mark.usefixtures("at_home")
def test_names_stay_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert [line for line in printed(capsys, "check", "photos") if line.startswith(" class 0  ")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_full_disk_under_the_output_is_a_sentence(folder: Path, options: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = scanmix("check", "half", *options, folder=folder, stdout=full, stderr=subprocess.PIPE)
    sentence = "what was to be printed cannot be written (No space left on device); make room or send it elsewhere"
    assert (done.returncode, done.stderr) == (3, f"scanmix: {sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "closed", "code"),
    [("report --run nope", "2>&-", 2), ("report --run nope", ">&-", 2), ("--version", "<&- >&- 2>&-", 0)],
)
def test_closed_streams_change_no_exit_code(folder: Path, arguments: str, closed: str, code: int) -> None:
    command = f"exec '{sys.executable}' -m scanmix_cli {arguments} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    told = code == 2 and "2>&-" not in closed
    assert (done.returncode, "nope" in done.stderr) == (code, told)


def test_closed_streams_become_streams_to_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    open_closed_streams()
    streams = [sys.stdin, sys.stdout, sys.stderr]
    assert [(stream.name, stream.isatty(), stream.encoding) for stream in streams] == [(os.devnull, False, "utf-8")] * 3
    for stream in streams:
        stream.close()


def test_a_run_whose_progress_nobody_reads_goes_on(folder: Path) -> None:
    short = ["--epochs", "1", "--pretrain-epochs", "1", "--device", "cpu", "--no-html", "-v"]
    done = scanmix("train", "photos", "--out", "run", *short, folder=folder, stderr=closed_pipe())
    assert done.returncode == 0
    assert (folder / "run" / "summary.json").exists()
