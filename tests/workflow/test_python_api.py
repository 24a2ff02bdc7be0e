"""`import scanmix_cli as scanmix`: clean, load_run, predict."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import scanmix_cli as scanmix
from scanmix_cli.errors import DataError, SettingsError
from scanmix_cli.report.table import REPORT_COLUMNS


def test_clean_returns_the_run_and_says_nothing(
    squares: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="scanmix_cli")
    result = scanmix.clean(squares, out="run", epochs=1, pretrain_epochs=1, device="cpu", seed=3)
    assert capfd.readouterr() == ("", "")
    told = [record.message for record in caplog.records if record.name == "scanmix_cli"]
    assert any(line.startswith("profile ") for line in told)
    assert "scanmix starts, 1 epochs" in told
    assert tuple(result.report.columns) == REPORT_COLUMNS
    assert len(result.report) == 42
    rate = result.noise_rate
    assert 0 <= rate.low <= rate.estimate <= rate.high <= 1
    assert result.summary["seed"] == 3
    image = next((squares / "test" / "red").iterdir())
    again = scanmix.load_run("scanmix-runs/latest").predict([image], device="cpu")
    assert again["filename"].tolist() == [str(image)]
    for one in (image, str(image)):
        assert result.predict(one, device="cpu").equals(again)
    held_out = result.report.set_index("filename")["predicted_label"]
    assert again["predicted_label"].tolist() == [held_out[image.relative_to(squares).as_posix()]]


def test_api_errors_are_the_sentences_of_the_command_on_arguments(squares: Path) -> None:
    with pytest.raises(DataError, match=r"^nowhere does not exist; check the path$"):
        scanmix.clean("nowhere")
    with pytest.raises(
        SettingsError, match=r"^unknown profile 'x'; choose one of auto, fast, paper, official, webvision, clothing1m$"
    ):
        scanmix.clean(squares, profile="x")
    with pytest.raises(SettingsError, match=r"^options: unknown key 'epoch'; the nearest known key is 'epochs'$"):
        scanmix.clean(squares, epoch=3)
    with pytest.raises(SettingsError, match=r"^options: seed must be from 0 to 4294967295; got 4294967296$"):
        scanmix.clean(squares, seed=2**32)
    with pytest.raises(SettingsError, match=r"^`time_budget` 'soon' is no duration"):
        scanmix.clean(squares, time_budget="soon")
    with pytest.raises(SettingsError, match=r"^`out` data/run lies inside data, where its pictures would be taken for"):
        scanmix.clean("data", out="data/run")
    with pytest.raises(DataError, match=r"^nothing is no run folder: name the folder of a finished run"):
        scanmix.load_run("nothing")


def test_advice_names_arguments(squares: Path) -> None:
    Path("run").mkdir()
    Path("run/report.csv").touch()
    with pytest.raises(SettingsError) as settings:
        scanmix.clean(squares, out="run")
    assert str(settings.value) == (
        "run folder run exists already; use `overwrite=True` to replace it, `scanmix train --resume` to go on, or "
        "another `out`"
    )
    for look in ("summary", "noise_rate"):
        with pytest.raises(DataError, match=r"name the folder of a finished run with `run`$"):
            getattr(scanmix.Result(Path("run")), look)
    with pytest.raises(SettingsError, match=r"^`views` is 11: give a number from 1 to 10$"):
        scanmix.Result(Path("run")).predict("a.png", views=11)
    with pytest.raises(SettingsError, match=r"^`to` 'paper' is unknown; choose one of "):
        scanmix.Result(Path("run")).export("paper", "out")
    with pytest.raises(SettingsError, match=r"^`time_budget` 'soon' is no duration"):
        scanmix.ScanMixClassifier(time_budget="soon").fit([*squares.rglob("*.png")][:2], ["a", "b"])


def test_a_file_that_may_not_be_read_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    report = tmp_path / "report.csv"
    report.touch()
    monkeypatch.setattr(pd, "read_csv", refuse)
    with pytest.raises(DataError) as error:
        _ = scanmix.Result(tmp_path).report
    assert str(error.value) == (
        f"{report} cannot be read or written (Permission denied); check the path and its permissions"
    )


def test_options_of_tables_are_arguments(squares: Path) -> None:
    lines = [f"{path.name};{path.parent.name}" for path in sorted((squares / "train").rglob("*.png"))]
    Path("labels.txt").write_text("\n".join(["where;what", *lines, "more;odd;cells"]))
    with pytest.raises(DataError, match=r"or name the separator with `sep`$"):
        scanmix.clean("labels.txt", sep=";", path_column="where", label_column="what")
    Path("labels.txt").write_text("\n".join(["where;what", *lines]))
    with pytest.raises(DataError, match=r"`label_column`$"):
        scanmix.clean("labels.txt", path_column="where")
    with pytest.raises(DataError, match=r"^`root` goes with a table, but "):
        scanmix.clean(squares, root=squares)


def test_importing_the_package_does_not_load_pytorch() -> None:
    script = "import sys, scanmix_cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
