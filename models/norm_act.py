"""Batch norm, addition and ReLU as one operation: fused on a GPU that can, plain PyTorch everywhere else.

The modules stay `nn.BatchNorm2d` or, in a run shared by several processes, `norm_sync.SyncedNorm`, so that the names in
saved networks do not depend on the path taken.
"""

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

MIN_CHANNELS, MAX_CHANNELS = 8, 2048  # of the fused kernels, which also need a power of two
_groups: ContextVar[int] = ContextVar("groups", default=1)
_fusing: ContextVar[bool] = ContextVar("fusing", default=True)


def norm_relu(
    x: Tensor, norm: _BatchNorm, residual: Tensor | None = None, residual_norm: _BatchNorm | None = None
) -> Tensor:
    """ReLU(norm(x)), ReLU(norm(x) + residual) or ReLU(norm(x) + residual_norm(residual)); all (B, C, H, W)."""
    groups = _groups.get() if norm.training else 1
    if _can_fuse(x, norm, residual, groups) and (residual_norm is None or _has_statistics(residual_norm)):
        from .fused_norm import fused_norm_relu  # needs Triton

        return fused_norm_relu(x, norm, residual, residual_norm, groups)
    if groups == 1:
        return _plain(x, norm, residual, residual_norm)
    residuals = [None] * groups if residual is None else residual.chunk(groups)
    parts = zip(x.chunk(groups), residuals, strict=True)
    return torch.cat([_plain(part, norm, other, residual_norm) for part, other in parts])


def _plain(x: Tensor, norm: _BatchNorm, residual: Tensor | None, residual_norm: _BatchNorm | None) -> Tensor:
    if residual is None:
        return F.relu(norm(x))
    return F.relu(norm(x) + (residual if residual_norm is None else residual_norm(residual)))


def _can_fuse(x: Tensor, norm: _BatchNorm, residual: Tensor | None, groups: int) -> bool:
    """Whether the fused kernels serve: in evaluation mode they have no gradient, in training mode no batch of one."""
    if not (x.is_cuda and _fusing.get() and triton_works() and _has_statistics(norm)):
        return False
    groups_fit = len(x) % groups == 0 and x.numel() // x.shape[1] > groups
    fits = groups_fit if norm.training else not torch.is_grad_enabled()
    return fits and _has_layout(x) and (residual is None or (residual.dtype == x.dtype and _has_layout(residual)))


def _has_statistics(norm: _BatchNorm) -> bool:
    return norm.affine and norm.track_running_stats and norm.momentum is not None


def _has_layout(x: Tensor) -> bool:
    channels = x.shape[1]
    return (
        MIN_CHANNELS <= channels <= MAX_CHANNELS
        and channels & (channels - 1) == 0
        and x.dtype in (torch.float32, torch.bfloat16, torch.float16)
        and x.is_contiguous(memory_format=torch.channels_last)
    )


@cache
def triton_works() -> bool:
    """Whether Triton is installed and can compile here, for which it needs a C compiler: tried out once a process."""
    if importlib.util.find_spec("triton") is None:
        return False
    try:
        from .fused_norm import fused_norm_relu

        norm = nn.BatchNorm2d(MIN_CHANNELS, device="cuda").eval()
        with torch.no_grad():
            fused_norm_relu(torch.zeros(1, MIN_CHANNELS, 1, 1, device="cuda"), norm, None, None, 1)
    except Exception as error:  # the compilers beneath raise whatever they like
        reason = str(error).strip().partition("\n")[0][:200]
        warnings.warn(f"batch norm is not fused and slower: {type(error).__name__}: {reason}", stacklevel=2)
        return False
    return True


@contextmanager
def plain_norms() -> Iterator[None]:
    """Within it the fused kernels stay unused, to compare with them. A step recorded before is not changed by it."""
    token = _fusing.set(False)
    try:
        yield
    finally:
        _fusing.reset(token)


@contextmanager
def statistics_per_group(groups: int) -> Iterator[None]:
    """Within it every `norm_relu` in training mode gives each of `groups` equal parts of a batch its own statistics."""
    token = _groups.set(groups)
    try:
        yield
    finally:
        _groups.reset(token)


def forward_groups(function: Callable[[Tensor], Tensor], backbone: nn.Module, x: Tensor, groups: int) -> Tensor:
    """`function`, a forward pass through `backbone` in training mode, as if each of `groups` equal parts of the batch x
    came alone; outputs (B, ...) in the order given.

    A single pass on a GPU, if every norm of the backbone is a `norm_relu` (its attribute `norms_in_groups`).
    """
    if x.is_cuda and getattr(backbone, "norms_in_groups", False):
        with statistics_per_group(groups):
            return function(x)
    return torch.cat([function(part) for part in x.chunk(groups)])
