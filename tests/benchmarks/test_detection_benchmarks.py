"""The detection and duplicates benchmarks on cells and pictures made by hand."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.verdicts import Verdicts, judge
from scanmix_cli.method.methods import Outcome

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results" / "detection.json"
IMAGES, CLASSES = 300, 3


JUDGED: dict[bytes, Verdicts] = {}  # by what was judged, which is the same in nearly all of these tests


def judge_once(evidence: Evidence, given: np.ndarray, neighbors: np.ndarray | None) -> Verdicts:
    key = b"".join(np.asarray(values).tobytes() for values in evidence.state_dict().values()) + given.tobytes()
    if key not in JUDGED:
        JUDGED[key] = judge(evidence, given, neighbors)
    return JUDGED[key]


@pytest.fixture
def detection(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    module = importlib.import_module("detection")
    monkeypatch.setattr(module, "judge", judge_once)
    return module


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results folder with one cell: 60 of 300 labels wrong, networks that know better."""
    from scanmix_cli.bench.kept_evidence import evidence_arrays

    generator = np.random.default_rng(0)
    clean = np.arange(IMAGES) % CLASSES
    given = np.where(np.arange(IMAGES) < 60, (clean + 1) % CLASSES, clean)
    probabilities = generator.dirichlet(np.ones(CLASSES), IMAGES) * 0.2 + 0.8 * np.eye(CLASSES)[clean]
    evidence = Evidence.empty(IMAGES, CLASSES)
    evidence.add(given, [View(probabilities, np.ones(IMAGES), np.full(IMAGES, 0.5))])
    evidence.final_probability[:] = probabilities
    (tmp_path / "cells").mkdir()
    arrays = evidence_arrays(Outcome([], evidence, None)) | {"given": given, "clean": clean}
    np.savez(tmp_path / "cells" / "one.npz", **arrays)
    cell = {"dataset": "toy", "noise": "sym", "rate": 0.2, "method": "scanmix", "seed": 0}
    cell |= {"device": "cpu", "date": "2026-11-28T00:00:00Z", "command": "scanmix bench toy"}
    cell |= {"profile": "fast", "time_budget": 0.0}
    (tmp_path / "cells" / "one.json").write_text(json.dumps(cell))
    return tmp_path


