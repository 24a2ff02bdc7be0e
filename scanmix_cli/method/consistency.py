"""Whether the networks say the same of an image and of its mirror image."""

from collections.abc import Sequence

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.models.network import ScanMixNet


def view_consistency(said: Tensor, nets: Sequence[ScanMixNet], images: ImageSet, context: Context) -> Tensor:
    """float32 (N,) in 0..1: the probability that the ensemble's statements on the two share, which is 1 less their
    total variation distance; `said` float32 (N, C) of the images as they are, softmax of the networks' summed logits.
    """
    logits = forward_all(nets[0], nets[0], images, context, view="mirrored")
    for net in nets[1:]:
        logits += forward_all(net, net, images, context, view="mirrored")
    return torch.minimum(said.to(logits.device), logits.softmax(1)).sum(1)
