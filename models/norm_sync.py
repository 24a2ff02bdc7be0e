"""Batch norm whose statistics are those of the batches of all processes that share a run (torch.distributed).

All else in a network looks at one image at a time, so with this a batch gives the same wherever it is cut.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

_apart: ContextVar[bool] = ContextVar("apart", default=False)
_group: Any = None  # of processes that share a batch; None: all. Not a context variable: backward has its own threads


class SyncedNorm(nn.SyncBatchNorm):
    """PyTorch's synchronised batch norm, on a CPU too, and with timm's activation behind it where there is one.

    In a process that runs alone it is plain batch norm.
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor
    momentum: float

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, ...), as many rows in every process."""
        x = self._normalised(x)
        for name in ("drop", "act"):  # of timm's BatchNormAct2d
            x = getattr(self, name)(x) if hasattr(self, name) else x
        return x

    def _normalised(self, x: Tensor) -> Tensor:
        synced = is_synced(self)
        if synced and x.is_cuda:
            self.process_group = _group
            return super().forward(x)
        if self.training:
            self.num_batches_tracked += 1
        if synced:
            return self._on_cpu(x)
        return F.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, self.training, self.momentum, self.eps
        )

    def _on_cpu(self, x: Tensor) -> Tensor:
        dims = [0, *range(2, x.dim())]
        shape = [1, -1, *[1] * (x.dim() - 2)]
        count = x.numel() // x.shape[1] * processes()
        mean = _Total.apply(x.float().sum(dims)) / count
        away = x.float() - mean.view(shape)
        var = _Total.apply(away.square().sum(dims)) / count
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(var * (count / (count - 1)), self.momentum)
        scale = self.weight * (var + self.eps).rsqrt()
        return (away * scale.view(shape) + self.bias.view(shape)).to(x.dtype)


class _Total(torch.autograd.Function):
    """Sum over all processes, whose gradient is the sum of the gradients that they find."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.clone()
        add_up(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone()
        add_up(total)
        return total


def processes() -> int:
    """Number of processes that share a batch."""
    return dist.get_world_size(_group) if dist.is_available() and dist.is_initialized() else 1


def add_up(sums: Tensor) -> None:
    """Add up `sums` over the processes that share a batch, in place."""
    dist.all_reduce(sums, group=_group)


def is_synced(norm: nn.Module) -> bool:
    """Whether this norm's next batch gets statistics over all processes that share it."""
    return isinstance(norm, SyncedNorm) and norm.training and processes() > 1 and not _apart.get()


def synchronise_norms(network: nn.Module) -> None:
    """Give every batch norm of a network statistics over all processes; names and weights stay.

    Raises ValueError for a norm that does more, which cannot be foreseen here.
    """
    for name, module in network.named_modules():
        if isinstance(module, _BatchNorm):
            plain = type(module) in (nn.BatchNorm1d, nn.BatchNorm2d) or type(module).__name__ == "BatchNormAct2d"
            if not (plain and module.affine and module.track_running_stats and module.momentum is not None):
                raise ValueError(f"the statistics of batch norm {name} cannot be shared by several processes")
            module.__class__ = SyncedNorm
            module.process_group = None  # type: ignore[assignment]


@contextmanager
def statistics_per_process() -> Iterator[None]:
    """Within it every process takes the statistics of its own part of a batch. Steps recorded before do not change."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


@contextmanager
def batches_shared_in(group: Any) -> Iterator[None]:
    """Within it a batch is shared by the processes of a `torch.distributed` group, not by all."""
    global _group
    before, _group = _group, group
    try:
        yield
    finally:
        _group = before
