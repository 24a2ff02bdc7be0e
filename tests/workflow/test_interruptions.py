"""Runs that are stopped, killed, started twice or go on with something else: from the outside."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command_run import run

from scanmix_cli.engine.lock import LOCK, locked
from scanmix_cli.engine.progress import Logged
from scanmix_cli.errors import RunError
from scanmix_cli.workflow import train as workflow
from scanmix_cli.workflow.weights import weights_digest

SHORT = ["--epochs", "1", "--pretrain-epochs", "1", "--device", "cpu", "--no-html"]


def start(*arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "scanmix_cli", "train", *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


def wait_for(path: Path, process: "subprocess.Popen[str]", text: str = "") -> None:
    """Until the file holds the text; fails when the process ends before."""
    while not (path.exists() and text in path.read_text(encoding="utf-8")):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)


def interrupt(monkeypatch: pytest.MonkeyPatch, where: str = "scanmix_cli.method.methods.run_belief_loop") -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, stop)


def test_two_processes_on_one_folder(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one that was first is stopped, as a scheduler does it and by Ctrl-C at once, and loses nothing."""
    folder = Path("run")
    many = ["--epochs", "300", "--pretrain-epochs", "1", "--device", "cpu", "--no-html"]
    with start(squares, "--out", folder, "-v", *many) as first:
        wait_for(folder / "log.txt", first, "scanmix 2/300")
        for options in ([], ["--overwrite"], ["--resume"]):
            assert run("train", squares, "--out", folder, *many, *options) == 2
            assert f"run is in use by another run (process {first.pid} on " in capsys.readouterr().err
        first.send_signal(signal.SIGTERM)
        first.send_signal(signal.SIGINT)
        said = first.communicate()[1].splitlines()[-1]
    assert first.returncode == 130
    again = f"scanmix train {squares} --out run -v {' '.join(many)} --resume"
    assert said == f"scanmix: interrupted; what was done so far is kept, go on with `{again}`"
    names = {path.name.rpartition("-")[0] for path in (folder / "checkpoints").glob("scanmix-*")}
    last = max(int(name.rpartition("-")[2]) for name in names)
    log = (folder / "log.txt").read_text(encoding="utf-8")
    assert f"scanmix {last}/300" in log
    assert f"scanmix {last + 2}/300" not in log, "at most the epoch that was just ending is lost"
    assert not (folder / LOCK).exists()


