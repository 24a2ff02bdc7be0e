"""Class-aware batches: rare classes are drawn more often, as repeat-factor sampling does (Gupta et al., LVIS, 2019).

Each class is drawn in proportion to the root of its given share: between as it comes, where a network forgets rare
classes, and all alike, where it learns their few images, wrong labels included, by heart.
"""

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context


def draw_rates(labels: Tensor, classes: int) -> Tensor:
    """float32 (N,): how often an image is drawn an epoch, by its given label int64 (N,): the root share of its class
    over its share, so that the labelled images together are drawn as often as there are; 1 where unlabelled (-1)."""
    known = labels >= 0
    shares = torch.bincount(labels[known], minlength=classes) / known.sum().clamp_min(1)
    roots = shares.sqrt()
    rates = roots / roots.sum().clamp_min(1e-12) / shares.clamp_min(1e-12)
    return torch.where(known, rates[labels.clamp_min(0)], torch.ones_like(labels, dtype=torch.float32))


def drawn(rows: Tensor, rates: Tensor | None, context: Context) -> Tensor:
    """The row numbers int64 (n,), each repeated as its rate (N,) says: the whole part surely, the rest by chance; as
    they are without rates, and where none would be left."""
    if rates is None:
        return rows
    uniform = torch.rand(len(rows), generator=context.generator, device=rows.device)
    chosen = rows.repeat_interleave((rates[rows] + uniform).long())
    return chosen if len(chosen) else rows
