"""SCAN's loss: neighbours shall agree, clusters shall be used evenly."""

from math import log

import pytest
import torch

from scanmix_cli.method.losses import consistency, mean_entropy, scan_loss


def logits(*rows: tuple[float, ...]) -> torch.Tensor:
    """Logits whose softmax is the given rows."""
    return torch.tensor(rows).log()


def test_consistency_of_identical_one_hot_predictions_is_zero() -> None:
    certain = 1000.0 * torch.eye(4)
    assert consistency(certain, certain).item() == 0.0


def test_consistency_is_the_mean_log_probability_of_the_same_cluster() -> None:
    anchors, neighbors = logits((0.8, 0.2), (0.5, 0.5)), logits((0.6, 0.4), (0.9, 0.1))
    expected = -(log(0.8 * 0.6 + 0.2 * 0.4) + log(0.5)) / 2
    assert consistency(anchors, neighbors).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_entropy_of_uniform_predictions_is_log_of_the_classes(classes: int) -> None:
    assert mean_entropy(torch.zeros(7, classes)).item() == pytest.approx(log(classes), rel=1e-5)
    certain_but_even = 1000.0 * torch.eye(classes)
    assert mean_entropy(certain_but_even).item() == pytest.approx(log(classes), rel=1e-5)


def test_entropy_of_one_cluster_for_all_is_zero() -> None:
    assert mean_entropy(torch.tensor([[1000.0, 0.0, 0.0]]).repeat(5, 1)).item() == pytest.approx(0.0, abs=1e-6)


def test_entropy_is_that_of_the_mean_prediction() -> None:
    expected = -(0.7 * log(0.7) + 0.3 * log(0.3))
    assert mean_entropy(logits((0.9, 0.1), (0.5, 0.5))).item() == pytest.approx(expected, abs=1e-6)


def test_scan_loss_subtracts_the_weighted_entropy_of_the_anchors_alone() -> None:
    anchors, neighbors = logits((0.8, 0.2), (0.5, 0.5)), logits((0.6, 0.4), (0.9, 0.1))
    expected = consistency(anchors, neighbors) - 5.0 * mean_entropy(anchors)
    assert scan_loss(anchors, neighbors, 5.0).item() == pytest.approx(expected.item(), abs=1e-6)
    assert mean_entropy(anchors).item() != pytest.approx(mean_entropy(neighbors).item(), abs=1e-3)


def test_opposite_certainties_cost_much_but_stay_finite() -> None:
    anchors = torch.tensor([[500.0, -500.0]], requires_grad=True)
    loss = scan_loss(anchors, torch.tensor([[-500.0, 500.0]]), 5.0)
    loss.backward()
    assert 100 < loss.item() < 1e4
    assert anchors.grad is not None
    assert anchors.grad.isfinite().all()


def test_half_precision_predictions_are_scored_in_full_precision() -> None:
    anchors = torch.randn(8, 10, generator=torch.Generator().manual_seed(0)).bfloat16()
    assert scan_loss(anchors, anchors, 5.0).dtype == torch.float32
