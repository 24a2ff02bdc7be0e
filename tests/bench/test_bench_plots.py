"""Figures of a results folder, drawn from made-up cells."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scanmix_cli.bench import plots
from scanmix_cli.bench.compare import SETTINGS
from scanmix_cli.bench.request import KNOWN_METHODS
from scanmix_cli.errors import DataError

KEY = "toy-sym-0.4-scanmix-seed0-12345678"


def make(out: Path, arrays: dict[str, np.ndarray], metrics: str) -> list[dict[str, Any]]:
    (out / "cells").mkdir(parents=True)
    np.savez(out / "cells" / f"{KEY}.npz", **arrays)  # type: ignore[arg-type]
    (out / "cells" / f"{KEY}.metrics.csv").write_text(metrics)
    named = {"dataset": "toy", "noise": "sym", "rate": 0.4, "method": "scanmix", "seed": 0, "key": KEY}
    return [{**dict.fromkeys(SETTINGS, 0), **named}]


def evidence() -> dict[str, np.ndarray]:
    clean = np.arange(60) % 3
    given = np.where(np.arange(60) < 20, (clean + 1) % 3, clean)
    losses = np.where(given != clean, 2.0, 0.2) + np.random.default_rng(0).normal(0, 0.1, 60)
    return {"clean": clean, "given": given, "p_mislabeled": np.linspace(0, 1, 60), "mean_loss": losses}


def test_four_kinds_of_figures_as_png_and_svg(tmp_path: Path) -> None:
    rows = "stage,epoch,test_accuracy,clean_precision,clean_recall\nwarmup,1,0.3,,\nscanmix,1,0.5,0.9,0.4\n"
    paths = plots.draw_all(tmp_path, make(tmp_path, evidence(), rows))
    kinds = ("accuracy", "clean-set", "reliability", "loss-scanmix-seed-0")
    stem = "toy-sym-0.4-12345678"
    assert {path.name for path in paths} == {f"{stem}-{kind}.{end}" for kind in kinds for end in ("png", "svg")}
    for path in paths:
        start = path.read_bytes()[:100]
        assert start.startswith(b"\x89PNG") if path.suffix == ".png" else b"<?xml" in start


def test_a_damaged_cell_is_told_in_a_sentence(tmp_path: Path) -> None:
    cells = make(tmp_path, evidence(), "stage,epoch\n")
    (tmp_path / "cells" / f"{KEY}.npz").write_bytes(b"PK half of it")
    with pytest.raises(DataError, match=rf"{KEY}.npz is damaged \(.*\): remove it and {KEY}.json, and the cell is run"):
        plots.draw_all(tmp_path, cells)


def test_the_mixture_is_drawn_over_both_kinds_of_labels(tmp_path: Path) -> None:
    (axes,) = plots.loss_histogram(evidence(), "toy: scanmix, seed 0").axes
    low, high = axes.lines
    assert (low.get_label(), high.get_label()) == ("clean, fitted", "noisy, fitted")
    assert low.get_color() != high.get_color()
    peaks = [line.get_xdata()[np.argmax(line.get_ydata())] for line in (low, high)]
    assert peaks == pytest.approx([0.2, 2.0], abs=0.1)
    legend = {text.get_text() for text in axes.get_legend().get_texts()}
    assert legend >= {"right labels (40)", "wrong labels (20)"}


def test_seeds_of_a_method_share_a_colour_and_a_word_in_the_legend() -> None:
    rows = [{"clean_precision": "0.25", "clean_recall": "0.5"}, {"clean_precision": "", "clean_recall": "0.75"}]
    runs = {("scanmix", 0): rows, ("scanmix", 1): rows, ("dividemix", 0): rows}
    precision, recall = plots.curves(runs, {"clean_precision": "precision", "clean_recall": "recall"}, "toy").axes
    assert [line.get_ydata().tolist() for line in precision.lines] == [[25.0]] * 3
    assert [line.get_ydata().tolist() for line in recall.lines] == [[50.0, 75.0]] * 3
    first, second, other = (line.get_color() for line in recall.lines)
    assert first == second != other
    assert [text.get_text() for text in recall.get_legend().get_texts()] == ["scanmix", "dividemix"]


def test_without_truth_or_values_there_is_no_figure() -> None:
    assert plots.loss_histogram({"given": np.zeros(3)}, "scan") is None
    assert plots.reliability_diagram({("scan", 0): {}}, "toy") is None
    assert plots.curves({("scan", 0): [{"stage": "scan"}]}, {"test_accuracy": "accuracy"}, "toy") is None


def test_every_method_has_a_colour_of_its_own() -> None:
    assert plots.COLORS.keys() == set(KNOWN_METHODS)
    assert len(set(plots.COLORS.values())) == len(KNOWN_METHODS)
