"""Unbalanced classes: who is drawn how often, how even clusters have to be, and that the stages use it."""

import math
from dataclasses import replace

import pytest
import torch
from toy_runs import toy_context, toy_images, toy_profile, train

from scanmix_cli.method.class_draws import draw_rates, drawn
from scanmix_cli.method.losses import consistency, mean_entropy, scan_loss
from scanmix_cli.method.mixmatch import cycle
from scanmix_cli.profiles.fast import unbalanced


def test_classes_are_drawn_by_the_root_of_their_shares() -> None:
    labels = torch.tensor([0] * 16 + [1] * 4 + [2] + [-1])  # roots 4, 2, 1 of 21 labels
    rates = draw_rates(labels, 4)
    assert (rates[:21] * 7).tolist() == pytest.approx([4 * 21 / 16] * 16 + [2 * 21 / 4] * 4 + [21.0])
    assert rates[:21].sum().item() == pytest.approx(21)
    assert rates[21] == 1


def test_balanced_classes_are_drawn_once_each() -> None:
    labels = torch.arange(12) % 3
    rows = torch.tensor([2, 5, 7])
    assert drawn(rows, draw_rates(labels, 3) + 1e-6, toy_context()).tolist() == rows.tolist()
    assert drawn(rows, None, toy_context()) is rows


def test_over_many_draws_the_rate_is_the_mean() -> None:
    labels = torch.tensor([0] * 90 + [1] * 10)
    rates = draw_rates(labels, 2)
    rows = cycle(toy_images(), torch.arange(100), 20_000, toy_context(), rates)
    assert (labels[rows] == 1).float().mean().item() == pytest.approx(0.25, abs=0.01)  # roots 3 and 1


def test_where_chance_leaves_nobody_all_are_drawn() -> None:
    rows = torch.tensor([0])
    assert drawn(rows, torch.tensor([1e-9]), toy_context()).tolist() == [0]


def test_entropy_above_that_of_the_classes_wins_nothing() -> None:
    even = torch.tensor([[5.0, 0.0], [0.0, 5.0]], requires_grad=True)
    bar = 0.3
    loss = scan_loss(even, even, 2.0, bar)
    assert loss.item() == pytest.approx((consistency(even, even) - 2 * bar).item())
    alone = torch.autograd.grad(loss, even)[0]
    assert torch.allclose(alone, torch.autograd.grad(consistency(even, even), even)[0])
    assert scan_loss(even, even, 2.0, math.log(2)) == scan_loss(even, even, 2.0)
    assert mean_entropy(even).item() > bar


def test_the_bar_is_the_entropy_of_the_given_labels() -> None:
    images = replace(toy_images(4, unlabelled=0), labels=torch.tensor([0, 0, 0, -1]))
    shares = torch.tensor([4 / 6, 1 / 6, 1 / 6])
    assert images.most_entropy("given") == pytest.approx(-(shares * shares.log()).sum().item())
    assert images.most_entropy("uniform") == math.inf


def test_unbalanced_sets_train_through_all_stages() -> None:
    images = toy_images(48)
    labels = torch.where(torch.arange(48) < 40, images.labels.clamp_max(1), torch.tensor(2))
    outcome = train("scanmix", unbalanced(toy_profile(1)), replace(images, labels=labels))
    assert outcome.evidence is not None
    assert all(torch.isfinite(p).all() for net in outcome.nets for p in net.parameters())
