"""Whether the networks say the same of an image and of its mirror image."""

from collections.abc import Sequence

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.models.network import ScanMixNet


def view_consistency(nets: Sequence[ScanMixNet], images: ImageSet, context: Context) -> Tensor:
    """float32 (N,) in 0..1: the probability that the ensemble's statements on the two share, which is 1 less their
    total variation distance; the ensemble is the softmax of the networks' summed logits."""
    as_is, mirrored = (_ensemble(nets, images, context, view) for view in ("test", "mirrored"))
    return torch.minimum(as_is, mirrored).sum(1)


def _ensemble(nets: Sequence[ScanMixNet], images: ImageSet, context: Context, view: str) -> Tensor:
    logits = forward_all(nets[0], nets[0], images, context, view=view)
    for net in nets[1:]:
        logits += forward_all(net, net, images, context, view=view)
    return logits.softmax(1)
