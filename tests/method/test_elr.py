"""ELR+, the strong outsider: its regulariser, its targets, its averaged weights."""

import copy
from dataclasses import replace
from math import log

import pytest
import torch
from toy_runs import CLASSES, toy_context, toy_images, toy_profile

from scanmix_cli.method.elr import WEIGHT_MOMENTUM, ElrStep, Targets
from scanmix_cli.method.losses import early_learning_regulariser
from scanmix_cli.method.networks import scanmix_net


def test_regulariser_is_the_log_of_one_minus_the_overlap() -> None:
    predictions = torch.tensor([[0.5, 0.5], [0.9, 0.1]])
    targets = torch.tensor([[0.8, 0.2], [0.6, 0.0]])
    expected = (log(1 - 0.5) + log(1 - 0.54)) / 2
    assert early_learning_regulariser(predictions, targets).item() == pytest.approx(expected, abs=1e-6)


def test_regulariser_of_full_agreement_is_bounded() -> None:
    certain = torch.eye(2)
    assert early_learning_regulariser(certain, certain).item() == pytest.approx(log(1e-4), abs=1e-2)


def test_targets_are_a_running_average_of_the_rows_seen() -> None:
    targets = Targets(4, 2, torch.device("cpu"))
    first = targets.update(torch.tensor([1, 3]), torch.tensor([[0.5, 0.5], [1.0, 0.0]]), 0.7)
    torch.testing.assert_close(first, torch.tensor([[0.15, 0.15], [0.3, 0.0]]))
    second = targets.update(torch.tensor([3]), torch.tensor([[0.2, 0.8]]), 0.7)
    torch.testing.assert_close(second, torch.tensor([[0.7 * 0.3 + 0.3 * 0.2, 0.3 * 0.8]]))
    expected = torch.tensor([[0.0, 0.0], [0.15, 0.15], [0.0, 0.0], [0.27, 0.24]])
    torch.testing.assert_close(targets.average, expected)


def test_a_step_moves_the_averaged_weights_a_little_and_the_peers_not_at_all() -> None:
    context, images, settings = toy_context(), toy_images(unlabelled=0), toy_profile().supervised
    net, peer = scanmix_net("small", 3, context, 1), scanmix_net("small", 3, context, 2)
    averaged, peer_averaged = copy.deepcopy(net).eval(), copy.deepcopy(peer).eval()
    start, peer_start = averaged.class_head.weight.clone(), copy.deepcopy(peer_averaged.state_dict())
    step = ElrStep(net, averaged, peer_averaged, images, settings, context)
    assert step.step(torch.arange(16), images.pixels[:16], torch.tensor(0.8)).isfinite()
    moved = net.class_head.weight
    assert not torch.equal(moved, start)
    torch.testing.assert_close(
        averaged.class_head.weight, WEIGHT_MOMENTUM * start + (1 - WEIGHT_MOMENTUM) * moved, atol=1e-7, rtol=0
    )
    for name, value in peer_averaged.state_dict().items():
        assert torch.equal(value, peer_start[name]), name
    assert (step.targets.average[:16].sum(1) > 0.29).all()
    assert (step.targets.average[16:] == 0).all()


def elr_step(weight: float) -> tuple[ElrStep, torch.Tensor]:
    """A step and the pixels of 24 images."""
    context, settings = toy_context(), toy_profile().supervised
    nets = [scanmix_net("small", CLASSES, context, k) for k in (1, 2, 3)]
    settings = replace(settings, view="test", elr_weight=weight)
    images = toy_images(24, unlabelled=0)
    return ElrStep(nets[0], nets[1].eval(), nets[2].eval(), images, settings, context), images.pixels


def test_elr_targets_come_from_the_peers_averaged_weights() -> None:
    step, pixels = elr_step(3.0)
    rows = torch.arange(8)
    with torch.no_grad():
        peer = step.peer(step.view(pixels[rows], None)).softmax(1)
    step.step(rows, pixels[rows], torch.tensor(1.0))
    torch.testing.assert_close(step.targets.average[rows], 0.3 * peer)


def test_elr_adds_the_weighted_regulariser() -> None:
    rows, losses = torch.arange(8), []
    for weight in (0.0, 3.0):
        step, pixels = elr_step(weight)
        with torch.no_grad():
            inputs = step.view(pixels[rows], None)
            regulariser = early_learning_regulariser(
                step.net.train()(inputs).softmax(1), 0.3 * step.peer(inputs).softmax(1)
            )
        losses.append(step.step(rows, pixels[rows], torch.tensor(1.0)).item())
    assert losses[1] - losses[0] == pytest.approx(3 * regulariser.item(), rel=1e-3)
