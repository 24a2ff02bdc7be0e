"""Too little memory and numbers that are not finite: every stage goes on, says so, and knows when to give up."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scanmix_cli.models.small import SmallResNet
from toy_runs import shrink, toy_context, toy_images, toy_profile, train

from scanmix_cli.engine.descent import Descent
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.progress import Silent
from scanmix_cli.errors import RunError
from scanmix_cli.method.images import forward_all
from scanmix_cli.method.networks import scanmix_net
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles.official import OFFICIAL

IMAGES = toy_images(32)
OURS, SUBSET = toy_profile(2), shrink(OFFICIAL["clothing1m"], 2, 16)


class Listens(Silent):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def message(self, text: str) -> None:
        self.messages.append(text)


def fits(limit: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From now on a forward pass of more than `limit` images runs out of memory; the list gets the sizes that fit."""
    forward, sizes = SmallResNet.forward, list[int]()

    def narrow(self: SmallResNet, x: torch.Tensor) -> torch.Tensor:
        if len(x) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        sizes.append(len(x))
        return forward(self, x)

    monkeypatch.setattr(SmallResNet, "forward", narrow)
    return sizes


@pytest.mark.parametrize(
    ("method", "profile", "stages"),
    [
        ("scanmix", OURS, ("simclr", "scan", "warmup", "scanmix")),
        ("scanmix", SUBSET, ("moco",)),
        ("elr", OURS, ("elr",)),
        ("mixup", OURS, ("mixup",)),
    ],
    ids=["ours", "MoCo", "ELR+", "mixup"],
)
def test_a_batch_that_does_not_fit_is_cut(
    method: str, profile: Profile, stages: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, reporter = fits(9, monkeypatch), Listens()
    outcome = train(method, profile, IMAGES, toy_context(reporter=reporter))
    assert max(sizes) <= 9
    assert outcome.evidence is not None
    assert np.isfinite(outcome.evidence.loss_sum).all()
    for stage in stages:
        told = [text for text in reporter.messages if f"of {stage}:" in text]
        assert told, f"{stage} said nothing"
        assert told[0].startswith("warning: cpu ran out of memory in epoch 1 of ")
        assert "are worked on in 2 parts from here on (" in told[0]
    assert len([text for text in reporter.messages if "of warmup" in text]) <= 1, "both learners share what was found"


def test_parts_of_two_are_the_last_resort(monkeypatch: pytest.MonkeyPatch) -> None:
    fits(1, monkeypatch)
    sentence = (
        "^cpu ran out of memory in epoch 1 of cross-entropy, with 2 images at a time too; use a smaller --image-size"
    )
    with pytest.raises(RunError, match=sentence) as caught:
        train("cross-entropy", OURS, IMAGES)
    assert caught.value.exit_code == 3


def test_other_errors_are_no_shortage_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("shape mismatch")

    monkeypatch.setattr(SmallResNet, "forward", fail)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        train("cross-entropy", OURS, IMAGES)


def test_gradients_of_parts_add_up_to_that_of_the_whole() -> None:
    """Without batch norm and randomness, a mean over images gives the same step in one, two or four parts."""
    weights = []
    rows = torch.arange(10)
    for parts in (1, 2, 4):
        context = toy_context()
        weight = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
        optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)

        def step(
            chosen: torch.Tensor, share: torch.Tensor, w: Any = weight, o: Any = optimizer, c: Any = context
        ) -> Any:
            loss = ((w.sum() * chosen.float() - share) ** 2).mean() / 100
            c.descend(loss, o)
            return loss.detach()

        captured = context.captured(step)
        context.relief.parts[captured.name] = parts
        losses = [captured(rows, torch.tensor(3.0)) for _ in range(2)]
        weights.append(torch.cat([weight.detach(), torch.stack(losses)]))
    torch.testing.assert_close(weights[1], weights[0])
    torch.testing.assert_close(weights[2], weights[0])


def test_parts_that_do_not_add_up_are_steps_with_a_share_of_the_rate() -> None:
    context, weight = toy_context(), torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)

    def step(chosen: torch.Tensor) -> torch.Tensor:
        context.descend((weight * len(chosen)).sum(), optimizer)
        return torch.tensor(float(len(chosen)))

    captured = context.captured(step, summable=False)
    context.relief.parts[captured.name] = 2
    assert captured(torch.arange(5)).item() == pytest.approx(0.6 * 3 + 0.4 * 2)
    assert weight.item() == pytest.approx(-(0.6 * 3 + 0.4 * 2))
    assert optimizer.param_groups[0]["lr"] == 1.0


def test_a_rate_is_scaled_for_the_step_alone() -> None:
    weight, rate = torch.nn.Parameter(torch.zeros(1)), torch.tensor(0.3)
    optimizer = torch.optim.SGD([weight], lr=rate)
    descend = Descent(Compute(torch.device("cpu"), "fp32"))
    descend.scale = 0.5
    descend(weight.sum(), optimizer)
    assert weight.item() == pytest.approx(-0.15)
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.3)


def test_evaluation_in_smaller_parts_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    context = toy_context()
    net = scanmix_net("small", 3, context)
    whole = forward_all(net, net, IMAGES, context)
    sizes = fits(20, monkeypatch)
    torch.testing.assert_close(forward_all(net, net, IMAGES, context), whole)
    assert sizes == [16, 16]
    forward_all(net, net, IMAGES, context)
    assert sizes == [16, 16] * 2, "what fits is known by now"
    fits(0, monkeypatch)
    with pytest.raises(torch.OutOfMemoryError):
        forward_all(net, net, IMAGES, context)


@pytest.mark.parametrize("stage", ["simclr", "scan", "warmup", "scanmix"])
def test_a_step_to_nowhere_is_taken_back(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step of the stage's second epoch leaves weights that are not finite; the epoch is run again."""
    context, reporter = toy_context(), Listens()
    context.reporter = reporter
    spoiled = []
    descend = Descent.__call__

    def spoil(self: Descent, loss: torch.Tensor, optimizer: torch.optim.Optimizer, *rest: Any) -> None:
        if not spoiled and context.place == f"epoch 2 of {stage}":
            spoiled.append(1)
            loss = loss * float("nan")
        descend(self, loss, optimizer, *rest)

    monkeypatch.setattr(Descent, "__call__", spoil)
    outcome = train("scanmix", OURS, IMAGES, context)
    assert outcome.evidence is not None
    assert np.isfinite(outcome.evidence.final_probability).all()
    assert outcome.evidence.epochs == 2, "the epoch that failed left no evidence"
    warnings = [text for text in reporter.messages if text.startswith("warning")]
    assert len(warnings) == 1
    assert warnings[0].endswith(f"in epoch 2 of {stage}: back to the state before it, with half the learning rate")
    assert context.relief.slowed == {stage: 1}
    rows = [(row["stage"], row["epoch"]) for row in context.history.rows]
    assert rows.count((stage, 2)) == 1


def test_a_stage_that_never_gets_finite_ends_the_run() -> None:
    wild = replace(OURS, warmup=replace(OURS.warmup, learning_rate=1e30, clip_norm=0.0))
    context = toy_context()
    with pytest.raises(RunError, match=r"in epoch \d of warmup, with lower learning rates too; use --precision fp32"):
        train("scanmix", wild, IMAGES, context)
    assert context.relief.slowed == {"warmup": 2}
