"""The script behind docs/results/cifar10.*, on made-up cells."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "cifar10_table.py"
ASKED = (
    *("noise", "rate", "method", "seed", "last", "best", "recovery", "auroc", "minutes", "device", "date", "command"),
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cifar10_table", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def put(folder: Path, script: ModuleType, **values: Any) -> dict[str, Any]:
    """A finished cell in `folder/cells`, with everything that a cell has."""
    cell: dict[str, Any] = dict.fromkeys(script.KEYS)
    cell |= {"dataset": "cifar10", "noise": "sym", "rate": 0.9, "method": "scanmix", "seed": 0, "recipe": "dividemix"}
    cell |= {"last": 0.8, "best": 0.81, "auroc": 0.95, "realised_rate": 0.8079, "minutes": 7.5, "time_budget": 200.0}
    cell |= {"device": "toy", "date": "2026-11-28T03:00:00Z", "command": "scanmix bench cifar10 --rate 0.9"}
    cell |= {"profile": "auto", "backbone": "small", "epochs": 60, "supervised_epochs": 60, "pretrain_epochs": 120}
    cell |= {"images": "non-canonical", "fingerprint": "abc", "versions": {"torch": "2.11"}, **values}
    cell["key"] = f"{cell['noise']}-{cell['rate']}-{cell['method']}-{cell['seed']}"
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    (folder / "cells" / f"{cell['key']}.json").write_text(json.dumps(cell))
    return cell


def test_cells_of_several_folders_become_one_list_and_one_table(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "a", script, noise="none", rate=0.0, method="cross-entropy", last=0.9, realised_rate=0.0)
    put(tmp_path / "a", script, seed=1, last=0.82)
    put(tmp_path / "a", script, last=0.5)
    put(tmp_path / "b", script, last=0.8, date="2026-11-28T04:00:00Z", commit="beef")  # the same cell, run again
    put(tmp_path / "b", script, noise="human-worst", rate=None, method="dividemix", recipe="published")
    put(tmp_path / "b", script, dataset="cifar100", noise="asym")
    script.main([str(tmp_path / "a"), str(tmp_path / "b"), "--commit", "cafe", "--out", str(tmp_path / "out")])
    assert capsys.readouterr().out == f"4 cells in {tmp_path}/out/cifar10.json and .md\n"
    cells = json.loads((tmp_path / "out" / "cifar10.json").read_text())
    assert [(cell["noise"], cell["method"], cell["seed"]) for cell in cells] == [
        ("none", "cross-entropy", 0),
        ("sym", "scanmix", 0),
        ("sym", "scanmix", 1),
        ("human-worst", "dividemix", 0),
    ]
    assert all(tuple(cell)[: len(ASKED)] == ASKED for cell in cells)
    assert [cell["recovery"] for cell in cells] == pytest.approx([1.0, 0.8 / 0.9, 0.82 / 0.9, 0.8 / 0.9])
    assert {cell["ceiling_from"] for cell in cells} == {"measured with the same budget"}
    assert [cell["commit"] for cell in cells] == ["cafe", "beef", "cafe", "cafe"]
    text = (tmp_path / "out" / "cifar10.md").read_text()
    assert "- ceiling 90.00 %, measured with the same budget\n" in text
    assert "| scanmix | 0 | 80.00 | 81.00 | 0.889 | 0.950 | - | - | - | 7.5 | 200 s | toy | 2026-11-28 | beef |" in text
    assert "| scanmix, mean of 2 | - | 81.00 ± 1.41 | - | - | 0.950 ± 0.000 |" in text
    assert "| ScanMix (ScanMix, Sachdeva et al. 2023, arXiv 2103.11395) | - | 90.3 | 91.0 | 0.953 |" in text
    assert "## human-worst\n\nRealised share of wrong labels: 0.8079.\n" in text
    assert text.count("scanmix bench cifar10 --rate 0.9\n") == 1


def test_which_ceiling_is_used_is_said(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path, script, last=0.81)
    (cell,) = script.completed(script.collect([tmp_path]), None)
    assert (cell["ceiling"], cell["ceiling_from"], cell["recovery"]) == (None, None, None)
    (cell,) = script.completed(script.collect([tmp_path]), 0.9)
    assert (cell["ceiling"], cell["ceiling_from"], cell["recovery"]) == (0.9, "given", pytest.approx(0.9))
    clean = {"noise": "none", "rate": 0.0, "method": "cross-entropy"}
    put(tmp_path, script, **clean, last=0.85, time_budget=600.0)
    cell = script.completed(script.collect([tmp_path]), 0.9)[1]
    assert (cell["ceiling"], cell["ceiling_from"]) == (0.85, "measured with another profile, budget or schedule")
    script.main([str(tmp_path), "--out", str(tmp_path / "out")])
    text = (tmp_path / "out" / "cifar10.md").read_text()
    other = "measured with another profile, budget or schedule"
    assert f"- ceiling 85.00 %, measured with the same budget or {other}\n" in text


def test_nothing_to_tell(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"cifar10_table: no finished cell of cifar10 in .*: name results folders"):
        script.main([str(tmp_path)])


def test_cells_of_an_earlier_list_stay_until_they_are_measured_anew(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path / "a", script, last=0.7)
    put(tmp_path / "a", script, noise="none", rate=0.0, method="cross-entropy", last=0.9)
    script.main([str(tmp_path / "a"), "--commit", "old", "--out", str(tmp_path)])
    put(tmp_path / "b", script, last=0.8)
    put(tmp_path / "b", script, last=0.6, seed=1, profile="official, twice")
    earlier = tmp_path / "cifar10.json"
    script.main([str(tmp_path / "b"), "--earlier", str(earlier), "--commit", "new", "--out", str(tmp_path)])
    cells = json.loads(earlier.read_text())
    assert [(cell["last"], cell["commit"]) for cell in cells] == [(0.9, "old"), (0.8, "new"), (0.6, "new")]
    assert [cell["ceiling"] for cell in cells] == [0.9, 0.9, 0.9]
    assert "| scanmix, official, twice | 1 | 60.00 |" in (tmp_path / "cifar10.md").read_text()


def test_an_earlier_cell_of_another_budget_stays(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path / "a", script, profile="fast", last=0.7, time_budget=0.0)
    put(tmp_path / "a", script, profile="fast", last=0.6, seed=1, time_budget=0.0)
    script.main([str(tmp_path / "a"), "--out", str(tmp_path)])
    put(tmp_path / "b", script, profile="fast", last=0.8, time_budget=0.0)
    put(tmp_path / "b", script, profile="fast", last=0.5, seed=1, time_budget=150.0)
    earlier = tmp_path / "cifar10.json"
    script.main([str(tmp_path / "b"), "--earlier", str(earlier), "--out", str(tmp_path)])
    cells = json.loads(earlier.read_text())
    assert [(cell["seed"], cell["last"]) for cell in cells] == [(0, 0.8), (1, 0.6), (1, 0.5)]


def test_an_earlier_list_that_is_none(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path, script)
    expected = "no.json is no list of cells .*: name a cifar10.json that this script wrote"
    with pytest.raises(SystemExit, match=expected):
        script.main([str(tmp_path), "--earlier", str(tmp_path / "no.json")])


def test_a_changed_profile_is_named_beside_its_method(script: ModuleType, tmp_path: Path) -> None:
    put(tmp_path, script, profile="fast, as published, two")
    script.main([str(tmp_path), "--out", str(tmp_path)])
    assert "| scanmix, as published, two | 0 | 80.00 |" in (tmp_path / "cifar10.md").read_text()
