"""Contrastive pre-training: both forms of NT-Xent, MoCo's loss, its queue and its key network."""

from math import exp, log

import pytest
import torch
from torch import Tensor, nn

from scanmix_cli.method.losses import info_nce, nt_xent
from scanmix_cli.method.moco import SHUFFLE_GROUPS, KeyQueue, follow, shuffled_keys

FIRST = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
SECOND = torch.tensor([[0.6, 0.8], [0.8, 0.6]])


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_released_nt_xent_has_the_first_views_as_anchors() -> None:
    # at t = 0.5 each first view sees its partner at 0.6 / t, the other second view at 0.8 / t, the other first at 0
    expected = log(exp(1.2) + exp(1.6) + exp(0.0)) - 1.2
    assert nt_xent((FIRST, SECOND), 0.5).item() == pytest.approx(expected, abs=1e-6)


def test_symmetric_nt_xent_has_both_views_as_anchors() -> None:
    first = log(exp(1.2) + exp(1.6) + exp(0.0)) - 1.2
    second = log(exp(1.2) + exp(1.6) + exp(1.92)) - 1.2  # the two second views have the inner product 0.96
    assert nt_xent((FIRST, SECOND), 0.5, symmetric=True).item() == pytest.approx((first + second) / 2, abs=1e-6)


def test_symmetric_nt_xent_does_not_care_which_view_comes_first() -> None:
    views = torch.nn.functional.normalize(torch.randn(2, 6, 8, generator=generator()), dim=2)
    forward, backward = nt_xent((views[0], views[1]), 0.1, True), nt_xent((views[1], views[0]), 0.1, True)
    assert forward.item() == pytest.approx(backward.item(), abs=1e-6)
    released = [nt_xent((views[0], views[1]), 0.1).item(), nt_xent((views[1], views[0]), 0.1).item()]
    assert forward.item() == pytest.approx(sum(released) / 2, abs=1e-6)


def test_decoupled_nt_xent_leaves_the_partner_out_of_the_comparison() -> None:
    first = log(exp(1.6) + exp(0.0)) - 1.2
    second = log(exp(1.6) + exp(1.92)) - 1.2
    assert nt_xent((FIRST, SECOND), 0.5, decoupled=True).item() == pytest.approx(first, abs=1e-6)
    both = nt_xent((FIRST, SECOND), 0.5, symmetric=True, decoupled=True).item()
    assert both == pytest.approx((first + second) / 2, abs=1e-6)


def test_with_more_views_each_pair_of_an_image_is_compared_with_all_views_of_the_others() -> None:
    # At t = 1 the anchor (1, 0) has partners at 0.6 and 0 and the other image's views at 0, 0.8, 1
    third = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    others = exp(0.0) + exp(0.8) + exp(1.0)
    of_first_image = (log(others + exp(0.6)) - 0.6 + log(others + exp(0.0)) - 0.0) / 2
    # the anchor (0, 1) has partners at 0.6 and 0 and the other image's at 0, 0.8, 1: the same by symmetry
    assert nt_xent((FIRST, SECOND, third), 1.0).item() == pytest.approx(of_first_image, abs=1e-6)
    decoupled = (log(others) - 0.6 + log(others) - 0.0) / 2
    assert nt_xent((FIRST, SECOND, third), 1.0, decoupled=True).item() == pytest.approx(decoupled, abs=1e-6)
    # second views: (0.6, 0.8) has partners at 0.6 and 0.8, others at 0.8, 0.96, 0.6; third views as the first ones
    others_of_second = exp(0.8) + exp(0.96) + exp(0.6)
    second = (log(others_of_second + exp(0.6)) - 0.6 + log(others_of_second + exp(0.8)) - 0.8) / 2
    others_of_third = exp(1.0) + exp(0.6) + exp(0.0)
    last = (log(others_of_third + exp(0.0)) - 0.0 + log(others_of_third + exp(0.8)) - 0.8) / 2
    expected = (of_first_image + second + last) / 3
    assert nt_xent((FIRST, SECOND, third), 1.0, symmetric=True).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize("symmetric", [False, True])
