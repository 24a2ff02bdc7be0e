"""The script behind docs/results/cifar10_stages.md, on made-up cells."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
METRICS = """stage,epoch,seconds,knn_accuracy,test_accuracy,clean_precision,clean_recall
neighbors,1,2,0.772,,,
scan,1,2,,0.3,,
warmup,1,2,,0.6,,
warmup,2,2,,0.7,,
scanmix,1,2,,0.71,0.9,0.4
scanmix,2,2,,0.72,0.8,0.5
scanmix,3,2,,0.73,0.7,0.6
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("stage_figures")


def put(folder: Path, metrics: str | None, **values: Any) -> None:
    cell = {"dataset": "cifar10", "noise": "sym", "rate": 0.9, "method": "scanmix", "seed": 0, "last": 0.725}
    cell |= {"date": "2026-11-28T03:00:00Z", "minutes": 6.25, "profile": "auto", **values}
    cell["key"] = f"{cell['method']}-{cell['seed']}"
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    (folder / "cells" / f"{cell['key']}.json").write_text(json.dumps(cell))
    if metrics is not None:
        (folder / "cells" / f"{cell['key']}.metrics.csv").write_text(metrics)


def test_stages_and_curve(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path, METRICS)
    put(tmp_path, "stage,epoch,seconds\nscan,1,2\n", method="scan", last=0.65)
    script.main([str(tmp_path), "--every", "2", "--out", str(tmp_path / "page.md")])
    lines = (tmp_path / "page.md").read_text().splitlines()
    assert "| sym 0.9 | scanmix | 0 | 77.20 | 65.00 | 70.00 | 3 | 72.50 | 6.2 | 2026-11-28 |" in lines
    assert "| sym 0.9 | scan | 0 | - | 65.00 | - | - | 65.00 | 6.2 | 2026-11-28 |" in lines
    curve = [line.strip("| ").split(" | ") for line in lines[-3:]]
    rows = [("1", "0.900", "0.400", "71.00"), ("2", "0.800", "0.500", "72.00"), ("3", "0.700", "0.600", "73.00")]
    assert curve == [list(row) for row in rows]


def test_a_cell_without_metrics_is_said_in_one_sentence(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path, None)
    with pytest.raises(SystemExit) as ended:
        script.main([str(tmp_path), "--out", str(tmp_path / "page.md")])
    expected = f"stage_figures: scanmix-0 has no metrics in {tmp_path}: name the folder that its run wrote"
    assert str(ended.value) == expected


def test_the_curve_of_a_run_that_was_stopped(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path, "stage,epoch,seconds\nscan,1,2\n", method="scan", last=0.65)
    (tmp_path / "left.csv").write_text(METRICS)
    page = tmp_path / "page.md"
    script.main([str(tmp_path), "--out", str(page), "--unfinished", str(tmp_path / "left.csv"), "official, 3 of 4"])
    lines = page.read_text().splitlines()
    assert lines[-6] == "## official, 3 of 4"
    assert lines[-1] == "| 3 | 0.700 | 0.600 | 73.00 |"


def test_metrics_without_an_em_loop(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path, METRICS)
    (tmp_path / "other.csv").write_text("stage,epoch\nscanmix,1\n")
    with pytest.raises(SystemExit, match=r"other.csv holds no metrics of an EM loop \('clean_precision'\): name a me"):
        script.main([str(tmp_path), "--out", str(tmp_path / "p.md"), "--unfinished", str(tmp_path / "other.csv"), "t"])
