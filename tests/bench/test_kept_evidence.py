"""Evidence kept beside a cell can be judged again, and says the same."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from test_bench_run import request
from toy_sets import write_folder

from scanmix_cli.bench import runner
from scanmix_cli.bench.kept_evidence import load_cell_evidence
from scanmix_cli.engine.progress import Silent
from scanmix_cli.errors import DataError
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.evidence.verdicts import judge


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cells of two methods, of which scanmix has neighbours and cross-entropy has none."""
    root = tmp_path_factory.mktemp("kept")
    write_folder(root / "own", per_class=8, held_out=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "draw_all", lambda *_: [])
        runner.run_bench(request(root, ("cross-entropy", "scanmix")), Silent())
    return root / "out" / "cells"


@pytest.mark.parametrize("method", ["cross-entropy", "scanmix"])
def test_judging_the_kept_evidence_gives_the_verdicts_of_the_run(cells: Path, method: str) -> None:
    (path,) = cells.glob(f"*-{method}-seed0-*.npz")
    evidence, given, clean, neighbors = load_cell_evidence(path)
    assert (neighbors is None) == (method == "cross-entropy")
    assert clean is not None
    assert clean.tolist() == np.repeat(np.arange(3), 8).tolist()
    assert isinstance(evidence.observations, int)
    assert (given.dtype, clean.dtype) == (np.int64, np.int64)
    verdicts = judge(evidence, given, neighbors)
    with np.load(path) as archive:
        assert verdicts.p_mislabeled == pytest.approx(archive["p_mislabeled"], abs=1e-5)
        assert verdicts.suggested.tolist() == archive["suggested"].tolist()
        assert {f"evidence.{field.name}" for field in fields(Evidence)} <= set(archive.files)
        assert not any(archive[name].dtype == np.float64 for name in archive.files)


def test_cells_of_before_evidence_knew_of_settled_votes_courses_of_losses_and_single_networks_are_read(
    cells: Path, tmp_path: Path
) -> None:
    later = {f"evidence.{name}" for name in ("clusters", "loss_history", "disagreements")}
    (path,) = cells.glob("*-scanmix-seed0-*.npz")
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name not in later}
    np.savez(tmp_path / "old.npz", **arrays)
    evidence, given, _, neighbors = load_cell_evidence(tmp_path / "old.npz")
    assert evidence.clusters == len(evidence.loss_history) == len(evidence.disagreements) == 0
    assert judge(evidence, given, neighbors).p_mislabeled == pytest.approx(arrays["p_mislabeled"], abs=1e-5)


def test_a_cell_without_evidence_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", given=np.zeros(3))
    with pytest.raises(DataError, match=r"a\.npz holds no observations, .* of the evidence: run the cell again"):
        load_cell_evidence(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(b"text")
    with pytest.raises(DataError, match=r"b\.npz cannot be read .*: name the \.npz file of a finished cell"):
        load_cell_evidence(tmp_path / "b.npz")
