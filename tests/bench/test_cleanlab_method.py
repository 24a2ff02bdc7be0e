"""cleanlab as a method: what it is given and what becomes of its answer. A stand-in takes cleanlab's place."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from test_bench_run import request
from toy_sets import write_folder

from scanmix_cli.bench import cleanlab_method
from scanmix_cli.bench.runner import run_bench
from scanmix_cli.engine.progress import Silent


def test_cleanlab_judges_out_of_fold_probabilities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, np.ndarray] = {}

    def find(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        given.update(labels=labels, probabilities=probabilities)
        return np.arange(len(labels)) < 9

    def quality(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        return np.linspace(0, 1, len(labels))

    stand_in = (SimpleNamespace(find_label_issues=find), SimpleNamespace(get_label_quality_scores=quality))
    for module in ("cleanlab_method", "runner"):
        monkeypatch.setattr(f"scanmix_cli.bench.{module}.require_cleanlab", lambda: stand_in)
    write_folder(tmp_path / "own")
    (cell,) = run_bench(request(tmp_path, ("cleanlab",)), Silent())
    assert np.array_equal(given["labels"], np.load(tmp_path / "out" / cell["label_file"]))
    assert given["probabilities"].shape == (36, 3)
    assert given["probabilities"].sum(1) == pytest.approx(np.ones(36), abs=1e-5)
    assert cell["flagged_share"] == 0.25
    assert cell["noise_rate_estimate"] == 0.25
    assert cell["last"] is not None
    assert {"folds", "cross-entropy"} <= cell["seconds"].keys()


def test_real_cleanlab(tmp_path: Path) -> None:
    pytest.importorskip("cleanlab", reason="needs the extra bench")
    filtering, rank = cleanlab_method.require_cleanlab()
    probabilities = np.tile([[0.9, 0.1], [0.1, 0.9]], (10, 1))
    labels = np.tile([0, 1], 10)
    labels[0] = 1
    assert np.flatnonzero(filtering.find_label_issues(labels, probabilities)).tolist() == [0]
    assert rank.get_label_quality_scores(labels, probabilities).argmin() == 0
