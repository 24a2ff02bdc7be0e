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
