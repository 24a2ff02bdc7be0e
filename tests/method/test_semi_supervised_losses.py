"""DivideMix's targets and losses, worked out by hand."""

from math import exp, log

import pytest
import torch
from scipy.integrate import quad
from scipy.stats import beta
from toy_runs import toy_context, toy_images

from scanmix_cli.method.losses import (
    co_guess,
    co_refine,
    given_prior,
    negative_entropy,
    prior_loss,
    ramp_up,
    sharpen,
    soft_cross_entropy,
    squared_error,
    uniform_prior,
)
from scanmix_cli.method.mixmatch import cycle, mix_shares, mixup


def rows(*values: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(values)


def logits(*values: tuple[float, ...]) -> torch.Tensor:
    """Logits whose softmax is the given rows."""
    return torch.tensor(values).log()


def close(found: torch.Tensor, *expected: tuple[float, ...]) -> None:
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-6, rtol=1e-6)


def test_sharpening_raises_to_the_inverse_temperature() -> None:
    close(sharpen(rows((0.8, 0.2)), 0.5), (0.64 / 0.68, 0.04 / 0.68))
    close(sharpen(rows((0.8, 0.2)), 1.0), (0.8, 0.2))
    close(sharpen(rows((0.5, 0.5), (1.0, 0.0)), 0.5), (0.5, 0.5), (1.0, 0.0))


def test_guessed_labels_are_the_mean_of_four_opinions_sharpened() -> None:
    own = (rows((1.0, 0.0)), rows((0.6, 0.4)))
    peer = (rows((0.5, 0.5)), rows((0.7, 0.3)))
    close(co_guess(own, peer, 1.0), (0.7, 0.3))
    close(co_guess(own, peer, 0.5), (0.49 / 0.58, 0.09 / 0.58))


def test_refined_labels_weigh_the_given_one_by_its_posterior() -> None:
    given, views = rows((1.0, 0.0)).repeat(3, 1), (rows((0.4, 0.6)).repeat(3, 1), rows((0.2, 0.8)).repeat(3, 1))
    posterior = torch.tensor([0.5, 1.0, 0.0])
    close(co_refine(given, posterior, views, 1.0), (0.65, 0.35), (1.0, 0.0), (0.3, 0.7))
    total = 0.65**2 + 0.35**2
    close(co_refine(given, posterior, views, 0.5)[:1], (0.65**2 / total, 0.35**2 / total))


def test_mixup_blends_inputs_and_targets_by_the_same_share() -> None:
    inputs = torch.tensor([0.0, 10.0, 20.0, 30.0]).view(4, 1, 1, 1)
    targets = rows((1.0, 0.0), (0.0, 1.0), (0.5, 0.5), (0.2, 0.8))
    mixed, mixed_targets = mixup(inputs, targets, torch.tensor([2, 0, 3, 1]), torch.tensor(0.75))
    assert mixed.flatten().tolist() == pytest.approx([5.0, 7.5, 22.5, 25.0])
    close(mixed_targets, (0.875, 0.125), (0.25, 0.75), (0.425, 0.575), (0.15, 0.85))


def test_mixup_without_unlabelled_rows_still_draws_partners_from_them() -> None:
    inputs, targets = torch.arange(4.0).view(4, 1), torch.eye(4)
    mixed, mixed_targets = mixup(inputs, targets, torch.tensor([3, 2]), torch.tensor(0.75))
    assert mixed.flatten().tolist() == pytest.approx([0.75, 1.25])
    close(mixed_targets, (0.75, 0.0, 0.0, 0.25), (0.0, 0.75, 0.25, 0.0))


def test_mix_shares_are_the_larger_part_of_beta_draws() -> None:
    uniform = torch.rand(50, generator=torch.Generator().manual_seed(3))
    shares = mix_shares(50, 1.0, toy_context(seed=3))  # Beta(1, 1) is the uniform distribution
    torch.testing.assert_close(shares, torch.maximum(uniform, 1 - uniform))
    expected, _ = quad(lambda x: 2 * x * beta.pdf(x, 4, 4), 0.5, 1)
    many = mix_shares(20_000, 4.0, toy_context())
    assert many.mean().item() == pytest.approx(expected, abs=0.004)
    assert many.min() >= 0.5
    assert many.max() <= 1.0


