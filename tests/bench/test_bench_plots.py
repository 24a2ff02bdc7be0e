"""Figures of a results folder, drawn from made-up cells."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scanmix_cli.bench import plots, runner
from scanmix_cli.bench.compare import SETTINGS

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
    pytest.importorskip("matplotlib", reason="plots need the extra bench")
    rows = "stage,epoch,test_accuracy,clean_precision,clean_recall\nwarmup,1,0.3,,\nscanmix,1,0.5,0.9,0.4\n"
    paths = plots.draw_all(tmp_path, make(tmp_path, evidence(), rows))
    kinds = ("accuracy", "clean-set", "reliability", "loss-scanmix-seed-0")
    stem = "toy-sym-0.4-12345678"
    assert {path.name for path in paths} == {f"{stem}-{kind}.{end}" for kind in kinds for end in ("png", "svg")}
    for path in paths:
        start = path.read_bytes()[:100]
        assert start.startswith(b"\x89PNG") if path.suffix == ".png" else b"<?xml" in start


def test_the_mixture_is_drawn_over_both_kinds_of_labels(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need the extra bench")
    (axes,) = plots.loss_histogram(evidence(), "scanmix").axes
    low, high = axes.lines
    assert (low.get_label(), high.get_label()) == ("clean, fitted", "noisy, fitted")
    peaks = [line.get_xdata()[np.argmax(line.get_ydata())] for line in (low, high)]
    assert peaks == pytest.approx([0.2, 2.0], abs=0.1)
    assert {text.get_text() for text in axes.get_legend().get_texts()} >= {"right labels", "wrong labels"}


def test_without_truth_or_values_there_is_no_figure() -> None:
    pytest.importorskip("matplotlib", reason="plots need the extra bench")
    assert plots.loss_histogram({"given": np.zeros(3)}, "scan") is None
    assert plots.reliability_diagram({"scan": {}}) is None
    assert plots.curves({"scan": [{"stage": "scan"}]}, {"test_accuracy": "-"}, "test accuracy") is None


def test_without_matplotlib_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_bench_run import Heard, request
    from toy_sets import write_folder

    write_folder(tmp_path / "own", per_class=2, held_out=1)
    monkeypatch.setattr(runner, "can_draw", lambda: False)
    heard = Heard()
    runner.run_bench(request(tmp_path, ("cross-entropy",)), heard)
    assert heard.texts[-1] == "no plots: matplotlib is not installed; pip install scanmix-cli[bench]"
    assert not (tmp_path / "out" / "plots").exists()
