"""`scanmix train` in several processes, from the outside: how they end, and how the run goes on."""

import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from command_run import run

from scanmix_cli.cli import train as command
from scanmix_cli.engine import launch as launching
from scanmix_cli.engine.launch import launch

KILLED = Path(__file__).with_name("killed_process.py")
OPTIONS = [
    "--epochs",
    "2",
    "--pretrain-epochs",
    "2",
    "--batch-size",
    "8",
    "--device",
    "cpu",
    "--no-html",
    "--config",
    "short.toml",
]


@pytest.fixture(autouse=True)
def same_signal_handlers() -> Iterator[None]:
    """The agent that watches over processes sets handlers of its own and leaves them behind."""
    kept = {
        number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
    }
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def losses(path: Path) -> list[float]:
    """The loss of every epoch that has one, in order."""
    with path.open(newline="", encoding="utf-8") as file:
        return [float(row["loss"]) for row in csv.DictReader(file) if row["loss"]]


def test_a_killed_process_ends_the_run_with_one_sentence_and_the_run_goes_on(
    squares: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "require_gpus", lambda *_: None)  # a CPU does for this
    monkeypatch.setattr(
        command,
        "launch",
        lambda count, program, *rest: launch(count, [sys.executable, str(KILLED), *program[3:]], *rest),
    )
    Path("short.toml").write_text(
        "[profile]\nbeliefs = false\n[profile.scan]\nepochs = 2\n[profile.warmup]\nepochs = 2\n"
    )
    given = ["train", "data", "--out", "shared", *OPTIONS, "--gpus", "2"]
    assert run(*given) == 3
    told = capfd.readouterr().err
    sentences = [line for line in told.splitlines() if line.startswith("scanmix: ")]
    assert sentences == [
        "scanmix: process 1 of 2 was ended by SIGKILL; what was saved so far is kept, go on with "
        "`scanmix train data --out shared --epochs 2 --pretrain-epochs 2 --batch-size 8 --device cpu "
        "--no-html --config short.toml --gpus 2 --resume`"
    ]
    assert told.count("simclr 1/2") == 1, "progress is shown once"
    assert "Traceback" not in told
    assert not Path("shared/report.csv").exists()
    log = Path("shared/log.txt").read_text(encoding="utf-8")
    assert log.count("simclr starts") == 1

    assert run("train", "data", "--out", "shared", *OPTIONS, "--resume", "-q") == 0
    assert "simclr 1/2" not in Path("shared/log.txt").read_text(encoding="utf-8").removeprefix(log), "it goes on"
    assert json.loads(Path("shared/summary.json").read_text())["processes"] == 1
    assert run("train", "data", "--out", "alone", *OPTIONS, "-q") == 0
    shared, alone = (losses(Path(name) / "metrics.csv") for name in ("shared", "alone"))
    assert len(shared) == len(alone)
    assert shared[:3] == pytest.approx(
        alone[:3], rel=1e-3
    )  # SimCLR, half of it by two processes, and SCAN's first epoch


def test_the_process_that_ends_first_gives_the_exit_code_and_the_others_end_too() -> None:
    code = "import os, sys, time; time.sleep(60 if os.environ['RANK'] == '0' else 0); sys.exit(3)"
    assert launch(2, [sys.executable, "-c", code], "") == 3


def test_who_ends_all_processes_is_told_what_was_saved(tmp_path: Path) -> None:
    sleep = "import os, pathlib, time; pathlib.Path(os.environ['RANK']).touch(); time.sleep(60)"
    command = [sys.executable, "-c", sleep]
    program = f"from scanmix_cli.engine.launch import launch; launch(2, {command}, 'do this')"
    launching = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not all((tmp_path / rank).exists() for rank in "01"):
        assert launching.poll() is None
        time.sleep(0.05)
    launching.send_signal(signal.SIGTERM)
    assert "Interrupted: interrupted; what was saved so far is kept, do this\n" in launching.communicate(timeout=60)[1]


def test_machines_that_torchrun_brings_together_share_one_run(squares: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    together = ["--nnodes", "2", "--nproc-per-node", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint", place]
    short = ["--epochs", "1", "--pretrain-epochs", "1", "--device", "cpu", "--no-html"]
    scanmix = ["-m", "scanmix_cli", "train", "data", "--out", "shared", *short]
    machines = [
        subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", *together, *scanmix],
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = [machine.communicate(timeout=300)[1] for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], told
    assert sorted(text.count("simclr 1/1") for text in told) == [0, 1], "progress is shown by one of them"
    assert json.loads(Path("shared/summary.json").read_text())["processes"] == 2


def test_gpus_that_are_not_there_are_missed_before_anything_starts(
    squares: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for found, here in ((0, "no usable GPU"), (1, "only 1")):
        monkeypatch.setattr(torch.cuda, "device_count", lambda found=found: found)
        assert run("train", squares, "--gpus", "2") == 2
        assert capsys.readouterr().err == (
            f"scanmix: --gpus 2 was asked for but there is {here} here; give a smaller number or leave it out\n"
        )
    assert run("train", squares, "--gpus", "2", "--device", "cpu") == 2
    assert capsys.readouterr().err == "scanmix: --gpus and --device cpu exclude each other; leave one out\n"


def test_other_commands_are_not_shared(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(launching, "GRACE", 0.0)
    for name, value in (("TORCHELASTIC_RUN_ID", "any"), ("WORLD_SIZE", "2"), ("RANK", "0")):
        monkeypatch.setenv(name, value)
    assert run("report") == 2
    assert capsys.readouterr().err == (
        "scanmix: scanmix report cannot be shared by processes; run it without torchrun\n"
    )
