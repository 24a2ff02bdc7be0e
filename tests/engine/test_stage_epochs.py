"""The epochs of a stage: numbering, budget, metrics, values that are not finite."""

import contextlib
import csv
from pathlib import Path

import pytest
import torch

from scanmix_cli.engine.budget import Budget
from scanmix_cli.engine.checkpoints import Checkpoints, Snapshot
from scanmix_cli.engine.context import Context, Epoch
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.progress import Silent
from scanmix_cli.errors import RunError

CPU = Compute(torch.device("cpu"), "fp32")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Remembers(Silent):
    def __init__(self) -> None:
        self.said: list[tuple] = []
        self.messages: list[str] = []

    def message(self, text: str) -> None:
        self.messages.append(text)

    def stage(self, name: str, total: int) -> None:
        self.said.append((name, total))

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
        self.said.append((name, finished, total, values))


def test_epochs_know_where_they_stand() -> None:
    epoch = Epoch(index=3, total=4, planned=8)
    assert epoch.fraction == 0.75
    assert epoch.scheduled == 6.0, "the sixth epoch of the schedule as planned"


def test_each_epoch_is_reported_with_its_values() -> None:
    reporter = Remembers()
    context = Context(CPU, 0, reporter)
    for epoch in context.epochs("scan", 2):
        context.log(loss=1.5 - epoch.index)
        if epoch.index:
            context.log(extra=7.0)
    assert reporter.said == [("scan", 2), ("scan", 1, 2, {"loss": 1.5}), ("scan", 2, 2, {"loss": 0.5, "extra": 7.0})]
    assert context.seconds["scan"] >= 0


def test_a_stage_planned_for_no_epoch_has_none() -> None:
    context = Context(CPU, 0)
    assert list(context.epochs("scan", 0)) == []
    assert context.history.rows == []


def test_epochs_shrink_to_the_budget() -> None:
    clock, reporter = Clock(), Remembers()
    context = Context(CPU, 0, reporter, budget=Budget(10.0, {"simclr": 1.0}, clock))
    seen = []
    for epoch in context.epochs("simclr", 100):
        seen.append(epoch)
        clock.now += 2.0
    assert [epoch.index for epoch in seen] == [0, 1, 2, 3, 4]
    assert seen[0].total == 100
    assert seen[-1].total == 5
    assert seen[-1].fraction == 0.8, "the learning rate follows the shortened schedule"
    assert seen[-1].scheduled == 80.0
    assert reporter.said[-1][:3] == ("simclr", 5, 5)


def test_a_resumed_stage_counts_its_budget_from_where_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scanmix_cli.engine.context.CHECKPOINT_SECONDS", -1.0)
    first = Context(CPU, 0, checkpoints=Checkpoints(tmp_path, "data"))
    for epoch in first.epochs("simclr", 100):
        if epoch.index == 50:
            break
    clock = Clock()
    resumed = Context(
        CPU, 0, checkpoints=Checkpoints(tmp_path, "data", resume=True), budget=Budget(10.0, {"simclr": 1.0}, clock)
    )
    indices = []
    for epoch in resumed.epochs("simclr", 100):
        indices.append(epoch.index)
        clock.now += 1.0
    assert indices == list(range(50, 60))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_loss_that_is_not_finite_goes_back_twice_and_then_ends_the_run(value: float) -> None:
    context, weight = Context(CPU, 0, reporter := Remembers()), torch.nn.Linear(1, 1)
    sentence = f"loss_x became {value} in epoch 2 of scanmix"
    advice = "with lower learning rates too; use --precision fp32, or lower the stage's learning_rate"
    seen, scales = [], []

    def run() -> None:
        for epoch in context.epochs("scanmix", 3, net=weight):
            seen.append((epoch.index, epoch.repeated, context.permutation(4).tolist()))
            scales.append(context.descend.scale)
            torch.nn.init.constant_(weight.weight, len(seen))
            context.log(vote_agreement=value)  # a measure, not a loss: it may be undefined
            context.log(loss_x=1.0 if epoch.index == 0 else value, loss_u=value if epoch.index else 0.0)

    with pytest.raises(RunError, match=f"^{sentence}, {advice}") as caught:
        run()
    assert caught.value.exit_code == 3
    assert [place[:2] for place in seen] == [(0, False), (1, False), (1, True), (1, True)]
    assert seen[1][2] == seen[2][2] == seen[3][2], "the same random numbers"
    assert scales == [1.0, 1.0, 0.5, 0.25]
    told = f"warning: {sentence}: back to the state before it, with half the learning rate"
    assert [text for text in reporter.messages if "became" in text] == [told, told]
    assert [row["epoch"] for row in context.history.rows] == [1]


