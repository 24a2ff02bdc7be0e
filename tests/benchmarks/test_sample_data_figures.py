"""The figures behind the README's table, on rows counted by hand."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "sample_data.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_sample_data", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def test_truth_is_keyed_like_the_report(benchmark: ModuleType) -> None:
    truth = benchmark.read_truth(benchmark.DIGITS)
    labels = benchmark.read_text_table(benchmark.DIGITS / "labels.csv").set_index("file_name")["label"]
    assert len(truth) == 1200
    assert (labels[truth.index] != truth).sum() == 240


def test_figures_against_counting_by_hand(benchmark: ModuleType) -> None:
    truth = pd.Series({"train/0/a": "0", "train/0/b": "1", "train/1/c": "1", "train/1/d": "0"})
    report = pd.DataFrame(
        {
            "filename": ["test/0/x", "test/1/y", *truth.index],
            "split": ["test", "test", *["train"] * 4],
            "given_label": ["0", "1", "0", "0", "1", "1"],
            "predicted_label": ["0", "0", "0", "1", "1", "1"],
            "p_mislabeled": ["", "", "0.1", "0.9", "0.5", "0.3"],  # one of the four pairs in the wrong order
        }
    )
    cleaned = pd.DataFrame({"file_name": ["train/0/a", "train/0/b", "train/1/d"], "label": ["0", "1", "1"]})
    found = benchmark.figures(report, cleaned, truth)
    assert (found.auroc, found.rows_right, found.accuracy) == (0.75, 0.5, 0.5)


def test_table_gives_mean_and_worst(benchmark: ModuleType) -> None:
    runs = [benchmark.Figures(0.9, 0.8, 0.7), benchmark.Figures(1.0, 0.6, 0.9)]
    text = benchmark.table({"scanmix": runs, "cross-entropy": runs[:1]})
    assert "| label-error AUROC | 0.9500 | 0.9000 | 0.9000 | 0.9000 |" in text
    assert "| test accuracy | 0.8000 | 0.7000 | 0.7000 | 0.7000 |" in text
    assert len({line.count("|") for line in text.splitlines()}) == 1