def test_of_two_runs_without_a_name_each_gets_a_folder(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins while the first, which chose the same number, still decodes; the first is stopped later on."""
    runs = Path("scanmix-runs")
    with monkeypatch.context() as patch:
        plan = workflow.make_plan

        def second_run(*arguments: Any) -> Any:
            patch.setattr(workflow, "make_plan", plan)
            assert run("train", squares, *SHORT, "-q") == 0
            interrupt(patch)
            return plan(*arguments)

        patch.setattr(workflow, "make_plan", second_run)
        assert run("train", squares, *SHORT, "-q") == 130
    go_on = f"scanmix train {squares} {' '.join(SHORT)} -q --out scanmix-runs/data-2 --resume"
    assert f"go on with `{go_on}`" in capsys.readouterr().err
    assert run(*go_on.split()[1:]) == 0
    assert sorted(path.name for path in runs.iterdir()) == ["data-1", "data-2", "latest"]
    assert (runs / "latest").read_text(encoding="utf-8") == "data-2\n"


def test_a_complete_run_that_is_interrupted_is_named(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is noted as the newest one, and as its closing lines are printed."""
    begin = ["train", str(squares), *SHORT, "--no-keep-checkpoints"]
    go_on = [*begin, "--out", "scanmix-runs/data-1", "--resume"]
    with monkeypatch.context() as patch:
        interrupt(patch, "scanmix_cli.workflow.train.point_latest")
        assert run(*begin) == 130
    said = f"scanmix: interrupted; what was done so far is kept, go on with `scanmix {' '.join(go_on)}`"
    assert capsys.readouterr().err.splitlines()[-1] == said
    with monkeypatch.context() as patch:
        interrupt(patch, "scanmix_cli.report.terminal.closing_panel")
        assert run(*go_on) == 130
    assert capsys.readouterr().err.splitlines()[-1] == said
    assert run(*go_on) == 0
    assert "has finished already" in capsys.readouterr().err
    assert Path("scanmix-runs/latest").read_text(encoding="utf-8") == "data-1\n"


def test_a_run_goes_on_with_the_same_or_not_at_all(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupt(patch)
        assert run("train", squares, "--out", "run", *SHORT) == 130
    capsys.readouterr()
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    assert run("train", squares, "--out", "run", "--resume", "--seed", "1", "--epochs", "3", "-q") == 2
    advice = "resume with the same ones, or start anew with --overwrite"
    begun = "scanmix: run was begun with other data or settings"
    changed = (
        "seed 0 then, 1 now; mixmatch.epochs 1 then, 3 now; mixmatch.rate_drops [1, 1] then, [3, 3] now and 1 more"
    )
    assert capsys.readouterr().err == f"{begun} ({changed}); {advice}\n"
    image = next(squares.rglob("r*.png"))
    content = image.read_bytes()
    image.unlink()
    assert run("train", squares, "--out", "run", "--resume", "-q") == 2
    told = capsys.readouterr().err
    assert told.startswith(
        f"{begun} (rows 42 then, 41 now; readable images 42 then, 41 now; other names, splits or lab"
    )
    image.write_bytes(next(squares.rglob("b*.png")).read_bytes())
    assert run("train", squares, "--out", "run", "--resume", "-q") == 2
    assert capsys.readouterr().err == f"{begun} (other pictures); {advice}\n"
    after = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    assert after == before, "a refusal writes nothing"
    image.write_bytes(content)
    assert run("train", squares, "--out", "run", "--resume", "-q", "--no-html") == 0
    assert run("train", squares, "--out", "whole", "-q", *SHORT) == 0
    assert Path("run/report.csv").read_bytes() == Path("whole/report.csv").read_bytes()


def test_a_folder_that_a_killed_run_had_only_just_made_is_free(squares: Path) -> None:
    Path("run").mkdir()
    Path("run", LOCK).write_text("process 1 on elsewhere")
    Path("run/.config.toml.1.tmp").write_text("[ru")
    assert run("train", squares, "--out", "run", "-q", *SHORT) == 0
    assert not [path.name for path in Path("run").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", ["checkpoints", "model", "log.txt"])
def test_a_run_is_not_resumed_through_links(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with monkeypatch.context() as patch:
        interrupt(patch, "scanmix_cli.method.methods.pretrain")
        assert run("train", squares, "--out", "run", *SHORT) == 130
    elsewhere = Path("elsewhere")
    found = Path("run") / name
    if found.exists():
        found.rename(elsewhere)
    found.symlink_to(elsewhere.absolute())
    capsys.readouterr()
    assert run("train", squares, "--out", "run", "--resume", "-q") == 2
    assert capsys.readouterr().err == (
        f"scanmix: run/{name} is a link, which no run makes; remove it, or use another --out\n"
    )


def test_a_full_disk_keeps_what_there_is(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when the verdicts are written; with room again the run ends."""
    full = OSError(28, "No space left on device")

    def fsync(_: int) -> None:
        raise full

    judge = workflow.judge
    with monkeypatch.context() as patch:

        def full_from_now(*arguments: Any, **named: Any) -> object:
            patch.setattr(os, "fsync", fsync)
            return judge(*arguments, **named)

        patch.setattr(workflow, "judge", full_from_now)
        assert run("train", squares, "--out", "run", "-q", *SHORT) == 3
    told = capsys.readouterr().err
    assert told == (
        "scanmix: run/evidence.npz could not be written (No space left on device): free some space or choose another "
        "folder\n"
    )
    assert {path.name for path in Path("run").iterdir()} == {"config.toml", "log.txt", "metrics.csv", "checkpoints"}
    assert run("train", squares, "--out", "run", "--resume", "-q", "--no-html") == 0
    assert Path("run/report.csv").is_file()


def test_a_folder_that_takes_no_files_is_a_sentence(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr("scanmix_cli.engine.lock.os.open", refuse)
    assert run("train", squares, "--out", "run", "-q", *SHORT) == 3
    assert capsys.readouterr().err == (
        "scanmix: run folder run cannot be made or written to (Read-only file system); name another one with --out\n"
    )


def test_data_that_vanish_during_training_are_not_needed_any_more(
    squares: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is the network: a run makes no socket and asks for no address."""
    judge, watching = workflow.judge, True

    def vanish(*arguments: Any, **named: Any) -> object:
        squares.rename("moved")
        return judge(*arguments, **named)

    def refuse(event: str, _: tuple) -> None:
        if watching and event.startswith("socket.") and event != "socket.gethostname":  # the lock's
            raise AssertionError(event)

    monkeypatch.setattr(workflow, "judge", vanish)
    sys.addaudithook(refuse)  # for good: none can be taken away
    code = run("train", squares, "--out", "run", "-q", *SHORT[:-1])
    watching = False
    assert code == 0
    assert "data:image" in Path("run/report.html").read_text(encoding="utf-8"), "pictures come from the pixel cache"


def test_data_that_vanish_between_two_looks_are_a_sentence(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sound files are told from damaged ones at a small size, before pixels are read at the one that is trained at."""
    describe, gone = workflow.describe_plan, sorted(squares.rglob("r*.png"))[:2]

    def vanish(*arguments: Any) -> str:
        for path in gone:
            path.rename(path.with_suffix(".away"))
        return describe(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(workflow, "describe_plan", vanish)
        assert run("train", squares, "--out", "run", "-q", *SHORT, "--image-size", "33") == 3
    name = gone[0].relative_to(squares).as_posix()
    assert capsys.readouterr().err == (
        f"scanmix: 2 image files have vanished or changed while pixels were read, such as {name}; put them back and "
        "run the command again\n"
    )
    for path in gone:
        path.with_suffix(".away").rename(path)
    interrupt(monkeypatch, "scanmix_cli.method.methods.pretrain")
    assert run("train", squares, "--out", "run", "--resume", "-q") == 130, "training begins"


def test_a_disk_that_is_full_for_the_first_line_of_the_log(
    squares: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Logged, _: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Logged, "_write", refuse)
    assert run("train", squares, "--out", "run", "-q", *SHORT) == 3
    assert capsys.readouterr().err == (
        "scanmix: run cannot be written or read (No space left on device); make room and go on with --resume\n"
    )


def test_other_weights_of_the_same_name_are_other_settings(tmp_path: Path) -> None:
    path = tmp_path / "own.pt"
    path.write_bytes(b"one")
    first = weights_digest(str(path))
    path.write_bytes(b"two")
    assert first != weights_digest(str(path))
    assert weights_digest("efficientnet-lite0") == weights_digest("") == ""


def test_a_folder_in_use_inside_one_process(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run").mkdir()
    with locked(Path("run")):
        assert run("train", squares, "--out", "run", "-q", *SHORT) == 2
    assert "in use by another run" in capsys.readouterr().err
    assert RunError.exit_code == 3