def test_a_cell_becomes_a_record_that_replaces_the_old_one(
    detection: ModuleType, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = results / "detection.json"
    for command in ("old", "new"):
        detection.main([str(results), "--out", str(out), "--command", command])
    (record,) = json.loads(out.read_text())
    assert (record["data"], record["command"]) == ("toy, sym 0.2, scanmix, seed 0", "new")
    assert (record["device"], record["date"], record["noise_rate"]) == ("cpu", "2026-11-28", 0.2)
    assert record["auroc"] > 0.99
    assert record["first"] == {"100": {"expected": pytest.approx(60, abs=6), "real": 60}}
    published = next(row for row in json.loads(RESULTS.read_text()) if ", scanmix, seed" in row["data"])
    assert record.keys() == published.keys(), "what is published is what the script writes"
    table = capsys.readouterr().out.splitlines()
    assert table[-1].startswith("| toy, sym 0.2, scanmix, seed 0 | 1.000 |")


def test_every_published_record_says_what_was_found_where_and_by_which_command() -> None:
    numbers = {"auroc", "ap", "f1_at_cut", "best_f1", "ece", "noise_rate", "estimated_noise_rate", "flagged_share"}
    records = json.loads(RESULTS.read_text())
    assert len({record["data"] for record in records}) == len(records)
    for record in records:
        assert numbers <= record.keys()
        assert all(record[name] for name in ("data", "device", "date", "command")), record["data"]


def test_the_page_shows_the_records_as_they_are(detection: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    detection.main(["--page", str(RESULTS)])
    table = capsys.readouterr().out
    assert table in (RESULTS.parents[1] / "verdicts.md").read_text(encoding="utf-8"), "print it anew with --page"
    ours = sum(", scanmix, seed" in record["data"] for record in json.loads(RESULTS.read_text()))
    assert len(table.splitlines()) == 2 + ours


def test_a_set_too_small_for_a_look_has_none_in_the_table(detection: ModuleType, results: Path) -> None:
    """Of 300 images the first 500 are not told."""
    (line,) = detection.table_of_page(detection.judge_cells(results, None)).splitlines()[2:]
    assert line.startswith("| toy, sym 0.2, seed 0 | 0.200 | ")
    assert line.endswith(", 60 | - | - |")


def test_neither_results_nor_page_is_wrong_usage(detection: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        detection.main([])
    assert "name a folder" in capsys.readouterr().err


def test_a_record_names_the_command_of_its_cell_unless_another_is_given(detection: ModuleType, results: Path) -> None:
    out = results / "detection.json"
    detection.main([str(results), "--out", str(out)])
    assert [record["command"] for record in json.loads(out.read_text())] == ["scanmix bench toy"]


def test_a_record_names_the_commit_that_judged_it(
    detection: ModuleType, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the one that trained the cell: verdicts are made anew."""
    monkeypatch.setattr(detection, "commit", lambda: "0f1e2d3")
    out, cell = results / "detection.json", results / "cells" / "one.json"
    cell.write_text(json.dumps(json.loads(cell.read_text()) | {"commit": "aaaaaaa"}))
    for given, expected in (([], "0f1e2d3"), (["--commit", "1234567"], "1234567")):
        detection.main([str(results), "--out", str(out), *given])
        assert [record["commit"] for record in json.loads(out.read_text())] == [expected]


def test_a_cell_without_evidence_is_scored_by_its_opinion(detection: ModuleType, results: Path) -> None:
    """cleanlab keeps its ranking and its issues alone."""
    clean = np.arange(IMAGES) % CLASSES
    given = np.where(np.arange(IMAGES) < 60, (clean + 1) % CLASSES, clean)
    p = np.where(given != clean, 0.9, 0.2)
    arrays = {"p_mislabeled": p, "flagged": np.arange(IMAGES) < 30, "suggested": clean, "given": given, "clean": clean}
    np.savez(results / "cells" / "two.npz", **arrays)
    cell = json.loads((results / "cells" / "one.json").read_text())
    (results / "cells" / "two.json").write_text(json.dumps(cell | {"method": "cleanlab", "noise_rate_estimate": 0.1}))
    ours, theirs = detection.judge_cells(results, None)
    assert ours["data"].endswith("scanmix, seed 0")
    assert (theirs["data"], theirs["auroc"]) == ("toy, sym 0.2, cleanlab, seed 0", 1.0)
    assert theirs["f1_at_cut"] == pytest.approx(2 / 3, abs=1e-4)
    assert (theirs["estimated_noise_rate"], theirs["interval"], theirs["covered"]) == (0.1, None, None)
    assert theirs["first"]["100"] == {"expected": 62.0, "real": 60}
    assert "| toy, sym 0.2, cleanlab, seed 0 | 1.000 |" in detection.markdown([theirs])


@pytest.mark.parametrize(
    ("profile", "budget", "expected"),
    [
        ("fast", 220.0, "scanmix"),
        ("auto", 0.0, "scanmix"),
        ("fast, as published", 220.0, "scanmix, as published, 220 s"),
        ("official", 0.0, "scanmix, official"),
    ],
)
def test_other_settings_have_records_of_their_own(
    detection: ModuleType, results: Path, profile: str, budget: float, expected: str
) -> None:
    cell = results / "cells" / "one.json"
    cell.write_text(json.dumps(json.loads(cell.read_text()) | {"profile": profile, "time_budget": budget}))
    (record,) = detection.judge_cells(results, None)
    assert record["data"] == f"toy, sym 0.2, {expected}, seed 0"


def test_a_cell_without_true_labels_yields_no_record_and_is_named(
    detection: ModuleType, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(results / "cells" / "one.npz") as kept:
        arrays = {name: kept[name] for name in kept.files if name != "clean"}
    np.savez(results / "cells" / "two.npz", **arrays)
    (results / "cells" / "two.json").write_text((results / "cells" / "one.json").read_text())
    assert len(detection.judge_cells(results, None)) == 1
    assert capsys.readouterr().err == "toy, sym 0.2, scanmix, seed 0\ntwo.npz: no true labels\n"


def test_confirmed_errors_of_the_labels_themselves(detection: ModuleType, results: Path) -> None:
    errors = results / "truth.npz"
    np.savez(errors, mturk_index=np.array([3, 7, 100]), mturk_is_error=np.array([True, True, False]))
    (record,) = detection.judge_cells(results, errors)
    assert record["data"] == "toy, its own labels, scanmix"
    assert record["confirmed_errors"] == 2
    assert record["hits"]["100"] == 2
    assert len(record["top"]) == 25


def test_duplicates_benchmark_counts_listed_and_planted_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    duplicates = importlib.import_module("duplicates")
    monkeypatch.setattr(duplicates, "PLANTED", 2)
    generator = np.random.default_rng(0)
    train, test = (generator.integers(0, 256, (count, 3, 32, 32)).astype(np.uint8) for count in (12, 4))
    test[1] = np.clip(train[5].astype(int) + 10, 0, 255)  # brighter
    train[9] = np.clip(test[1].astype(int) - 20, 0, 255)  # a copy that the list lacks
    found = duplicates.measure(train, test, np.array([[1, 5], [2, 7]]), np.array([1, 2]), {(1, 9): "copy"})
    assert found["recall"] == {"1": 1.0, "2": 0.0}
    assert found["recall_exact_planted"] == 1.0
    assert (found["test_images_unlisted"], found["largest_set"]) == (0, 3)
    assert (found["pairs"]["reported"], found["pairs"]["listed"]) == (2, 1)
    assert found["pairs"]["unlisted"] == {"copy": 1, "doubtful": 0, "different": 0, "unjudged": 0}


def test_false_pairs_are_counted_by_what_a_look_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    duplicates = importlib.import_module("duplicates")
    reported = duplicates.reported_pairs(np.array([0, -1, 1, 0, 1]), np.array([1, -1, 0, 2, 0]))
    assert reported == [(0, 2), (0, 4), (2, 0), (2, 3), (4, 0), (4, 3)]
    judged = {(0, 2): "different", (0, 4): "different", (2, 0): "doubtful", (2, 3): "copy", (3, 1): "different"}
    found = duplicates.false_pairs(reported, {(0, 2)}, judged, compared=25)
    assert found["unlisted"] == {"copy": 1, "doubtful": 1, "different": 1, "unjudged": 2}
    assert (found["reported"], found["listed"], found["test_images_in_false_pairs"]) == (6, 1, 1)
    assert (found["false_of_reported"], found["false_of_reported_at_most"]) == (round(1 / 6, 4), round(4 / 6, 4))
    assert found["false_of_compared_at_most"] == 4 / 25
