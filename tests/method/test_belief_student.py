"""A student of the EM loop on beliefs: its head, its statistics, its averaged weights, its steps."""

from dataclasses import replace

import pytest
import torch
from toy_beliefs import CONTEXT_IMAGES, SETTINGS, student
from toy_runs import toy_context, toy_images

from scanmix_cli.method.belief_step import BeliefStep
from scanmix_cli.method.student import look_closely, renew_statistics, start_head


def test_head_starts_from_the_votes() -> None:
    one, targets = student(), torch.eye(3).repeat(4, 1)
    features = 5 * torch.eye(128)[:3].repeat(4, 1)
    start_head(one, features, targets, sharpness=10.0)
    for net in (one.net, one.averaged):
        torch.testing.assert_close(net.class_head(features), 10 * targets, rtol=0.05, atol=0.5)


def test_sight_agrees_with_the_network() -> None:
    one, context = student(), toy_context()
    sight = look_closely(one.averaged, CONTEXT_IMAGES, context)
    batch = CONTEXT_IMAGES.view("test")(CONTEXT_IMAGES.pixels, None)
    with torch.no_grad():
        torch.testing.assert_close(sight.probabilities, one.averaged.eval()(batch).softmax(1), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(sight.features.norm(dim=1), torch.ones(96))


def test_statistics_are_those_of_the_images() -> None:
    images, one = toy_images(16), student()
    norm = one.net.backbone.stem[1]
    norm.running_mean.fill_(100.0)
    renew_statistics(one.net, images, toy_context())
    assert not one.net.training
    assert norm.momentum == 0.1
    with torch.no_grad():
        before = one.net.backbone.stem[0](images.view("test")(images.pixels, None))
    torch.testing.assert_close(norm.running_mean, before.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)


def test_average_follows_the_weights() -> None:
    one = student(replace(SETTINGS, average=0.75, alpha=0.0))
    old, kept = (next(net.parameters()).clone() for net in (one.net, one.averaged))
    step = BeliefStep(one, CONTEXT_IMAGES, replace(SETTINGS, average=0.75), toy_context())
    step.targets.fill_(1 / 3)
    one.net.train()
    step.step(torch.arange(16), CONTEXT_IMAGES.pixels[:16], torch.ones(()))
    new, average = next(one.net.parameters()), next(one.averaged.parameters())
    assert not torch.equal(old, new)
    torch.testing.assert_close(average, 0.75 * kept + 0.25 * new)


def test_both_views_are_mixed_with_the_same_image(monkeypatch: pytest.MonkeyPatch) -> None:
    images = toy_images(16)
    one, seen = student(), []
    step = BeliefStep(one, images, SETTINGS, toy_context())
    flat = images.pixels.float().mean((2, 3)).repeat(2, 1)[:, :, None, None].expand(32, 3, 16, 16)
    monkeypatch.setattr(step, "view", lambda *pixels: flat)
    features = one.net.backbone.forward
    monkeypatch.setattr(one.net.backbone, "forward", lambda x: seen.append(x) or features(x))
    step.step(torch.arange(16), images.pixels, torch.tensor(0.6))
    first, second = seen[0].chunk(2)
    torch.testing.assert_close(first, second)
    assert not torch.allclose(first, flat[:16])


def test_rows_of_no_weight_are_never_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    step = BeliefStep(student(), CONTEXT_IMAGES, SETTINGS, toy_context())
    drawn: list[int] = []
    monkeypatch.setattr(step, "captured", lambda rows, *_: drawn.extend(rows.tolist()) or torch.zeros(()))
    weights = (torch.arange(96) % 2).float()
    step.epoch(torch.full((96, 3), 1 / 3), weights, 0.01)
    assert len(drawn) == 96
    assert all(row % 2 for row in drawn)
