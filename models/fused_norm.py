"""Batch norm, optional addition and ReLU as fused Triton kernels, with gradients. Import only where Triton is there.

Stock PyTorch takes a pass over memory for each of these operations, and its statistics kernels are slow in bf16: in a
ResNet-18 on 32x32 pixels they take as long as the convolutions. `norm_act` decides when this module serves.
"""

from functools import cache
from typing import Any, NamedTuple

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.modules.batchnorm import _BatchNorm

from . import fused_kernels as kernels
from .norm_sync import add_up, is_synced, processes

TILE_ELEMENTS = 4096  # values a program holds at a time
PROGRAMS_PER_PROCESSOR = 2  # of a reduction, on each streaming multiprocessor
WARPS, WARPS_OF_TWO_NORMS = 4, 8
FINISH = {"PARTS": 256, "CHANNELS": 8, "num_warps": 8}
ADD_NOTHING, ADD_RESIDUAL, ADD_NORMALISED = 0, 1, 2


class Plan(NamedTuple):
    """How a tensor is cut: `groups` of `rows` pixels, each in `tiles` of `tile` rows, reduced by `parts` programs.

    `processes` hold as much each and share the statistics.
    """

    channels: int
    groups: int
    rows: int
    tile: int
    tiles: int
    parts: int
    processes: int

    @property
    def shape(self) -> dict[str, int]:
        """What the kernels are compiled for."""
        return {"TILE": self.tile, "C": self.channels}


