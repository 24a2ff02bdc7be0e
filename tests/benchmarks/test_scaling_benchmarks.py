"""Ratios of the benchmark of several processes; the table of docs/scale.md is what its script prints."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "benchmarks"))
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", REPOSITORY / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def test_the_table_is_in_the_document(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    table = load("scale_table", monkeypatch)
    monkeypatch.setattr(sys, "argv", ["scale_table.py"])
    table.main()
    printed = capsys.readouterr().out
    assert "| pixels, GB | 3.1 | 31 | 307 | 197 | 1,966 | 19,661 |" in printed  # 3 x 32 x 32 and 3 x 256 x 256 bytes
    document = (REPOSITORY / "docs" / "scale.md").read_text(encoding="utf-8")
    assert printed in document


MEASURED = {  # row of the document: section and stage
    "224 pixels, ResNet-50: MoCo-v2": ("224", "moco"),
    "neighbours": ("224", "neighbors"),
    "SCAN": ("224", "scan"),
    "warm-up": ("224", "warmup"),
    "EM loop, a network for each GPU": ("224", "scanmix"),
    "from end to end, 200, 15, 5 and 70 epochs": ("224", "end_to_end"),
    "32 pixels, ResNet-18: SimCLR on half-size views, batch 512": ("32", "simclr"),
    "belief loop": ("32", "scanmix"),
    "from end to end, 440 and 88 epochs": ("32", "end_to_end"),
    "the same in batches four times as large: SimCLR, batch 2,048": ("32-large", "simclr"),
    "belief loop, 1,024 images": ("32-large", "scanmix"),
    "from end to end, large batches": ("32-large", "end_to_end"),
}


def test_what_the_document_says_was_measured_is_in_the_record() -> None:
    document = (REPOSITORY / "docs" / "scale.md").read_text(encoding="utf-8")
    sections = json.loads((REPOSITORY / "docs" / "results" / "scaling.json").read_text(encoding="utf-8"))["sections"]
    table = document.partition("| | 1 GPU | 2 GPUs | times as fast | at most |\n")[2].partition("\n\n")[0]
    rows = {name: cells for name, *cells in (line.strip("| ").split(" | ") for line in table.splitlines())}
    for name, (section, stage) in MEASURED.items():
        runs = [sections[section]["rows"][count] for count in ("1", "2")]
        whole = stage == "end_to_end"
        seconds = [run["end_to_end_s"] if whole else run["stages"][stage]["epoch_s"] for run in runs]
        expected = [*seconds, *(sections[section][ratio][stage] for ratio in ("times_as_fast", "at_most"))]
        for cell, value in zip(rows[name], expected, strict=True):
            assert float(cell) == pytest.approx(value, abs=0.5001 * 10 ** -len(cell.partition(".")[2])), name
    one, two = (100 * value for value in sections["accuracy"]["test_accuracy"])
    assert f"{one:.1f} % on one GPU, {two:.1f} on two" in document
    assert document.count(f" takes {100 / sections['224']['at_most']['scanmix']:.0f} % of the time") == 2


def test_training_time_falls_with_the_rate_and_grows_with_the_images(monkeypatch: pytest.MonkeyPatch) -> None:
    table = load("scale_table", monkeypatch)
    small, large = (table.costs(table.Case(n, 32, 100), 1000.0, 0.0) for n in (10**7, 10**8))
    fast = table.costs(table.Case(10**7, 32, 100), 4000.0, 0.0)
    name = "training, 1 GPU, h"
    assert small[name] == pytest.approx(4 * fast[name])
    assert large[name] == pytest.approx(10 * small[name], rel=0.02)  # epochs are at their least for both


def test_the_belief_loop_searches_in_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    table = load("scale_table", monkeypatch)
    small, large = (table.costs(table.Case(10**7, size, 100), 1000.0, 1e-6) for size in (32, 224))
    assert (small["searches for neighbours"], large["searches for neighbours"]) == (9 + 2, 1)
    assert small["features, GB"] == pytest.approx(10**7 * 512 * 4 / 1e9)
    pair = 34 / 3e12 + 2 * 2048 / 4e14
    assert large["all of them, 1 GPU, h"] == pytest.approx(1e14 * pair / 3600)
    assert (small["mixtures an epoch, s"], large["mixtures an epoch, s"]) == (0.0, 10.0)
    assert [table.number(value) for value in (0.0, 0.123, 12.6, 1234.5)] == ["", "0.12", "13", "1,234"]


def test_ratios_are_of_the_same_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    scaling = load("scaling", monkeypatch)
    one = {"stages": {"simclr": {"epoch_s": 2.0}, "scan": {"epoch_s": 3.0}}, "end_to_end_s": 10.0}
    two = {"stages": {"simclr": {"epoch_s": 1.0}, "scan": {"epoch_s": 2.0}}, "end_to_end_s": 6.25}
    rows = {"1": one, "2": two}
    assert scaling.compare("32", rows) == {"times_as_fast": {"simclr": 2.0, "scan": 1.5, "end_to_end": 1.6}}
    half = {"stages": {"simclr": {"epoch_s": 0.5}, "scan": {"epoch_s": 1.5}}, "end_to_end_s": 4.0}
    assert scaling.compare("32", rows | {"half": half})["at_most"] == {"simclr": 4.0, "scan": 2.0, "end_to_end": 2.5}
    assert "at_most" not in scaling.compare("32", rows | {"half": {"failed": "no time left"}})
    assert scaling.compare("32", rows | {"2": {"failed": "exit code 1"}}) == {}


def test_half_of_every_batch_in_as_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    scaling = load("scaling", monkeypatch)
    for section in ("32", "224"):
        whole = scaling.profile_of(section, False)
        half = scaling.with_batches(whole, 0.5)
        for name in ("contrastive", "scan", "warmup", "mixmatch", "clustering", "beliefs"):
            before, after = getattr(whole, name), getattr(half, name)
            if before is None:
                assert after is None
            else:
                assert after.batch_size == before.batch_size // 2
        assert half.mixmatch.steps == whole.mixmatch.steps
    once, large = scaling.profile_of("32", False), scaling.profile_of("32-large", False)
    assert (large.contrastive.batch_size, large.beliefs.batch_size) == (
        4 * once.contrastive.batch_size,
        4 * once.beliefs.batch_size,
    )
