"""The benchmarks of the test sets and of open sets: their scores by hand, no training."""

import importlib
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