def make_plan(x: Tensor, groups: int, synced: bool = False) -> Plan:
    """The plan of (B, C, H, W), B divisible by `groups`; `synced` where other processes hold the rest of the batch."""
    batch, channels, height, width = x.shape
    rows = batch * height * width // groups
    tile = TILE_ELEMENTS // channels
    tiles = triton.cdiv(rows, tile)
    parts = max(1, min(tiles, _programs(x.device) // groups))
    return Plan(channels, groups, rows, tile, tiles, parts, processes() if synced else 1)


@cache
def _programs(device: torch.device) -> int:
    if device.type != "cuda":
        return PROGRAMS_PER_PROCESSOR  # the kernels are being interpreted
    return PROGRAMS_PER_PROCESSOR * torch.cuda.get_device_properties(device).multi_processor_count


def _total(sums: Tensor, plan: Plan) -> tuple[Tensor, int, int]:
    """Sums (..., groups, parts, C) over all processes, the parts left in them and the rows behind each group."""
    if plan.processes == 1:
        return sums, plan.parts, plan.rows
    sums = sums.sum(-2, keepdim=True)
    add_up(sums)
    return sums, 1, plan.rows * plan.processes


def _batch_affine(x: Tensor, norm: _BatchNorm, plan: Plan) -> Tensor:
    """Scale, offset, mean, 1 / deviation by the batch's statistics: float32 (4, groups, C). Moves the running ones."""
    sums = x.new_empty((2, plan.groups, plan.parts, plan.channels), dtype=torch.float32)
    affine = x.new_empty((4, plan.groups, plan.channels), dtype=torch.float32)
    kernels.reduce_moments[(plan.parts, plan.groups)](
        x, norm.running_mean, sums, plan.rows, plan.tiles, **plan.shape, num_warps=WARPS
    )
    sums, parts, rows = _total(sums, plan)
    kernels.finish_moments[(plan.channels // FINISH["CHANNELS"],)](
        sums, norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.num_batches_tracked, affine,
        rows, parts, norm.eps, norm.momentum, GROUPS=plan.groups, C=plan.channels, **FINISH,
    )  # fmt: skip
    return affine


def _running_affine(norm: _BatchNorm) -> Tensor:
    """Scale and offset by the running statistics: float32 (2, 1, C)."""
    affine = norm.weight.new_empty((2, 1, norm.num_features), dtype=torch.float32)
    kernels.running_affine[(1,)](
        norm.weight, norm.bias, norm.running_mean, norm.running_var, affine, norm.eps, C=norm.num_features, num_warps=4
    )
    return affine


def _apply(x: Tensor, residual: Tensor | None, affine: Tensor, residual_affine: Tensor | None, plan: Plan) -> Tensor:
    add = ADD_NOTHING if residual is None else ADD_RESIDUAL if residual_affine is None else ADD_NORMALISED
    y = torch.empty_like(x)
    kernels.apply_affine[(plan.tiles, plan.groups)](
        x, x if residual is None else residual, affine, affine if residual_affine is None else residual_affine, y,
        plan.rows, ADD=add, **plan.shape, num_warps=WARPS,
    )  # fmt: skip
    return y


class FusedNormReLU(torch.autograd.Function):
    """Training mode: (x, residual, weights and biases of both norms) -> y; the norms themselves carry the buffers."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        residual: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        residual_weight: Tensor | None,
        residual_bias: Tensor | None,
        norm: _BatchNorm,
        residual_norm: _BatchNorm | None,
        groups: int,
    ) -> Tensor:
        plan = make_plan(x, groups, is_synced(norm))
        affine = _batch_affine(x, norm, plan)
        residual_affine = None
        if residual is not None and residual_norm is not None:
            residual_affine = _batch_affine(residual, residual_norm, plan)
        y = _apply(x, residual, affine, residual_affine, plan)
        ctx.plan, ctx.adds = plan, residual is not None
        ctx.save_for_backward(
            x,
            None if residual_affine is None else residual,
            None if residual is None else y,
            affine,
            residual_affine,
            weight,
            residual_weight,
        )
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, residual, y, affine, residual_affine, weight, residual_weight = ctx.saved_tensors
        plan: Plan = ctx.plan
        both = residual_affine is not None
        add = ADD_NORMALISED if both else ADD_RESIDUAL if ctx.adds else ADD_NOTHING
        dy = dy.contiguous(memory_format=torch.channels_last)
        dz = torch.empty_like(x) if ctx.adds else dy
        sums = x.new_empty((1 + both, 2, plan.groups, plan.parts, plan.channels), dtype=torch.float32)
        kernels.reduce_gradients[(plan.parts, plan.groups)](
            dy, x, residual if both else x, y if ctx.adds else x, affine, residual_affine if both else affine, dz,
            sums[0], sums[-1], plan.rows, plan.tiles, ADD=add, **plan.shape,
            num_warps=WARPS_OF_TWO_NORMS if both else WARPS,
        )  # fmt: skip
        sums, parts, rows = _total(sums, plan)
        linear, dweight, dbias = _finish_gradients(sums[0], affine, weight, plan, parts, rows)
        residual_linear, residual_dweight, residual_dbias = linear, None, None
        if both:
            residual_linear, residual_dweight, residual_dbias = _finish_gradients(
                sums[1], residual_affine, residual_weight, plan, parts, rows
            )
        dx = torch.empty_like(x)
        second = torch.empty_like(x) if both else dz
        kernels.apply_gradients[(plan.tiles, plan.groups)](
            dz, x, residual if both else x, affine, linear, residual_linear, dx, second, plan.rows,
            ADD=add, **plan.shape, num_warps=WARPS,
        )  # fmt: skip
        dresidual = second if ctx.adds else None
        return dx, dresidual, dweight, dbias, residual_dweight, residual_dbias, None, None, None


def _finish_gradients(
    sums: Tensor, affine: Tensor, weight: Tensor, plan: Plan, parts: int, rows: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The factors of dx, float32 (3, groups, C), and this process's share of a norm's weight and bias gradients.

    `sums` are those of all processes, so that an even share is as good as its own: gradients are added up later.
    """
    linear = affine.new_empty((3, plan.groups, plan.channels))
    dweight, dbias = torch.empty_like(weight), torch.empty_like(weight)
    kernels.finish_gradients[(plan.channels // FINISH["CHANNELS"],)](
        sums, affine, linear, dweight, dbias, rows, parts, GROUPS=plan.groups, C=plan.channels, **FINISH
    )
    if plan.processes > 1:
        torch._foreach_div_([dweight, dbias], plan.processes)
    return linear, dweight, dbias


def fused_norm_relu(
    x: Tensor, norm: _BatchNorm, residual: Tensor | None, residual_norm: _BatchNorm | None, groups: int
) -> Tensor:
    """ReLU(norm(x) [+ residual | + residual_norm(residual)]), all (B, C, H, W) channels_last of one dtype.

    In training mode each of `groups` equal parts of the batch has statistics of its own; evaluation mode has no
    gradients.
    """
    if norm.training:
        weights = (None, None) if residual_norm is None else (residual_norm.weight, residual_norm.bias)
        return FusedNormReLU.apply(x, residual, norm.weight, norm.bias, *weights, norm, residual_norm, groups)
    residual_affine = None if residual_norm is None else _running_affine(residual_norm)
    return _apply(x, residual, _running_affine(norm), residual_affine, make_plan(x, 1))
