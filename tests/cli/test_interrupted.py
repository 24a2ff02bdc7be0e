"""Ctrl-C in commands that keep nothing to go on with: one sentence and exit code 130."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from scanmix_cli.cli.app import main

SAID = "scanmix: interrupted; run the command again\n"


def open_for_reader(pipe: Path, process: "subprocess.Popen[str]") -> int:
    """The end to write to of a named pipe, once the process reads the other one."""
    while process.poll() is None:
        with suppress(OSError):  # nobody reads yet
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.02)
    raise AssertionError(process.communicate()[1])


def heed_interrupts() -> None:
    """In a child of a process that ignores Ctrl-C, as what a shell runs in the background does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_command_that_waits_for_its_input_is_stopped(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    os.mkfifo(table)
    command = [sys.executable, "-m", "scanmix_cli", "check", str(table)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, preexec_fn=heed_interrupts) as process:
        writer = open_for_reader(table, process)
        process.send_signal(signal.SIGINT)
        os.close(writer)  # a signal between opening and reading is heeded when the read ends
        assert process.communicate(timeout=60) == ("", SAID)
    assert process.returncode == 130


def test_ctrl_c_while_the_command_still_loads(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    command = [sys.executable, "-m", "scanmix_cli", "check", "photos"]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", SAID)


def test_further_interrupts_are_passed_over_to_the_end() -> None:
    """While the command stops, while it says so, while Python ends, and when Python has no handlers any more."""
    program = (
        "import atexit, os, signal, sys, threading\n"
        "import scanmix_cli.__main__ as entry\n"
        "from scanmix_cli.cli import app\n"
        "from scanmix_cli.data import sources\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "press = signal.raise_signal\n"
        "class Late:\n"
        "    def __del__(self, kill=os.kill, process=os.getpid()):\n"
        "        kill(process, 2)\n"
        "late = Late()\n"
        "def read(*_, **__):\n"
        "    try:\n"
        "        press(2)\n"
        "    finally:\n"
        "        press(2)\n"
        "        print('saved')\n"
        "def echo(text, *, err, say=app.typer.echo):\n"
        "    press(2)\n"
        "    say(text, err=err)\n"
        "sources.read_samples, app.typer.echo = read, echo\n"
        "atexit.register(press, 2)\n"
        "threading._register_atexit(press, 2)\n"
        "sys.argv = ['scanmix', 'check', 'photos']\n"
        "entry.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "saved\n", SAID)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["check", "photos", "--out", "bad.csv", "--json"], "scanmix_cli.data.sources.read_samples"),
        (["train", "photos"], "scanmix_cli.data.sources.read_samples"),
        (["predict", "run", "photo.png", "--json"], "scanmix_cli.workflow.predict.predict"),
        (["report", "--run", "run", "--out", "noisy.csv"], "scanmix_cli.cli.report.resolve_run"),
        (["review", "--run", "run"], "scanmix_cli.cli.review.resolve_run"),
        (["import", "results.json", "--run", "run"], "scanmix_cli.cli.import_results.resolve_run"),
    ],
)
def test_every_command_says_that_it_was_interrupted(
    arguments: list[str],
    where: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(where, stop)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 130
    assert capsys.readouterr() == ("", SAID)
