"""One gradient step, the same for every stage: clear, backward, sum over processes, clip, step."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.parallel import sum_gradients


@dataclass(frozen=True)
class Part:
    """Which part of a batch is at work: its share of the images, and whether it is the first, the last or both.

    Parts that are not `summed` make a step each, with a rate that is smaller by their share.
    """

    share: float = 1.0
    first: bool = True
    last: bool = True
    summed: bool = True


WHOLE = Part()


class Descent:
    """Takes gradient steps; `part` says how much of a batch the next loss stands for, `scale` multiplies every rate."""

    def __init__(self, compute: Compute) -> None:
        self.compute = compute
        self.part, self.scale = WHOLE, 1.0

    @property
    def completes(self) -> bool:
        """Whether the loss at work ends with a step of the optimiser: what follows a step waits for that."""
        return self.part.last or not self.part.summed

    def __call__(
        self, loss: Tensor, optimizer: torch.optim.Optimizer, keep_zeros: bool = False, clip_norm: float = 0.0
    ) -> None:
        """Step `optimizer` down `loss`, a scalar mean over the images at work.

        With `keep_zeros` what had a gradient before has one of zeros where the loss gives it none, so that weight decay
        goes on there.
        clip_norm > 0 bounds the norm of all gradients together.
        """
        part, before = self.part, list[Tensor]()
        own = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        if part.first or not part.summed:
            before = [parameter for parameter in own if parameter.grad is not None] if keep_zeros else []
            optimizer.zero_grad()
        self.compute.backward(loss * part.share if part.summed and part.share < 1 else loss, optimizer)
        for parameter in before:
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        if not self.completes:
            return
        sum_gradients(own)
        if clip_norm > 0:
            torch.nn.utils.clip_grad_norm_(own, clip_norm)
        with _scaled(optimizer, self.scale if part.summed else self.scale * part.share):
            optimizer.step()


@contextmanager
def _scaled(optimizer: torch.optim.Optimizer, scale: float) -> Iterator[None]:
    """Multiply the learning rates for the time being; rates that are tensors keep their place, for recorded steps."""
    if scale == 1.0:
        yield
        return
    rates = [
        group["lr"].clone() if isinstance(group["lr"], Tensor) else group["lr"] for group in optimizer.param_groups
    ]
    for group in optimizer.param_groups:
        group["lr"] = group["lr"].mul_(scale) if isinstance(group["lr"], Tensor) else group["lr"] * scale
    try:
        yield
    finally:
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = group["lr"].copy_(rate) if isinstance(rate, Tensor) else rate