def test_a_network_that_is_not_finite_goes_back_too_and_the_lower_rate_lasts(tmp_path: Path) -> None:
    context, net = Context(CPU, 0, checkpoints=Checkpoints(tmp_path)), torch.nn.Linear(1, 1)
    seen = []
    for epoch in context.epochs("scan", 2, net=net):
        torch.nn.init.constant_(net.weight, float("nan") if epoch.index == 1 and not epoch.repeated else epoch.index)
        seen.append(epoch.index)
    assert seen == [0, 1, 1]
    assert net.weight.item() == 1
    resumed = Context(CPU, 0, checkpoints=Checkpoints(tmp_path, resume=True))
    assert list(resumed.epochs("scan", 2, net=net)) == []
    assert resumed.descend.scale == 0.5
    assert list(resumed.epochs("warmup", 0)) == []
    assert resumed.descend.scale == 1.0, "another stage has its own rate"


def test_what_ends_a_stage_early_leaves_the_last_finished_epoch(tmp_path: Path) -> None:
    context, net = Context(CPU, 0, checkpoints=Checkpoints(tmp_path)), torch.nn.Linear(1, 1)
    with contextlib.suppress(KeyboardInterrupt):
        for epoch in context.epochs("scan", 5, net=net):
            torch.nn.init.constant_(net.weight, epoch.index)
            if epoch.index == 3:
                raise KeyboardInterrupt
    assert not list(tmp_path.iterdir()), "30 seconds have not passed"
    context.save_progress()
    context.save_progress()
    restored = Checkpoints(tmp_path, resume=True).restore("scan", {"net": net}, torch.Generator())
    assert restored == (3, 5)
    assert net.weight.item() == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_an_interrupt_while_a_finished_epoch_is_copied_does_not_lose_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, net = Context(CPU, 0, checkpoints=Checkpoints(tmp_path)), torch.nn.Linear(1, 1)
    take, calls = Snapshot.take, []

    def interrupted(*of: object) -> Snapshot:
        calls.append(of)
        if len(calls) == 4:  # the first one is of the beginning
            raise KeyboardInterrupt
        return take(*of)

    monkeypatch.setattr(Snapshot, "take", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        for epoch in context.epochs("scan", 5, net=net):
            net.weight.data.fill_(epoch.index)
    assert len(calls) == 4
    context.save_progress()
    again, fresh = Context(CPU, 0, checkpoints=Checkpoints(tmp_path, resume=True)), torch.nn.Linear(1, 1)
    assert [epoch.index for epoch in again.epochs("scan", 5, net=fresh)] == [3, 4]
    assert fresh.weight.item() == 2


def test_metrics_hold_a_row_per_epoch_and_the_union_of_all_values(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    context = Context(CPU, 0, metrics=path)
    for epoch in context.epochs("scan", 2):
        context.log(loss=1 / 3 + epoch.index)
    for _ in context.epochs("scanmix", 1):
        context.log(loss=2.0, links_kept=123456.0, em_bound=-0.25)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["stage", "epoch", "seconds", "loss", "links_kept", "em_bound"]
    assert [(row["stage"], row["epoch"], row["loss"]) for row in rows] == [
        ("scan", "1", "0.333333"),
        ("scan", "2", "1.33333"),
        ("scanmix", "1", "2"),
    ]
    assert [row["em_bound"] for row in rows] == ["", "", "-0.25"]
    assert rows[2]["links_kept"] == "123456"
    assert all(float(row["seconds"]) >= 0 for row in rows)
    assert [entry.name for entry in tmp_path.iterdir()] == ["metrics.csv"]


def test_metrics_are_written_after_every_epoch(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    context = Context(CPU, 0, metrics=path)
    lengths = [path.exists() and len(path.read_text(encoding="utf-8").splitlines()) for _ in context.epochs("scan", 3)]
    assert lengths == [False, 2, 3]


def test_a_value_wanted_once_is_computed_once_a_run(tmp_path: Path) -> None:
    calls = []

    def compute() -> torch.Tensor:
        calls.append(1)
        return torch.tensor([[3, 1]])

    context = Context(CPU, 0, checkpoints=Checkpoints(tmp_path, "data"))
    assert context.once("neighbors", compute).tolist() == [[3, 1]]
    resumed = Context(CPU, 0, checkpoints=Checkpoints(tmp_path, "data", resume=True))
    assert resumed.once("neighbors", compute).tolist() == [[3, 1]]
    assert len(calls) == 1
    without = Context(CPU, 0)
    without.once("neighbors", compute)
    without.once("neighbors", compute)
    assert len(calls) == 2


def test_orders_come_from_the_seed() -> None:
    orders = [Context(CPU, seed).permutation(20).tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[2]) == list(range(20))


def test_a_step_on_a_cpu_is_called_as_it_is() -> None:
    context = Context(CPU, 0)
    calls = []

    def step(rows: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
        calls.append(len(rows))
        return rows.sum() * share

    captured = context.captured(step)
    assert captured(torch.ones(3), torch.tensor(2.0)).item() == 6.0
    assert captured(torch.ones(5), torch.tensor(2.0)).item() == 10.0
    assert calls == [3, 5]
    assert context.compiled(step) is step
