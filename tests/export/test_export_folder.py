"""The folder of an export: originals untouched, all or nothing, names that fit everywhere."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from handoff_run import HandoffRun, report_table

from scanmix_cli.cli.app import main
from scanmix_cli.engine.run_folder import check_free
from scanmix_cli.errors import DataError, RunError, SettingsError
from scanmix_cli.export import pictures
from scanmix_cli.export.destination import STAGING, destination
from scanmix_cli.export.items import choose_items
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions
from scanmix_cli.workflow.handoff import export_run
from scanmix_cli.workflow.result import load_run


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize("link", ["copy", "hard", "sym"])
def test_originals_stay_as_they_are(own_run: HandoffRun, tmp_path: Path, link: str) -> None:
    before = state(own_run.data)
    export_run(own_run.folder, "imagefolder", tmp_path / "out", link=link)
    original, exported = own_run.data / "01/ünï.png", tmp_path / "out/train/=cat/ünï.png"
    assert state(own_run.data) == before
    assert exported.read_bytes() == original.read_bytes()
    assert exported.is_symlink() == (link == "sym")
    assert exported.samefile(original) == (link != "copy")


def test_a_hard_link_across_disks_becomes_a_copy(
    finished: HandoffRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    out = tmp_path / "out"
    command = ["export", "--run", str(finished.folder), "--to", "csv", "--out", str(out), "--link", "hard"]
    with pytest.raises(SystemExit) as stopped:
        main(command)
    assert stopped.value.code == 0
    assert capsys.readouterr().err == f"9 images copied, since {out} is on another disk\n9 images written to {out}\n"


@pytest.mark.parametrize("inside", [".", "01", "01/new", "new"])
def test_nothing_is_written_into_the_source(finished: HandoffRun, inside: str) -> None:
    before = state(finished.data)
    with pytest.raises(
        SettingsError, match=r"^--out .* lies inside .*, which holds the original images; name a folder"
    ):
        export_run(finished.folder, "csv", finished.data / inside)
    assert state(finished.data) == before


def test_a_folder_with_files_and_a_link_are_refused(finished: HandoffRun, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(SettingsError, match=r"full holds files already, such as mine\.txt; name a new folder$"):
        export_run(finished.folder, "csv", tmp_path / "full")
    (tmp_path / "link").symlink_to(finished.data)
    with pytest.raises(SettingsError, match="lies inside"):
        export_run(finished.folder, "csv", tmp_path / "link")
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="is a link or a file; name a new folder"):
        export_run(finished.folder, "csv", tmp_path / "file")


def test_an_interrupted_export_leaves_nothing(
    finished: HandoffRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    laid = pictures._lay

    def stop_at_the_third(source: str, target: Path, link: str) -> bool:
        if len(list(target.parent.iterdir())) == 2:
            raise KeyboardInterrupt
        return laid(source, target, link)

    monkeypatch.setattr(pictures, "_lay", stop_at_the_third)
    with pytest.raises(SystemExit) as stopped:
        main(["export", "--run", str(finished.folder), "--to", "csv", "--out", str(tmp_path / "new/out")])
    assert stopped.value.code == 130
    assert not (tmp_path / "new/out").exists()
    assert capsys.readouterr().err == (
        f"scanmix: interrupted; nothing of the export is left in {tmp_path / 'new/out'}: run it again\n"
    )


def test_a_killed_export_is_completed_by_the_next(finished: HandoffRun, tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = f"""
import time
from pathlib import Path
from scanmix_cli.export.destination import destination
with destination(Path({str(out)!r})) as folder:
    (folder / "images").mkdir()
    (folder / "images" / "half.png").write_bytes(b"half")
    print("writing", flush=True)
    time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"writing\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert [path.name for path in out.iterdir()] == [STAGING]
    assert export_run(finished.folder, "csv", out).rows == 9
    assert sorted(path.name for path in out.iterdir()) == ["images", "labels.csv", "manifest.csv"]
    assert not (out / "images" / "half.png").exists()


