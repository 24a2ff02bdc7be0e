"""Every loss of the method can be minimised: it falls over twenty gradient steps of a small linear network."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize, one_hot

from scanmix_cli.method import losses

CLASSES = 4
GENERATOR = torch.Generator().manual_seed(0)
INPUTS = torch.randn(32, 10, generator=GENERATOR)
OTHERS = INPUTS + 0.3 * torch.randn(32, 10, generator=GENERATOR)
QUEUE = normalize(torch.randn(16, CLASSES, generator=GENERATOR), dim=1)
TRUTH = torch.randint(0, CLASSES, (32,), generator=GENERATOR)
SOFT = 0.8 * one_hot(TRUTH, CLASSES).float() + 0.05
UNIFORM = losses.uniform_prior(CLASSES, torch.device("cpu"))
ONE_SIDED = torch.tensor([3.0, 0.0, 0.0, 0.0])  # added to logits, so that the mean prediction starts far from uniform

Loss = Callable[[nn.Module], Tensor]


def unit(net: nn.Module, inputs: Tensor) -> Tensor:
    return normalize(net(inputs), dim=1)


LOSSES: dict[str, Loss] = {
    "nt-xent, released": lambda net: losses.nt_xent((unit(net, INPUTS), unit(net, OTHERS)), 0.1),
    "nt-xent, decoupled": lambda net: losses.nt_xent((unit(net, INPUTS), unit(net, OTHERS)), 0.1, True, True),
    "nt-xent, symmetric": lambda net: losses.nt_xent((unit(net, INPUTS), unit(net, OTHERS)), 0.1, True),
    "info-nce": lambda net: losses.info_nce(unit(net, INPUTS), unit(net, OTHERS).detach(), QUEUE, 0.2),
    "consistency": lambda net: losses.consistency(net(INPUTS), net(OTHERS)),
    "entropy": lambda net: -losses.mean_entropy(net(INPUTS) + ONE_SIDED),
    "scan": lambda net: losses.scan_loss(net(INPUTS), net(OTHERS), 5.0),
    "warm-up with penalty": lambda net: cross_entropy(net(INPUTS), TRUTH) + losses.negative_entropy(net(INPUTS)),
    "labelled": lambda net: losses.soft_cross_entropy(net(INPUTS), SOFT),
    "unlabelled": lambda net: losses.squared_error(net(INPUTS), SOFT),
    "prior": lambda net: losses.prior_loss(net(INPUTS) + ONE_SIDED, UNIFORM),
    "mixmatch": lambda net: (
        losses.soft_cross_entropy(net(INPUTS), SOFT)
        + 25 * losses.squared_error(net(OTHERS), SOFT)
        + losses.prior_loss(net(INPUTS), UNIFORM)
    ),
    "elr": lambda net: (
        cross_entropy(net(INPUTS), TRUTH) + 3 * losses.early_learning_regulariser(net(INPUTS).softmax(1), 0.7 * SOFT)
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_loss_falls_over_twenty_steps(name: str) -> None:
    net = nn.Linear(10, CLASSES)
    with torch.no_grad():
        net.weight.copy_(0.3 * torch.randn(CLASSES, 10, generator=torch.Generator().manual_seed(1)))
        net.bias.zero_()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    history = []
    for _ in range(21):
        loss = LOSSES[name](net)
        history.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert all(value == value for value in history), "no loss is NaN"
    assert history[20] < history[10] < history[0]