def test_nt_xent_stays_finite_at_a_tiny_temperature(symmetric: bool, decoupled: bool) -> None:
    first = FIRST.clone().requires_grad_()
    loss = nt_xent((first, SECOND), 1e-4, symmetric, decoupled)
    loss.backward()
    assert loss.isfinite()
    assert first.grad is not None
    assert first.grad.isfinite().all()


def test_moco_loss_weighs_the_own_key_against_the_queue() -> None:
    query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.6, 0.8]])
    queue = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    expected = log(exp(1.2) + exp(0.0) + exp(-2.0)) - 1.2
    assert info_nce(query, key, queue, 0.5).item() == pytest.approx(expected, abs=1e-6)


def test_moco_loss_is_a_mean_and_no_query_sees_another_ones_key() -> None:
    queue = torch.tensor([[0.0, 1.0]])
    both = info_nce(FIRST, SECOND, queue, 0.5)
    single = [info_nce(FIRST[k : k + 1], SECOND[k : k + 1], queue, 0.5).item() for k in (0, 1)]
    assert both.item() == pytest.approx(sum(single) / 2, abs=1e-6)


def keys(*values: float) -> Tensor:
    return torch.tensor([[value, -value] for value in values])


def first_column(queue: KeyQueue) -> list[float]:
    return queue.keys[:, 0].tolist()


def test_queue_starts_with_unit_vectors() -> None:
    queue = KeyQueue(6, 5, generator())
    assert queue.keys.shape == (6, 5)
    torch.testing.assert_close(queue.keys.norm(dim=1), torch.ones(6))


def test_queue_is_first_in_first_out() -> None:
    queue = KeyQueue(4, 2, generator())
    queue.push(keys(1, 2))
    assert first_column(queue)[:2] == [1, 2]
    queue.push(keys(3, 4))
    assert first_column(queue) == [1, 2, 3, 4]
    queue.push(keys(5, 6))
    assert first_column(queue) == [5, 6, 3, 4]


def test_queue_wraps_around_within_a_push() -> None:
    queue = KeyQueue(5, 2, generator())
    queue.push(keys(1, 2, 3))
    queue.push(keys(4, 5, 6))
    assert first_column(queue) == [6, 2, 3, 4, 5]
    assert queue.position.item() == 1


def test_key_weights_follow_the_query_weights_with_momentum() -> None:
    key_net, query_net = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    with torch.no_grad():
        query_net.weight.fill_(3.0)
        query_net.bias.fill_(-2.0)
        query_net.running_mean.fill_(9.0)  # type: ignore[union-attr]
    follow(key_net, query_net, 0.75)
    assert key_net.weight.tolist() == pytest.approx([1.5, 1.5])
    assert key_net.bias.tolist() == pytest.approx([-0.5, -0.5])
    assert query_net.weight.tolist() == [3.0, 3.0]
    assert key_net.running_mean is not None
    assert key_net.running_mean.tolist() == [0.0, 0.0], "statistics are the key network's own"


class Recorder(nn.Module):
    """Returns its input and remembers the groups it came in."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[Tensor] = []

    def forward(self, views: Tensor) -> Tensor:
        self.groups.append(views)
        return views.flatten(1)


def test_shuffled_keys_come_back_in_the_order_of_their_views() -> None:
    views = torch.arange(48.0).view(16, 3, 1, 1)
    net = Recorder()
    returned = shuffled_keys(net, views.__getitem__, 16, generator())
    assert torch.equal(returned, views.flatten(1))
    assert [len(group) for group in net.groups] == [16 // SHUFFLE_GROUPS] * SHUFFLE_GROUPS
    assert not torch.equal(torch.cat(net.groups), views), "the keys were not computed in the queries' order"


def test_no_group_of_shuffled_keys_is_a_single_image() -> None:
    net = Recorder()
    shuffled_keys(net, torch.arange(15.0).view(5, 3, 1, 1).__getitem__, 5, generator())
    assert min(len(group) for group in net.groups) >= 2
