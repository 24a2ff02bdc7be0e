"""`scanmix train` that is interrupted, fails, runs out of time or has finished: what is kept, how it goes on."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command_run import SHORT, run

from scanmix_cli.data.pixels import SCAN_SIZE, Pixels, load_pixels
from scanmix_cli.data.samples import Samples


def test_a_resumed_finished_run_writes_the_same_report(squares: Path) -> None:
    assert run("train", squares, "--out", "run", *SHORT) == 0
    before = Path("run/report.csv").read_bytes()
    Path("run/report.csv").unlink()
    assert run("train", squares, "--out", "run", "--resume", "--no-html", "-q") == 0
    assert Path("run/report.csv").read_bytes() == before


def test_a_budgeted_run_can_be_resumed(squares: Path) -> None:
    assert run("train", squares, "--out", "run", "--time-budget", "5s", "--device", "cpu", "--no-html", "-q") == 0
    before = Path("run/report.csv").read_bytes()
    assert run("train", squares, "--out", "run", "--resume", "--no-html", "-q") == 0
    assert Path("run/report.csv").read_bytes() == before


def test_an_interrupt_before_training_leaves_nothing(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scanmix_cli.workflow.train.make_plan", stop)
    assert run("train", squares, "--out", "run", *SHORT) == 130
    assert capsys.readouterr().err == "scanmix: interrupted before training began; nothing was written\n"
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (
            torch.OutOfMemoryError("CUDA out of memory"),
            "cpu ran out of memory in epoch 1 of scanmix, with 2 images at a time too; use a smaller --image-size",
        ),
        (MemoryError("Unable to allocate 20.0 GiB"), "ran out of memory in epoch 1 of scanmix; use a smaller --batch"),
        (OSError(28, "No space left on device", "run/x"), "run/x cannot be written or read (No space left on device)"),
    ],
)
def test_a_failed_run_says_where_and_how_to_go_on(
    squares: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
    sentence: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr("scanmix_cli.method.belief_step.BeliefStep.step", fail)
    assert run("train", squares, "--out", "run", *SHORT) == 3
    assert sentence in capsys.readouterr().err


SHORTAGES = [
    MemoryError("Unable to allocate 2.73 TiB for an array"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory"),
]


@pytest.mark.parametrize("shortage", SHORTAGES)
@pytest.mark.parametrize("where", ["decide_weights", "make_plan"])
def test_a_shortage_of_memory_before_training_is_a_sentence(
    squares: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    shortage: Exception,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise shortage

    monkeypatch.setattr(f"scanmix_cli.workflow.train.{where}", fail)
    assert run("train", squares, "--out", "run", *SHORT) == 3
    sentence = "ran out of memory before training began; use a smaller --batch-size or --image-size\n"
    assert capsys.readouterr().err.endswith(sentence)
    assert not Path("run").exists()


def test_a_shortage_of_memory_while_images_are_read_is_a_sentence(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_another_size(samples: Samples, size: int, **rest: Any) -> Pixels:
        if size != SCAN_SIZE:
            raise SHORTAGES[0]
        return load_pixels(samples, size, **rest)

    monkeypatch.setattr("scanmix_cli.workflow.train.load_pixels", fail_at_another_size)
    assert run("train", squares, "--out", "run", "--image-size", "40", *SHORT) == 3
    sentence = "while images were read; use a smaller --batch-size or --image-size, with --overwrite\n"
    assert capsys.readouterr().err.endswith(sentence)


def test_a_finished_run_without_checkpoints_is_not_trained_again(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("train", squares, "--out", "run", "--no-keep-checkpoints", *SHORT) == 0
    before = {path: path.stat().st_mtime_ns for path in Path("run").rglob("*")}
    capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr("scanmix_cli.workflow.train.learn", None)
        assert run("train", squares, "--out", "run", "--resume", "--no-keep-checkpoints", "--json") == 0
        told = capsys.readouterr()
        assert told.err == "run has finished already with these data and settings; nothing to do\n"
        assert json.loads(told.out) == json.loads(Path("run/summary.json").read_text())
        assert run("train", squares, "--out", "run", "--resume", "--seed", "1") == 2
    assert capsys.readouterr().err == (
        "scanmix: run has finished with other data or settings, and its checkpoints are gone; resume with the same "
        "ones, or start anew with --overwrite\n"
    )
    assert {path: path.stat().st_mtime_ns for path in Path("run").rglob("*")} == before
    report = Path("run/report.csv").read_bytes()
    Path("run/report.csv").unlink()
    assert run("train", squares, "--out", "run", "--resume", "--no-html") == 0
    assert "warning: run has no checkpoints, so it is trained from the beginning\n" in capsys.readouterr().err
    assert Path("run/report.csv").read_bytes() == report


def test_an_interrupt_keeps_the_state_and_tells_how_to_go_on(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = run("train", squares, "--out", "whole", *SHORT)
    assert undisturbed == 0

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("scanmix_cli.method.methods.run_belief_loop", stop)
        assert run("train", squares, "--out", "run", *SHORT) == 130
    again = f"scanmix train {squares} --out run {' '.join(SHORT)} --resume"
    assert capsys.readouterr().err == (f"scanmix: interrupted; what was done so far is kept, go on with `{again}`\n")
    assert run("train", squares, "--out", "run", "--resume", "--no-html", "-q") == 0
    assert Path("run/report.csv").read_bytes() == Path("whole/report.csv").read_bytes()
