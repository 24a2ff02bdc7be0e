"""Run by test_fused_norm.py with TRITON_INTERPRET=1: fused kernels on the CPU beside nn.BatchNorm2d, as JSON lines."""

import json
from collections.abc import Callable

import torch
from scanmix_cli.models.fused_norm import fused_norm_relu
from torch import Tensor, nn
from torch.nn import functional as F

SHAPE = (6, 16, 9, 9)  # 162 pixels in a group of two images: not a whole number of tiles, several programs


def tensor(seed: int, dtype: torch.dtype) -> Tensor:
    noise = torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed)) * (1 + seed) + seed
    return noise.to(dtype).contiguous(memory_format=torch.channels_last)


def batch_norm(seed: int) -> nn.BatchNorm2d:
    generator = torch.Generator().manual_seed(seed)
    norm = nn.BatchNorm2d(SHAPE[1], eps=1e-3, momentum=0.2)
    with torch.no_grad():
        for value in (norm.weight, norm.bias, norm.running_mean):
            value.copy_(torch.randn(SHAPE[1], generator=generator))
        norm.running_var.copy_(torch.rand(SHAPE[1], generator=generator) + 0.5)
    return norm


def plain(x: Tensor, norm: nn.Module, residual: Tensor | None, residual_norm: nn.Module | None, groups: int) -> Tensor:
    parts = []
    for k in range(groups):
        value = norm(x.chunk(groups)[k])
        if residual is not None:
            other = residual.chunk(groups)[k]
            value = value + (other if residual_norm is None else residual_norm(other))
        parts.append(F.relu(value))
    return torch.cat(parts)


def outcome(function: Callable[..., Tensor], kind: str, groups: int, inputs: list[Tensor], train: bool) -> dict:
    """Everything that leaves one call: output, gradients, buffers."""
    norms = [batch_norm(5).train(train), batch_norm(6).train(train) if kind == "two norms" else None]
    x, other = (value.detach().requires_grad_(train) for value in inputs)
    with torch.set_grad_enabled(train):
        y = function(x, norms[0], None if kind == "alone" else other, norms[1], groups)
    values = {"output": y.detach()}
    if train:
        (y.float() * tensor(3, torch.float32)).sum().backward()
        values |= {f"input {k} gradient": value.grad for k, value in enumerate((x, other)) if value.grad is not None}
    for k, norm in enumerate(norms):
        if norm is not None:
            values |= {f"norm {k} {name}": value.clone() for name, value in norm.named_buffers()}
            if train:
                values |= {f"norm {k} {name} gradient": value.grad for name, value in norm.named_parameters()}
    return values


def relative(value: Tensor, expected: Tensor) -> float:
    value, expected = value.double(), expected.double()
    return ((value - expected).norm() / expected.norm().clamp_min(1)).item()


def main() -> None:
    """In bf16 the fused path is compared with float32 arithmetic on the same bf16 inputs."""
    for kind in ("alone", "residual", "two norms"):
        for groups, dtype, train in (
            (1, torch.float32, True),
            (3, torch.float32, True),
            (2, torch.bfloat16, True),
            (1, torch.float32, False),
        ):
            inputs = [tensor(1, dtype), tensor(2, dtype)]
            fused = outcome(fused_norm_relu, kind, groups, inputs, train)
            expected = outcome(plain, kind, groups, [value.float() for value in inputs], train)
            assert fused.keys() == expected.keys()
            assert fused["output"].dtype == dtype
            case = {"kind": kind, "groups": groups, "dtype": str(dtype), "train": train}
            print(json.dumps(case | {"error": {name: relative(fused[name], expected[name]) for name in fused}}))


if __name__ == "__main__":
    main()
