"""The main job on the sample data, from the command line to the figures that the README promises."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from scanmix_cli.cli.app import main

REPOSITORY = Path(__file__).resolve().parents[2]


def test_the_wrong_digits_are_found_and_the_classifier_is_not_spoiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    spec = importlib.util.spec_from_file_location("benchmark_on_digits", REPOSITORY / "benchmarks" / "sample_data.py")
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = benchmark  # dataclasses look their module up there
    spec.loader.exec_module(benchmark)

    with pytest.raises(SystemExit) as stopped:
        main(["train", str(benchmark.DIGITS), "--out", "run", "--device", "cpu", "--no-html", "-q"])
    assert not stopped.value.code

    truth = benchmark.read_truth(benchmark.DIGITS)
    report = benchmark.read_text_table(Path("run/report.csv"))
    found = benchmark.figures(report, benchmark.read_text_table(Path("run/cleaned.csv")), truth)
    assert found.auroc >= 0.97
    assert found.rows_right >= 0.95
    assert found.accuracy >= 0.93
    rate = json.loads(Path("run/summary.json").read_text(encoding="utf-8"))["noise_rate"]
    assert rate["low"] <= 0.2 <= rate["high"]
