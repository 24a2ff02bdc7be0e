"""The benchmarks of the test sets and of open sets: their scores by hand, no training."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from PIL import Image

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(name)


def test_hits_and_public_rankings_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    known_errors = load("known_errors", monkeypatch)
    suspicion = np.linspace(1, 0, 200)
    found = known_errors.scores(suspicion, np.array([0, 9, 10, 60, 199]))
    assert [found[f"first {k}"] for k in (10, 25, 50, 100)] == [2, 3, 3, 4]
    assert found["ap"] == pytest.approx((1 + 2 / 10 + 3 / 11 + 4 / 61 + 5 / 200) / 5, abs=1e-3)
    rankings = known_errors.public_rankings(np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]), np.array([0, 2]))
    assert rankings["public, self-confidence"].tolist() == pytest.approx([0.3, 0.7])
    assert rankings["public, margin"].tolist() == pytest.approx([-0.5, 0.3])


def test_the_first_images_of_a_set_keep_their_own_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_errors = load("known_errors", monkeypatch)
    (tmp_path / "mnist_test").mkdir()
    known = {"mturk_index": np.array([4, 1, 2, 7]), "mturk_is_error": np.array([True, True, False, True])}
    arrays = known | {"pyx": np.eye(10)[:8], "labels": np.arange(8), "images": np.zeros((8, 28, 28), np.uint8)}
    np.savez(tmp_path / "mnist_test" / "mnist_test.npz", **arrays)
    for most, errors in ((None, [1, 4, 7]), (5, [1, 4])):
        data = known_errors.TestSet("mnist", tmp_path, most)
        assert data.errors.tolist() == errors
        assert len(data.public) == (most or 8)
        table = pd.read_csv(data.write(tmp_path / f"first-{most}"))
        assert table["label"].tolist() == list(range(most or 8))
        assert len(list((tmp_path / f"first-{most}" / "images").iterdir())) == (most or 8)


def test_a_finished_run_becomes_a_record_of_its_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two of twelve digits are confirmed to be wrong: the first of the ranking and the last."""
    known_errors = load("known_errors", monkeypatch)
    (tmp_path / "mnist_test").mkdir()
    known = {"mturk_index": np.array([3, 8]), "mturk_is_error": np.array([True, True])}
    arrays = known | {"pyx": np.eye(10)[np.arange(12) % 10], "labels": np.arange(12) % 10}
    np.savez(tmp_path / "mnist_test" / "mnist_test.npz", **arrays, images=np.zeros((12, 28, 28), np.uint8))
    run, record = tmp_path / "run", tmp_path / "detection.json"
    run.mkdir()
    rank = np.array([2, 3, 4, 1, 5, 6, 7, 8, 12, 9, 10, 11])
    columns = {"filename": "x.png", "given_label": "1", "suggested_label": "7", "suggested_action": "keep"}
    report = pd.DataFrame({name: [text] * 12 for name, text in columns.items()})
    report.assign(rank=rank, p_mislabeled=np.round(1 - rank / 16, 1), is_label_issue=rank <= 2).to_csv(
        run / "report.csv", index=False
    )
    summary = {"noise_rate": {"estimate": 0.1, "low": 0.0, "high": 0.2}, "noise_kind": "hardly any", "counts": {}}
    summary |= {
        "profile": "auto",
        "backbone": "small",
        "weights": "",
        "image_size": 28,
        "device": "a CPU",
        "seconds": {},
    }
    (run / "summary.json").write_text(json.dumps(summary))
    record.write_text(json.dumps([{"data": "another"}]))
    options = ["mnist", "--data", str(tmp_path), "--run", str(run), "--record", str(record), "--out", str(tmp_path)]
    known_errors.main([*options, "--time-budget", "9m"])
    other, found = json.loads(record.read_text())
    assert other == {"data": "another"}
    assert found["data"] == "mnist test part, its own labels, from scratch, scanmix"
    assert (found["ap"], found["confirmed_errors"]) == (pytest.approx((1 + 2 / 12) / 2, abs=1e-4), 2)
    assert found["hits"] == {"10": 1, "25": 2, "50": 2, "100": 2}
    assert (found["f1_at_cut"], found["flagged_share"]) == (0.5, pytest.approx(1 / 6, abs=1e-4))
    assert (found["noise_rate"], found["estimated_noise_rate"], found["interval"]) == (0.1667, 0.1, [0.0, 0.2])
    assert found["top"][:2] == [3, 0]
    assert found["command"].startswith("python benchmarks/known_errors.py mnist --data ")
    assert found["command"].endswith(" --seed 0 --time-budget 9m")
    assert (found["device"], len(found["date"])) == ("a CPU", 10)
    assert "| mnist, scanmix | 0.583 |" in capsys.readouterr().out
    known_errors.main([*options, "--images", "12", "--seed", "3"])
    names = [one["data"] for one in json.loads(record.read_text())]
    tried = "mnist test part, its own labels, from scratch, the first 12 images, seed 3, scanmix"
    assert names == ["another", found["data"], tried]
    with pytest.raises(SystemExit):
        known_errors.main([*options, "--images", "9"])
    assert "judges 12 images instead of 9" in capsys.readouterr().err


def test_the_sheet_frames_confirmed_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_errors = load("known_errors", monkeypatch)
    Image.new("RGB", (8, 8), "blue").save(tmp_path / "blue.png")
    cells = {"filename": str(tmp_path / "blue.png"), "given_label": "a", "suggested_label": "b", "p_mislabeled": "0.9"}
    report = pd.DataFrame([cells | {"rank": "2"}, cells | {"rank": "1"}, cells | {"rank": ""}])
    known_errors.sheet(report, np.array([0]), tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as picture:
        first, second = picture.getpixel((1, 1)), picture.getpixel((known_errors.EDGE + 7, 1))
    assert (first, second) == ((255, 255, 255), (255, 0, 0))


def test_open_set_figures_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    open_set = load("open_set", monkeypatch)
    kinds = np.array(["right", "right", "wrong", "wrong", "no known class", "no known class"], dtype=object)
    report = pd.DataFrame(
        {
            "outlier_score": ["0.9", "0.8", "0.7", "0.3", "0.2", "0.4"],
            "p_mislabeled": ["0.1", "0.2", "0.9", "0.8", "0.6", "0.7"],
            "is_label_issue": ["False", "False", "True", "True", "True", "True"],
            "is_outlier_issue": ["False", "False", "False", "False", "True", "False"],
            "suggested_action": ["keep", "keep", "relabel", "review", "drop", "review"],
        }
    )
    found = open_set.figures(report, kinds)
    assert found["outlier_score, no known class against wrong"] == 0.75
    assert found["outlier_score, no known class against right"] == 1.0
    assert found["p_mislabeled, wrong against right"] == 1.0
    assert found["no known class"] == {"label issues": 1.0, "outliers": 0.5, "drop": 0.5, "review": 0.5}
    report = report.assign(rank=["6", "5", "1", "2", "4", "3"], given_label="a", suggested_label="b")
    rate = {"noise_rate": {"estimate": 0.5, "low": 0.4, "high": 0.6}, "noise_kind": "uniform"}
    rate |= {"weights": "lite", "seed": 2}
    record = open_set.record(report, rate, kinds, found)
    assert (record["data"], record["noise_rate"]) == (
        "open set, 6 images, lite, seed 2, scanmix",
        pytest.approx(4 / 6, abs=1e-4),
    )
    assert (record["auroc"], record["f1_at_cut"], record["covered"], record["first"]) == (1.0, 1.0, False, {})
    assert record["open_set"] is found
