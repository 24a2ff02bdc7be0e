"""Budgets shorter than an epoch on a CPU."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_bench_run import Heard, request
from toy_sets import write_folder

from scanmix_cli.bench import brief, runner
from scanmix_cli.bench.brief import images_an_epoch
from scanmix_cli.bench.runner import run_bench
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute
from scanmix_cli.profiles import fast
from scanmix_cli.workflow.facts import DataFacts
from scanmix_cli.workflow.schedule import LEAST_DRAWN, in_parts

FACTS = DataFacts(50_000, 10, 32)
METHODS = ("cross-entropy", "mixup", "elr", "scan", "dividemix", "pretrain+dividemix", "scanmix")


@pytest.mark.parametrize("method", METHODS)
def test_less_time_means_fewer_images_and_enough_time_all(method: str) -> None:
    found = [images_an_epoch(method, fast.CPU, FACTS, seconds, 1e-3) for seconds in (1, 100, 200, 300, 10_000)]
    assert found[0] == LEAST_DRAWN
    assert found[-1] == 0
    cut = [most for most in found if most]
    assert cut == sorted(cut)
    assert all(most < FACTS.images for most in cut)


def test_a_network_that_sees_a_part_of_the_images_takes_the_time_asked_for() -> None:
    """Plain training: one pass of the part, and the looks at all images, a third of a pass each."""
    most = images_an_epoch("cross-entropy", fast.CPU, FACTS, 50.0, 1e-3)
    assert most + brief.LOOKS * FACTS.images / 3 == pytest.approx(50_000, abs=1)


def test_a_brief_context_draws_other_rows_every_epoch() -> None:
    context = Context(Compute(torch.device("cpu"), "fp32"), 0, most=5)
    first, second = context.permutation(100), context.permutation(100)
    assert (len(first), len(set(first.tolist()))) == (5, 5)
    assert first.tolist() != second.tolist()
    assert context.permutation(3).sort().values.tolist() == [0, 1, 2]
    assert len(Context(context.compute, 0).permutation(100)) == 100
    assert in_parts(fast.CPU, 5).mixmatch.epoch_images == 5
    assert in_parts(fast.CPU, 0) is fast.CPU


def test_a_toy_budget_runs_to_the_end_and_says_what_an_epoch_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brief, "LEAST_DRAWN", 16)
    monkeypatch.setattr(runner, "draw_all", lambda *_: [])
    write_folder(tmp_path / "own", per_class=16, held_out=2)
    heard = Heard()
    asked = replace(request(tmp_path, ("cross-entropy", "scanmix")), epochs=0, time_budget=0.001)
    run_bench(asked, heard)
    cells = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [cell["images_an_epoch"] for cell in cells] == [16, 16]
    assert all(cell["auroc"] is not None and cell["last"] is not None for cell in cells)
    assert heard.texts.count("an epoch of all images does not fit 0.001 s: epochs of 16 images") == 2
