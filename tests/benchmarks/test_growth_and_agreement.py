"""Sums and tables of the growth, agreement and streaming benchmarks, by hand."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute
from scanmix_cli.method.methods import METHODS
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.profiles import fast

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
Script = Callable[[str], ModuleType]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


def test_growth_has_its_exponent_and_peaks(script: Script) -> None:
    found = {
        1_000: {"SCAN": {"seconds": 2.0, "device_gb": 0.5}, "process": {"host_gb": 1.0}},
        100_000: {"SCAN": {"seconds": 20.0, "device_gb": 4.0}, "process": {"host_gb": 2.5}},
    }
    assert script("growth").table(found).splitlines() == [
        "| stage, seconds | 1,000 | 100,000 | exponent |",
        "| --- | --- | --- | --- |",
        "| SCAN | 2 | 20 | 0.50 |",
        "| peak of the device, GB | 0.50 | 4.00 | |",
        "| peak of the process so far, GB | 1.00 | 2.50 | |",
    ]


def test_starts_are_cold_and_warm(script: Script) -> None:
    startup = script("startup")
    found = {n: (startup.Start(n / 10, 1.5), startup.Start(n**0.5, 1.25)) for n in (100, 10_000)}
    assert startup.table(found).splitlines() == [
        "| | 100 | 10,000 | exponent |",
        "| --- | --- | --- | --- |",
        "| start, cold cache, s | 10.0 | 1000.0 | 1.00 |",
        "| start, warm cache, s | 10.0 | 100.0 | 0.50 |",
        "| peak memory, cold, GiB | 1.50 | 1.50 | |",
        "| peak memory, warm, GiB | 1.25 | 1.25 | |",
    ]


def test_a_start_ends_where_the_first_stage_begins(script: Script, tmp_path: Path) -> None:
    startup, log = script("startup"), tmp_path / "log.txt"
    assert not startup.has_started(log)
    log.write_text("2026-01-01 00:00:00 nothing starts early: 4 images\n", encoding="utf-8")
    assert not startup.has_started(log)
    log.write_text(log.read_text(encoding="utf-8") + "2026-01-01 00:00:09 simclr starts, 36 epochs\n", encoding="utf-8")
    assert startup.has_started(log)


def test_the_em_run_is_short(script: Script) -> None:
    for toy, least, most in ((False, 6, 15), (True, 1, 1)):
        profile = script("agreement").short(fast.GPU, toy)
        assert profile.beliefs is not None
        assert profile.contrastive is not None
        assert (profile.beliefs.epochs, profile.contrastive.epochs) == (least, most)


def test_every_stage_runs_without_recording(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU, where nothing is recorded anyway, with the same losses."""
    monkeypatch.syspath_prepend(str(FOLDER.parent / "tests" / "method"))
    agreement, toy = script("agreement"), importlib.import_module("toy_runs")

    def losses(kind: type[Context]) -> list[dict]:
        context = kind(Compute(torch.device("cpu"), "fp32"), 0)
        METHODS["scanmix"](toy.toy_images(), toy.toy_profile(1), Monitor(), context, None)
        return [{k: v for k, v in row.items() if k != "seconds"} for row in context.history.rows]

    assert losses(agreement.Unrecorded) == losses(Context)


def test_agreement_has_means_and_spreads(script: Script) -> None:
    agreement = script("agreement")
    scores = {way.name: [0.5, 0.75] for way in agreement.WAYS}
    lines = agreement.table(dict.fromkeys(agreement.METHOD_NAMES, scores)).splitlines()
    assert lines[0] == "| computed in | 30 epochs of plain training | short EM run |"
    assert lines[2] == "| fp32, recorded | 62.50 (50.00 to 75.00) | 62.50 (50.00 to 75.00) |"
    assert len(lines) == 2 + len(agreement.WAYS)


def test_the_ceiling_scores_labels_by_their_probability(script: Script) -> None:
    probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7]])
    given, clean = np.array([0, 0, 1, 0]), np.array([0, 0, 1, 1])
    wrong, right, auroc, f1 = script("ceiling").scores(probabilities, given, clean)
    assert (wrong, right) == (0.25, 0.75)
    assert auroc == 1.0, "suspicion .1, .6, .2 and, of the wrong label, .7"
    assert f1 == 1.0


def test_streaming_says_what_is_left_of_the_rate_on_the_device(script: Script) -> None:
    streaming = script("streaming")
    assert streaming.table({"SimCLR": {"device": 2000.0, "memory": 1500.0, "file": 500.0}}).splitlines() == [
        "| pictures/s, pixels in | device | memory | file |",
        "| --- | --- | --- | --- |",
        "| SimCLR | 2,000 | 1,500 (0.75) | 500 (0.25) |",
    ]


def test_streaming_trains_from_every_place(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "streaming.json"
    argv = ["streaming.py", "--device", "cpu", "--toy", "--seconds", "0", "--out", str(out)]
    monkeypatch.setattr("sys.argv", argv)
    script("streaming").main()
    rates = json.loads(out.read_text())["images_per_s"]["SimCLR 32, 16"]
    assert set(rates) == {"device", "memory", "file"}
    assert min(rates.values()) > 0
    assert "| SimCLR 32, 16 |" in capsys.readouterr().out
