"""The EM algorithm on a toy problem: what the E-step and the M-step promise."""

from math import log

import pytest
import torch
from torch import Tensor

from scanmix_cli.method.bound import link_posterior, lower_bound
from scanmix_cli.method.em_view import EMView
from scanmix_cli.method.learner import Outlook

# Four points, two classes, two neighbours each; the second point has no label.
ANCHORS = torch.arange(4)
NEIGHBORS = torch.tensor([[1, 2], [0, 3], [3, 0], [2, 1]])
LABELS = torch.tensor([0, -1, 1, 1])
LOGITS = torch.tensor([[0.8, -0.2], [0.1, 0.3], [-0.5, 0.4], [0.6, 0.5]])


def posterior(logits: Tensor) -> Tensor:
    return link_posterior(logits.softmax(1), ANCHORS, NEIGHBORS)


def bound(q: Tensor, logits: Tensor) -> float:
    return lower_bound(q, logits.softmax(1), LABELS, ANCHORS, NEIGHBORS).total


def log_likelihood(logits: Tensor) -> float:
    """With links summed out only the given labels are left: P(z = 1) + P(z = 0) = 1."""
    probabilities = logits.softmax(1)
    return sum(log(probabilities[i, LABELS[i]].item()) for i in (0, 2, 3)) / 4


def divergence(q: Tensor, logits: Tensor) -> float:
    """KL(q || posterior), mean over links."""
    p = posterior(logits)
    return (q * (q / p).log() + (1 - q) * ((1 - q) / (1 - p)).log()).mean().item()


def test_link_posterior_is_the_probability_of_equal_classes() -> None:
    probabilities = torch.tensor([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9], [0.3, 0.7]])
    found = link_posterior(probabilities, torch.tensor([0, 3]), torch.tensor([[1, 2], [0, 3]]))
    expected = [[0.5, 0.8 * 0.1 + 0.2 * 0.9], [0.3 * 0.8 + 0.7 * 0.2, 0.3**2 + 0.7**2]]
    torch.testing.assert_close(found, torch.tensor(expected))


def test_expected_log_likelihood_and_entropy_by_hand() -> None:
    probabilities = torch.tensor([[0.8, 0.2], [0.5, 0.5]])
    found = lower_bound(
        torch.tensor([[0.7]]), probabilities, torch.tensor([0, 1]), torch.tensor([0]), torch.tensor([[1]])
    )
    assert found.expected == pytest.approx(log(0.8) + 0.7 * log(0.5) + 0.3 * log(0.5), abs=1e-5)
    assert found.entropy == pytest.approx(-(0.7 * log(0.7) + 0.3 * log(0.3)), abs=1e-5)
    assert found.total == pytest.approx(found.expected + found.entropy)


def test_e_step_makes_the_bound_touch_the_log_likelihood() -> None:
    assert divergence(posterior(LOGITS), LOGITS) == pytest.approx(0.0, abs=1e-7)
    assert bound(posterior(LOGITS), LOGITS) == pytest.approx(log_likelihood(LOGITS), abs=1e-5)


def test_any_other_q_lies_below_by_its_divergence() -> None:
    for shift in (-0.3, -0.1, 0.2):
        q = posterior(LOGITS) + shift
        assert divergence(q, LOGITS) > 0.01
        assert bound(q, LOGITS) == pytest.approx(log_likelihood(LOGITS) - divergence(q, LOGITS), abs=1e-5)


def slope(q: Tensor, logits: Tensor) -> Tensor:
    """Gradient of the expected complete-data log-likelihood, by central differences."""
    gradient, width = torch.zeros_like(logits), 1e-2
    for place in torch.cartesian_prod(torch.arange(4), torch.arange(2)):
        step = torch.zeros_like(logits)
        step[place[0], place[1]] = width
        ends = [lower_bound(q, (logits + s).softmax(1), LABELS, ANCHORS, NEIGHBORS).expected for s in (step, -step)]
        gradient[place[0], place[1]] = (ends[0] - ends[1]) / (2 * width)
    return gradient


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_an_accepted_m_step_does_not_lower_the_bound(rate: float) -> None:
    q = posterior(LOGITS)
    moved = LOGITS + rate * slope(q, LOGITS)
    before = lower_bound(q, LOGITS.softmax(1), LABELS, ANCHORS, NEIGHBORS)
    after = lower_bound(q, moved.softmax(1), LABELS, ANCHORS, NEIGHBORS)
    assert after.expected > before.expected + 1e-3, "the step is accepted: it raises the expected log-likelihood"
    assert after.total > before.total
    assert after.entropy == before.entropy, "q was held"


def test_em_iterations_never_lower_the_log_likelihood() -> None:
    logits, likelihoods = LOGITS.clone(), []
    for _ in range(8):
        q = posterior(logits)
        likelihoods.append(bound(q, logits))
        logits = logits + 0.5 * slope(q, logits)
        assert bound(q, logits) > likelihoods[-1]
        assert log_likelihood(logits) >= bound(q, logits) - 1e-5
    assert likelihoods == sorted(likelihoods)
    assert likelihoods[-1] > likelihoods[0] + 0.1


def test_certain_predictions_keep_the_bound_finite() -> None:
    certain = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    found = lower_bound(link_posterior(certain, ANCHORS, NEIGHBORS), certain, 1 - LABELS.abs(), ANCHORS, NEIGHBORS)
    assert torch.tensor([found.expected, found.entropy]).isfinite().all()


def outlook(logits: Tensor) -> Outlook:
    return Outlook(logits.softmax(1), torch.zeros(4), logits.argmax(1))


def test_view_of_an_epoch_reports_the_bound_before_and_after() -> None:
    view = EMView(NEIGHBORS, LABELS)
    moved = LOGITS + slope(posterior(LOGITS), LOGITS)
    peer = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    values = view.values([outlook(LOGITS), outlook(peer)], [outlook(moved), outlook(peer)])
    assert values["em_bound_before"] == pytest.approx(log_likelihood(LOGITS), abs=1e-5)
    assert values["em_bound"] > values["em_bound_before"]
    assert values["em_bound"] == pytest.approx(values["em_expected_log_likelihood"] + values["em_entropy"])
    assert values["links_kept"] == 4, "the peer's classes are 0 0 1 1: links 0-1, 1-0, 2-3 and 3-2"
    same = (moved.argmax(1)[:2].unique().numel() == 1) + (moved.argmax(1)[2:].unique().numel() == 1)
    assert values["links_kept_alike"] == pytest.approx(2 * same / 4)


def test_view_follows_about_a_thousand_images_of_a_large_set() -> None:
    view = EMView(torch.zeros(25_000, 2, dtype=torch.int64), torch.zeros(25_000, dtype=torch.int64))
    assert len(view.anchors) == 1000
    assert view.anchors.max() < 25_000
