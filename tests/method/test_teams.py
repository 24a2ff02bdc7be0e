"""Networks that are trained apart: in one process one after the other, with random numbers of their own."""

import pytest
import torch
from torch import nn
from toy_runs import toy_context

from scanmix_cli.engine import parallel
from scanmix_cli.method.teams import each_apart

NETS = [nn.Linear(1, 1), nn.Linear(1, 1)]


def test_every_network_has_random_numbers_of_its_own() -> None:
    def drawn(counts: tuple[int, int]) -> tuple[list[list[float]], float]:
        context = toy_context()
        found = each_apart(lambda k: torch.rand(counts[k], generator=context.generator).tolist(), NETS, context)
        return found, torch.rand(1, generator=context.generator).item()

    (few, one), after_few = drawn((1, 2))
    (many, same), after_many = drawn((5, 2))
    assert few == many[:1]
    assert one == same
    assert after_few == after_many
    assert len({*many, *one, after_few}) == 8, "three streams, none of them another one's"


def test_what_goes_wrong_in_the_work_is_not_swallowed() -> None:
    def fail(k: int) -> None:
        raise ValueError(f"network {k}")

    with pytest.raises(ValueError, match="network 0"):
        each_apart(fail, NETS, toy_context())


def test_one_process_makes_no_teams() -> None:
    assert not parallel.can_be_teams(2)
