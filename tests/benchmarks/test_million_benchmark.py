"""The benchmark of a million images reckons whole epochs from parts."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def test_whole_epochs_are_reckoned_from_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    million = importlib.import_module("million")
    assert million.whole(1_000_000, 10_000)["look"] == 100
    assert million.whole(1_000_000, 10_000)["train_semi_supervised"] == pytest.approx(70), "of the clean set"
    assert million.whole(5_000, 10_000)["scan"] == 1, "a set that is smaller than the part is seen whole"
    assert million.whole(5_000, 0)["warmup"] == 1


def test_processor_time_grows_by_an_exponent_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    million = importlib.import_module("million")

    def run(seconds: float, busy: float) -> dict:
        parts = {"judge": {"whole_epoch_seconds": seconds, "processor_seconds": busy, "peak_gb": 1.5}}
        stage = {"simclr": {"whole_epoch_seconds": 2 * seconds, "processor_seconds": 0.0, "peak_gb": 0.0}}
        return {"parts": parts | stage, "seconds": 9.0, "peak_gb": 2.0}

    lines = million.table_of({100: run(6.0, 1.0), 400: run(12.0, 4.0)}).splitlines()
    assert lines[0] == "| part, seconds | 100 | 400 | exponent | of processor time | peak, GB |"
    assert lines[2:4] == ["| judge | 6 | 12 | 0.50 | 1.00 | 1.50 |", "| simclr | 12 | 24 | 0.50 |  |  |"]