def test_an_export_killed_while_its_entries_move_up_is_completed(finished: HandoffRun, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / STAGING).mkdir(parents=True)
    (out / "images").mkdir()
    (out / "images" / "old.png").write_bytes(b"old")
    export_run(finished.folder, "csv", out)
    assert not (out / "images" / "old.png").exists()
    assert len(list((out / "images").iterdir())) == 9


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 KiB: less than the pictures, more than a table."""
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(mount)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can only be mounted by root, and not in every container")
    yield mount
    for _ in range(20):
        if not subprocess.run(["umount", str(mount)], capture_output=True, check=False).returncode:
            return
        time.sleep(0.1)


@pytest.mark.parametrize("inside", ["", "out"])
def test_a_full_disk_gives_one_sentence_and_leaves_nothing(
    finished: HandoffRun, small_disk: Path, inside: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = small_disk / inside
    with pytest.raises(SystemExit) as stopped:
        main(["export", "--run", str(finished.folder), "--to", "csv", "--out", str(out)])
    assert stopped.value.code == 3
    assert capsys.readouterr().err == (
        f"scanmix: the export to {out} stopped (No space left on device), and nothing of it is left: "
        "free some space or choose another folder\n"
    )
    assert list(small_disk.iterdir()) == []


def test_a_table_that_does_not_fit_is_such_a_sentence_too(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="could not be written"), destination(tmp_path / "out"):
        raise RunError("labels.csv could not be written (No space left on device): free some space")
    assert not (tmp_path / "out").exists()


def test_only_and_confidence_choose_the_rows(finished: HandoffRun, tmp_path: Path) -> None:
    report = report_table()
    paths = ["x"] * len(report)

    def rows(only: str, confidence: float | None = None) -> list[int]:
        return [item.row for item in choose_items(report, paths, only, confidence)]

    assert rows("keep") == [0, 1, 2, 3, 5, 6, 8, 11, 12]
    assert rows("suspects") == [1, 5, 9]
    assert rows("all") == [0, 1, 2, 3, 5, 6, 7, 8, 9, 11, 12]
    assert rows("keep", 0.8) == [0, 1, 2, 6, 8, 11, 12]  # held-out rows stay: nobody judged them
    with pytest.raises(SettingsError, match="--only 'some' is unknown; choose one of keep, suspects, all"):
        rows("some")
    with pytest.raises(SettingsError, match=r"--min-confidence is 80\.0: give a probability between 0 and 1"):
        rows("keep", 80.0)
    with pytest.raises(DataError, match="no row fits the choice"):
        export_run(finished.folder, "csv", tmp_path / "out", only="suspects", min_confidence=1.0)
    for option, wrong in (("to", "zip"), ("link", "soft")):
        options = {"to": "csv", "link": "copy", option: wrong}
        with pytest.raises(SettingsError, match=f"--{option} '{wrong}' is unknown; choose one of"):
            export_run(finished.folder, out=tmp_path / "out", **options)


def test_decisions_outweigh_the_run(own_run: HandoffRun, tmp_path: Path) -> None:
    with open_decisions(own_run.folder) as log:
        log.record_all(
            [
                Choice(0, "01/a b.png", "drop"),
                Choice(1, "01/ünï.png", "keep"),
                Choice(7, "loose/u2.png", "relabel", "new class"),
                Choice(9, "of another run", "keep"),
            ],
            who="ada",
            source="review",
        )
    export_run(own_run.folder, "imagefolder", tmp_path / "out", min_confidence=0.99)
    exported = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.png"))
    assert exported == ["test/NA/t.png", "train/01/ünï.png", "train/new class/u2.png"]


def test_onnx_is_a_layout_of_its_own(
    finished: HandoffRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["export", "--run", str(finished.folder), "--to", "onnx", "--json", "--out"]
    with pytest.raises(SystemExit) as stopped:
        main([*command, str(tmp_path / "model")])
    assert stopped.value.code == 0
    assert json.loads(capsys.readouterr().out)["to"] == "onnx"
    names = {path.name for path in (tmp_path / "model").iterdir()}
    assert names == {"model.json", "model.safetensors", "model.onnx"}
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(SystemExit) as stopped:
        main([*command, str(tmp_path / "none")])
    assert stopped.value.code == 3
    assert "the package onnx is missing: `pip install onnx`" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_python_takes_text_for_paths_and_writes_onnx(own_run: HandoffRun, tmp_path: Path) -> None:
    moved = own_run.data.rename(own_run.data.with_name("moved"))
    run = load_run(str(own_run.folder))
    assert run.export("csv", str(tmp_path / "out"), root=str(moved)).rows == 9
    done = run.export("onnx", str(tmp_path / "network"))
    assert (done.folder, done.rows) == (tmp_path / "network", 0)
    assert (tmp_path / "network/model.onnx").is_file()


def test_the_answer_as_json(finished: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as stopped:
        main(["export", "--run", str(finished.folder), "--to", "csv", "--out", str(out), "--json"])
    assert stopped.value.code == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == {
        "run": str(finished.folder), "out": str(out), "to": "csv", "rows": 9, "gone": [], "unreadable": [],
    }  # fmt: skip
    assert told.err == f"9 images written to {out}\n"


def test_a_run_with_decisions_is_not_overwritten(own_run: HandoffRun) -> None:
    """Somebody's work is in there."""
    with open_decisions(own_run.folder) as log:
        log.record(Choice(0, "01/a b.png", "drop"), who="ada", source="review")
    with pytest.raises(SettingsError, match=r"decisions\.sqlite"):
        check_free(own_run.folder, overwrite=True, resume=False)
