"""Two pieces of work at the same time on one GPU: small batches leave a part of it idle."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import torch

from scanmix_cli.engine.parallel import world

A = TypeVar("A")
B = TypeVar("B")


def side_by_side(
    device: torch.device, first: Callable[[], A], second: Callable[[], B], pays: bool = True
) -> tuple[A, B]:
    """Both results. On a GPU `second` goes to a stream of its own, in a recording too, at the price of more memory;
    elsewhere, where it does not pay, and in processes that exchange messages, whose order has to be the same
    everywhere, one comes after the other.

    Neither may change what the other reads. Random numbers are drawn in the order given.
    """
    if device.type != "cuda" or world() > 1 or not pays:
        return first(), second()
    main, other = torch.cuda.current_stream(device), _other_stream(device)
    other.wait_stream(main)
    one = first()
    with torch.cuda.stream(other):
        two = second()
    main.wait_stream(other)
    return one, two


@cache
def _other_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