def test_cycling_repeats_a_short_set_in_fresh_orders() -> None:
    numbers = torch.tensor([3, 5, 9, 11, 20])
    drawn = cycle(toy_images(), numbers, 13, toy_context())
    assert drawn.shape == (13,)
    for start in (0, 5):
        assert sorted(drawn[start : start + 5].tolist()) == numbers.tolist()
    assert drawn[:5].tolist() != drawn[5:10].tolist()
    assert len(set(drawn[10:].tolist())) == 3


def test_labelled_loss_is_cross_entropy_with_soft_targets() -> None:
    expected = -(0.75 * log(0.8) + 0.25 * log(0.2) + log(0.5)) / 2
    found = soft_cross_entropy(logits((0.8, 0.2), (0.5, 0.5)), rows((0.75, 0.25), (0.0, 1.0)))
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_unlabelled_loss_is_divided_by_the_classes() -> None:
    found = squared_error(logits((0.8, 0.2), (0.5, 0.5)), rows((0.5, 0.5), (0.5, 0.5)))
    assert found.item() == pytest.approx((0.09 + 0.09) / 2 / 2, abs=1e-6)
    four = squared_error(torch.zeros(1, 4), rows((1.0, 0.0, 0.0, 0.0)))
    assert four.item() == pytest.approx((0.75**2 + 3 * 0.25**2) / 4, abs=1e-6)


def test_a_given_prior_follows_the_labels_and_leaves_no_class_at_zero() -> None:
    prior = given_prior(torch.tensor([0, 0, 0, 2, -1]), 4)
    assert prior.tolist() == [0.5, 0.125, 0.25, 0.125]


def test_prior_loss_is_zero_for_a_uniform_mean() -> None:
    prior = uniform_prior(2, torch.device("cpu"))
    assert prior.tolist() == [0.5, 0.5]
    assert prior_loss(logits((0.9, 0.1), (0.1, 0.9)), prior).item() == pytest.approx(0.0, abs=1e-7)


def test_prior_loss_is_the_divergence_of_the_prior_from_the_mean() -> None:
    expected = 0.5 * log(0.5 / 0.8) + 0.5 * log(0.5 / 0.2)
    found = prior_loss(logits((0.9, 0.1), (0.7, 0.3)), uniform_prior(2, torch.device("cpu")))
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_confidence_penalty_is_the_mean_negative_entropy() -> None:
    expected = (0.8 * log(0.8) + 0.2 * log(0.2) + log(0.5)) / 2
    assert negative_entropy(logits((0.8, 0.2), (0.5, 0.5))).item() == pytest.approx(expected, abs=1e-6)


def test_unlabelled_weight_rises_over_sixteen_epochs_after_warmup() -> None:
    assert ramp_up(0, 25, 16) == 0
    assert ramp_up(8, 25, 16) == 12.5
    assert ramp_up(16, 25, 16) == 25
    assert ramp_up(300, 25, 16) == 25
    assert ramp_up(0.5, 150, 16) == pytest.approx(150 / 32)


@pytest.mark.parametrize("reach", [200.0, 1e4])
def test_no_loss_takes_the_logarithm_of_zero(reach: float) -> None:
    certain = torch.tensor([[reach, 0.0, -reach]] * 2, requires_grad=True)
    targets = rows((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    assert exp(-reach) < 1e-45, "the third class underflows to probability zero"
    losses = torch.stack(
        [
            soft_cross_entropy(certain, targets),
            squared_error(certain, targets),
            prior_loss(certain, uniform_prior(3, torch.device("cpu"))),
            negative_entropy(certain),
        ]
    )
    assert losses.isfinite().all()
    losses.sum().backward()
    assert certain.grad is not None
    assert certain.grad.isfinite().all()
    assert sharpen(torch.tensor([[1.0, 0.0, 0.0]]), 0.5).isfinite().all()
