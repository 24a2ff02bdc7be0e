"""Networks that do not look at each other while they are trained: at the same time, by a team of processes each."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import nn

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import can_be_teams, from_teams, in_team
from scanmix_cli.models.norm_sync import batches_shared_in

Value = TypeVar("Value")
LARGEST_SEED = 2**62


def each_apart(work: Callable[[int], Value], nets: Sequence[nn.Module], context: Context) -> list[Value]:
    """What `work(k)`, which trains `nets[k]` and changes nothing else, returns for every network.

    Where the processes make as many teams as there are networks, each trains one on whole batches, and all have all
    networks afterwards; else one network is trained after the other. Every one has random numbers of its own, so that
    it comes out the same either way. Optimisers are left as their team has them: their state must not outlast `work`.
    """
    generator = context.generator
    seeds = torch.randint(LARGEST_SEED, (len(nets) + 1,), generator=generator, device=context.device).tolist()

    def seeded(k: int) -> Value:
        generator.manual_seed(seeds[k])
        return work(k)

    if can_be_teams(len(nets)):
        with in_team(len(nets)) as (own, group), batches_shared_in(group):
            value = seeded(own)
        values = from_teams(value, [net.state_dict().values() for net in nets])
    else:
        values = [seeded(k) for k in range(len(nets))]
    generator.manual_seed(seeds[-1])
    return values
