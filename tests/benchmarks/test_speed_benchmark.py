"""The speed benchmark runs at toy size on the CPU, and its headline figures follow from its rows."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("benchmark_speed", FOLDER / "speed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_section_at_toy_size_and_a_second_call_that_keeps_the_first(
    speed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "speed.json"

    def run(*sections: str) -> dict:
        toy = ["--device", "cpu", "--toy", "--seconds", "0.01", "--workers", "0"]
        monkeypatch.setattr(sys, "argv", ["speed.py", *toy, "--out", str(out), "--sections", *sections])
        speed.main()
        return json.loads(out.read_text())

    first = run("limit", "plain", "simclr", "scan", "warmup", "mixmatch", "clustering")
    assert {"simclr_images_per_s", "speedup_vs_plain_batch64", "mfu", "device", "date", "command"} <= set(first)
    assert set(first["sections"]["mixmatch"]["rows"]) == {"16 weak", "16 strong"}
    second = run("evaluation", "limit", "beliefs", "fast_simclr")
    assert second["sections"]["simclr"] == first["sections"]["simclr"]
    assert second["sections"]["evaluation"]["rows"]["images_per_s"] > 0
    assert second["sections"]["beliefs"]["rows"]["epoch_s"] > 0
    assert "speedup_vs_plain_batch64" in second
    assert "mfu" not in second, "the limit is of another call"


def test_schedule_against_counting_by_hand(speed: ModuleType) -> None:
    rows = {
        "simclr": {
            "512": {"epoch_s": 1.0, "images_per_s": 5.0, "forwards_per_s": 15.0},
            "2048": {"epoch_s": 0.8, "images_per_s": 8.0, "forwards_per_s": 24.0},
        },
        "fast_simclr": {"epoch_s": 0.5},
        "scan": {"128": {"epoch_s": 2.0}, "512": {"epoch_s": 1.0}},
        "warmup": {"epoch_s": 3.0},
        "mixmatch": {
            f"{batch} {view}": {"ms": ms, "images_per_s": 6.0}
            for batch in (64, 128)
            for view, ms in (("strong", 5.0), ("weak", 4.0))
        },
        "clustering": {
            f"{batch} {view}": {"ms": ms} for batch in (128, 512) for view, ms in (("strong", 3.0), ("weak", 2.0))
        },
        "evaluation": {"ms": 100.0, "split_s": 0.5},
        "beliefs": {"epoch_s": 1.5},
    }
    sections = {name: {"rows": values, "call": "now"} for name, values in rows.items()}
    summary = speed.summary(sections)
    found = summary["published_schedule_minutes"]
    common = 500 * 1.0 + 50 * 2.0 + 10 * 3.0 + 300 * (2 * 0.1 * 1.2 + 0.5)
    assert found["sym 90"] == pytest.approx((common + 300 * 2 * (156 * 0.005 + 390 * 0.003)) / 60)
    assert found["sym 20"] == pytest.approx((common + 300 * 2 * (625 * 0.004 + 390 * 0.002)) / 60)
    larger = 500 * 0.8 + 50 * 1.0 + 10 * 3.0 + 300 * (2 * 0.1 * 1.2 + 0.5)
    found = summary["larger_batches_minutes"]
    assert found["sym 90"] == pytest.approx((larger + 300 * 2 * (78 * 0.005 + 97 * 0.003)) / 60)
    assert summary["mixmatch_share_of_simclr"] == 6.0 / 8.0
    assert summary["fast_profile_minutes"] == pytest.approx((440 * 0.5 + 88 * 1.5) / 60)


def test_the_record_says_what_its_sections_add_up_to(speed: ModuleType) -> None:
    record = json.loads((FOLDER.parent / "docs" / "results" / "performance.json").read_text(encoding="utf-8"))
    asked = {"simclr_images_per_s", "published_schedule_minutes", "fast_profile_minutes", "speedup_vs_plain_batch64"}
    assert asked | {"mfu", "device", "date", "command"} <= set(record)
    found = speed.summary(record["sections"])
    assert {"simclr_images_per_s", "speedup_vs_plain_batch64", "mfu", "published_schedule_minutes"} <= set(found)
    for name, value in found.items():
        assert record[name] == pytest.approx(value, rel=1e-3), name
