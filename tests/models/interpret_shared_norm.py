"""Run in two processes by test_fused_norm.py with TRITON_INTERPRET=1: fused kernels that share their statistics, each
process with half of the batch, beside nn.BatchNorm2d on the whole; writes the relative errors to the file named."""

import json
import sys
from pathlib import Path

import torch
from interpret_fused_norm import batch_norm, plain, relative, tensor
from scanmix_cli.models.fused_norm import fused_norm_relu
from scanmix_cli.models.norm_sync import synchronise_norms
from torch import nn

from scanmix_cli.engine import parallel

GROUPS = 3


def outcome(shared: bool) -> dict[str, torch.Tensor]:
    """Output, gradients and buffers of two norms that are added, over all images."""
    norms = nn.ModuleList([batch_norm(5), batch_norm(6)])
    if shared:
        synchronise_norms(norms)
    inputs = [tensor(seed, torch.float32).requires_grad_() for seed in (1, 2)]
    if shared:
        layout = torch.channels_last
        x, other = (parallel.own_share(one, GROUPS).contiguous(memory_format=layout) for one in inputs)
        y = parallel.gather(fused_norm_relu(x, norms[0], other, norms[1], GROUPS), GROUPS)
    else:
        y = plain(inputs[0], norms[0], inputs[1], norms[1], GROUPS)
    (y * tensor(3, torch.float32)).sum().backward()
    leaves = {f"input {k}": one for k, one in enumerate(inputs)} | dict(norms.named_parameters())
    parallel.sum_gradients(leaves.values() if shared else [])  # type: ignore[arg-type]
    found = {"output": y.detach()} | {f"{name} gradient": one.grad for name, one in leaves.items()}
    return found | {name: value.clone() for name, value in norms.named_buffers()}  # type: ignore[return-value]


torch.set_num_threads(1)
with parallel.joined("cpu"):
    found, expected = outcome(shared=True), outcome(shared=False)
    errors = {name: relative(found[name], value) for name, value in expected.items()}
    if parallel.is_writer():
        Path(sys.argv[1]).write_text(json.dumps(errors))
