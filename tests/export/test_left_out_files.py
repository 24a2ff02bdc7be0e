"""Originals that are gone or cannot be read any more are left out of an export and named."""

import json
from pathlib import Path

import pytest
from handoff_run import HandoffRun

from scanmix_cli.cli.app import main
from scanmix_cli.errors import DataError
from scanmix_cli.files import write_toml
from scanmix_cli.workflow.handoff import export_run


def test_originals_that_are_gone_are_named_and_left_out(
    own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_run.data / "01/ünï.png").unlink()
    done = export_run(own_run.folder, "csv", tmp_path / "out")
    assert (done.rows, done.gone) == (8, ["01/ünï.png"])
    assert "ünï" not in (tmp_path / "out/labels.csv").read_text(encoding="utf-8")
    assert export_run(own_run.folder, "embeddings", tmp_path / "vectors", device="cpu").gone == ["01/ünï.png"]
    own_run.data.rename(own_run.data.with_name("moved"))
    for layout in ("csv", "embeddings"):
        with pytest.raises(DataError, match=r"^none of the \d+ images is where it was, .*--root$"):
            export_run(own_run.folder, layout, tmp_path / "none", device="cpu")
    assert not (tmp_path / "none").exists()
    assert export_run(own_run.folder, "csv", tmp_path / "again", root=own_run.data.with_name("moved")).rows == 8


def cut_short(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])


@pytest.mark.parametrize("layout", ["cleanlab", "embeddings"])
def test_files_cut_short_are_used_where_the_run_used_them(own_run: HandoffRun, tmp_path: Path, layout: str) -> None:
    cut_short(own_run.data / "01/ünï.png", 0.6)
    done = export_run(own_run.folder, layout, tmp_path / "skipped", device="cpu")
    assert (done.gone, done.unreadable) == ([], ["01/ünï.png"])
    write_toml(own_run.folder / "config.toml", {"run": {"truncated": "use"}})
    used = export_run(own_run.folder, layout, tmp_path / "used", device="cpu")
    assert (used.rows, used.gone, used.unreadable) == (done.rows + 1, [], [])


def test_what_cannot_be_read_any_more_is_not_called_gone(
    own_run: HandoffRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_run.data / "01/a b.png").unlink()
    cut_short(own_run.data / "01/ünï.png", 0.6)
    command = ["export", "--run", str(own_run.folder), "--to", "embeddings", "--device", "cpu", "--json", "--out"]
    with pytest.raises(SystemExit) as stopped:
        main([*command, str(tmp_path / "out")])
    assert stopped.value.code == 0
    told = capsys.readouterr()
    assert told.err.splitlines()[:2] == [
        "1 image left out, which is gone: '01/a b.png'",
        "1 image left out, which cannot be read: '01/ünï.png'",
    ]
    answer = json.loads(told.out)
    assert (answer["gone"], answer["unreadable"]) == (["01/a b.png"], ["01/ünï.png"])
    for path in own_run.data.rglob("*.*"):
        path.write_bytes(b"no picture")
    (own_run.data / "01/bare").write_bytes(b"")
    with pytest.raises(DataError, match=r"^none of the 11 images can be read, such as .*\.png \(ERROR_CORRUPT_IMAGE\)"):
        export_run(own_run.folder, "embeddings", tmp_path / "none", device="cpu")
