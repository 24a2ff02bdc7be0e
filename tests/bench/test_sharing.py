"""Several processes on one results folder."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from test_bench_run import request
from toy_sets import write_folder

from scanmix_cli.bench import encoder, runner, sharing
from scanmix_cli.bench.sharing import alone
from scanmix_cli.engine.progress import Silent
from scanmix_cli.errors import RunError


def test_the_second_waits_and_says_so(tmp_path: Path) -> None:
    told: list[str] = []
    order: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        with alone(tmp_path, "cell", lambda text: (told.append(text), waiting.set())[0]):
            order.append("second")

    thread = threading.Thread(target=second)
    with alone(tmp_path, "cell", told.append):
        thread.start()
        assert waiting.wait(60)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]
    assert told == ["another process is at cell: waiting for it"]


def test_other_work_does_not_wait(tmp_path: Path) -> None:
    told: list[str] = []
    with alone(tmp_path, "one", told.append), alone(tmp_path, "two", told.append):
        pass
    with alone(tmp_path, "one", told.append):
        pass
    assert told == []


def test_a_folder_that_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(sharing.fcntl, "flock", refuse)
    sentence = r"cell\.lock cannot be locked \(No locks available\); name a folder on a local disk with --out"
    with pytest.raises(RunError, match=sentence), alone(tmp_path, "cell", print):
        pass


def test_the_second_run_waits_for_the_encoder_and_both_cells_are_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads stand for two processes: a lock that is held through another open file is held for both."""
    write_folder(tmp_path / "own", per_class=4, held_out=2)
    true_pretrain, begun, seen = encoder.pretrain, threading.Event(), threading.Event()
    calls: list[int] = []

    def pretrain(*arguments: Any) -> Any:
        calls.append(1)
        begun.set()
        assert seen.wait(60)
        return true_pretrain(*arguments)

    class Listening(Silent):
        def message(self, text: str) -> None:
            if text.startswith("another process is at pretraining-seed0-"):
                seen.set()

    monkeypatch.setattr(encoder, "pretrain", pretrain)
    monkeypatch.setattr(runner, "draw_all", lambda *_: [])
    first = threading.Thread(target=runner.run_bench, args=(request(tmp_path, ("scanmix",)), Silent()))
    first.start()
    assert begun.wait(60)
    runner.run_bench(request(tmp_path, ("pretrain+dividemix",)), Listening())
    first.join(60)
    cells = json.loads((tmp_path / "out" / "results.json").read_text())
    assert sorted(cell["method"] for cell in cells) == ["pretrain+dividemix", "scanmix"]
    assert cells[0]["seconds"]["simclr"] == cells[1]["seconds"]["simclr"]  # one training, counted in both
    assert calls == [1]
    assert not list((tmp_path / "out").rglob("*.tmp"))
