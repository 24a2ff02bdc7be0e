"""`import scanmix_cli as scanmix`: clean, load_run, predict."""

import subprocess
import sys
from pathlib import Path

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


def test_api_errors_are_the_sentences_of_the_command(squares: Path) -> None:
    with pytest.raises(DataError, match=r"^nowhere does not exist; check the path$"):
        scanmix.clean("nowhere")
    with pytest.raises(
        SettingsError, match=r"^unknown profile 'x'; choose one of auto, fast, paper, official, webvision, clothing1m$"
    ):
        scanmix.clean(squares, profile="x")
    with pytest.raises(SettingsError, match=r"^options: unknown key 'epoch'; the nearest known key is 'epochs'$"):
        scanmix.clean(squares, epoch=3)
    with pytest.raises(SettingsError, match=r"^--time-budget 'soon' is no duration"):
        scanmix.clean(squares, time_budget="soon")
    with pytest.raises(SettingsError, match=r"^--out data/run lies inside data, where its pictures would be taken for"):
        scanmix.clean("data", out="data/run")
    with pytest.raises(DataError, match=r"^nothing is no run folder: name the folder of a finished run"):
        scanmix.load_run("nothing")


def test_importing_the_package_does_not_load_pytorch() -> None:
    script = "import sys, scanmix_cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
