"""About 300 files with everything mixed, through the commands: every row comes out with the right verdict or code."""

import csv
import json
import os
from pathlib import Path

import pytest
from mixed_table import assert_equal
from torture_set import CLASS_NAMES, EMPTY_CLASS, ONE_IMAGE_CLASS, Expected, write_torture_set

from scanmix_cli.cli.app import main
from scanmix_cli.data import decode_many
from scanmix_cli.data.decode import read_content
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.risk import is_calm
from scanmix_cli.data.sources import read_samples
from scanmix_cli.report.spreadsheet import restored


@pytest.fixture(scope="module")
def torture(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Expected]:
    folder = tmp_path_factory.mktemp("torture")
    return folder, write_torture_set(folder / "set")


@pytest.fixture(autouse=True)
def own_places(torture: tuple[Path, Expected], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(torture[0] / "cache"))
    monkeypatch.chdir(torture[0])


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Exit code and standard output of the command."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0), capsys.readouterr().out


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return [{name: restored(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def test_set_is_as_large_and_as_bad_as_said(torture: tuple[Path, Expected]) -> None:
    _, expected = torture
    assert 290 <= len(expected.rows) + expected.ignored <= 310
    assert set(expected.codes()) == {
        *("ERROR_MISSING_FILE", "ERROR_ZERO_SIZE_FILE", "ERROR_CORRUPT_IMAGE"),
        *("ERROR_TRUNCATED_IMAGE", "ERROR_TOO_LARGE", "ERROR_UNSUPPORTED"),
    }


def test_check_counts_and_names_everything(torture: tuple[Path, Expected], capsys: pytest.CaptureFixture[str]) -> None:
    _, expected = torture
    code, out = run(capsys, "check", "set", "--json", "--out", "bad.csv")
    assert code == 0
    found = json.loads(out)
    assert found["trainable"] is True
    assert found["rows"] == len(expected.rows)
    assert found["bad_files"] == expected.codes()
    assert sum(found["ignored"].values()) == expected.ignored
    assert [entry["name"] for entry in found["classes"]] == sorted((*CLASS_NAMES, EMPTY_CLASS, ONE_IMAGE_CLASS))
    for entry in found["classes"]:
        fates = [(split, code) for label, split, code in expected.rows.values() if label == entry["name"]]
        assert entry["train"] == fates.count(("train", "VALID"))
        assert entry["held_out"] == fates.count(("val", "VALID"))
    assert (found["copies"]["sets"], found["copies"]["images"]) == (2, 6)
    assert (found["copies"]["conflicts"], found["copies"]["leaks"]) == (1, 2)
    assert found["near_copies"]["examples"] == [
        ["10: train/10/stored anew 2.jpg", "10: train/10/stored anew.jpg"],
    ]
    bad = [(name, code) for name, (_, _, code) in expected.rows.items() if code != "VALID"]
    assert [(row["filename"], row["error_code"]) for row in table(Path("bad.csv"))] == bad
    assert all(row["message"] for row in table(Path("bad.csv")))


def test_train_report_and_export_keep_every_row(
    torture: tuple[Path, Expected], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, expected = torture
    Path("settings.toml").write_text("[profile.warmup]\nepochs = 2\n[profile.scan]\nepochs = 1\n")
    short = ("--time-budget", "4s", "--epochs", "1", "--pretrain-epochs", "1", "--config", "settings.toml")
    code, out = run(capsys, "train", "set", "--out", "run", "--device", "cpu", "--json", *short)
    assert code == 0
    rows = table(Path("run/report.csv"))
    assert [row["filename"] for row in rows] == list(expected.rows)
    for row, (label, split, code) in zip(rows, expected.rows.values(), strict=True):
        assert (row["given_label"], row["split"], row["error_code"]) == (label, split, code)
        assert bool(row["predicted_label"]) == (code == "VALID")
        assert bool(row["label_score"]) == bool(row["rank"]) == (code == "VALID" and split == "train")
    counts = json.loads(out)["counts"]
    assert counts["unreadable"] == sum(expected.codes().values())
    bad = [(name, code) for name, (_, _, code) in expected.rows.items() if code != "VALID"]
    assert [(row["filename"], row["error_code"]) for row in table(Path("run/bad_files.csv"))] == bad
    log = Path("run/log.txt").read_text()
    assert f"warning: {counts['unreadable']} of {len(rows)} files cannot be read (ERROR_CORRUPT_IMAGE 5, " in log
    assert "warning: 1 set of copies with more than one label, such as 1: train/1/conflict.png = cat: " in log
    assert "warning: 2 held-out images with copies in the training part" in log
    assert log.index("cannot be read") < log.index("simclr starts")

    code, _ = run(capsys, "report", "--run", "run", "--all", "--out", "all.csv")
    assert code == 0
    assert sorted(row["filename"] for row in table(Path("all.csv"))) == sorted(expected.rows)

    code, _ = run(capsys, "export", "--run", "run", "--to", "imagefolder", "--only", "all", "--out", "clean")
    assert code == 0
    exported = [name for name in (folder / "clean").rglob("*") if name.is_file() and name.suffix != ".csv"]
    readable = [name for name, (_, split, code) in expected.rows.items() if code == "VALID"]
    assert len(exported) == len(readable)
    contents = sorted(path.read_bytes() for path in exported)
    assert contents == sorted((folder / "set" / name).read_bytes() for name in readable)
    assert not any(os.path.islink(path) for path in exported)


@pytest.mark.parametrize("truncated", ["skip", "use"])
def test_processes_for_many_files_change_nothing(
    torture: tuple[Path, Expected], monkeypatch: pytest.MonkeyPatch, truncated: str
) -> None:
    samples = read_samples(Path("set"))
    expected = load_pixels(samples, 8, workers=1, cache_dir=None, truncated=truncated)
    assert len(expected.warnings) > 0
    asked: list[str] = []

    def read(path: str) -> bytes:
        asked.append(path)
        data = read_content(path)
        assert not is_calm(data)
        return data

    monkeypatch.setattr(decode_many, "MANY", 1)
    monkeypatch.setattr(decode_many, "read_content", read)
    assert_equal(expected, load_pixels(samples, 8, workers=3, cache_dir=None, truncated=truncated))
    assert 0 < len(asked) < len(samples.table) / 2
