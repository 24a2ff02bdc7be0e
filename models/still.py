"""An encoder that stands still, and the small network that is trained on its features.

Where outside weights see the images well already, and training the whole network would take too long, the features of
every image are computed once. The stages then train an `Adapter` on them; `StillBackbone` joins both for new images.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .network import ScanMixNet
from .norm_act import norm_relu

WIDTH = 512
MAPS = 2  # of the last stages: the layer after them was made for other classes, and leaves out what they still hold


class Adapter(nn.Module):
    """Features of a still encoder as pictures of one pixel, (B, D, 1, 1) -> (B, WIDTH)."""

    features = WIDTH
    norms_in_groups = True

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.layer = nn.Linear(dimensions, WIDTH, bias=False)  # on a CPU ten times as fast as a convolution
        self.norm = nn.BatchNorm2d(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return norm_relu(self.layer(x.flatten(1))[:, :, None, None], self.norm).flatten(1)


class Embedding(nn.Module):
    """A backbone's output, and mean and deviation of its last maps, side by side: (B, 3, S, S) -> (B, D) float32.

    Each part is centred and of length 1. A backbone that does not give out its maps is taken with its output alone.
    `center` (D,) is the mean of `raw` over the training images, 0 until it is set.
    """

    center: Tensor

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.has_maps = hasattr(getattr(backbone, "body", None), "forward_intermediates")
        with torch.no_grad():
            self.sizes = [part.shape[1] for part in self.eval()._parts(torch.zeros(1, 3, 64, 64))]
        self.register_buffer("center", torch.zeros(sum(self.sizes)))

    def _parts(self, x: Tensor) -> list[Tensor]:
        if not self.has_maps:
            return [self.backbone(x)]
        body: Any = self.backbone.body
        last, maps = body.forward_intermediates(x, indices=MAPS)
        means = [part.mean((2, 3)) for part in maps]
        return [body.forward_head(last), *means, *(part.std((2, 3), correction=0) for part in maps)]

    def _unit(self, x: Tensor) -> Tensor:
        """Every part of (B, D) at length 1."""
        return torch.cat([F.normalize(part, dim=1) for part in x.split(self.sizes, dim=1)], dim=1)

    def raw(self, x: Tensor) -> Tensor:
        """Parts of length 1 that are not centred, (B, 3, S, S) -> (B, D)."""
        return self._unit(torch.cat([part.float() for part in self._parts(x)], dim=1))

    def centered(self, raw: Tensor) -> Tensor:
        """(B, D) of `raw` -> (B, D)."""
        return self._unit(raw - self.center)

    def forward(self, x: Tensor) -> Tensor:
        return self.centered(self.raw(x))


class StillBackbone(nn.Module):
    """Embedding, which never leaves evaluation mode, then the adapter: (B, 3, S, S) -> (B, WIDTH)."""

    features = WIDTH

    def __init__(self, embedding: Embedding, adapter: Adapter | None = None) -> None:
        super().__init__()
        self.embedding = embedding.requires_grad_(False).eval()
        self.adapter = adapter or Adapter(sum(embedding.sizes))

    def train(self, mode: bool = True) -> "StillBackbone":
        super().train(mode)
        self.embedding.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        return self.adapter(self.embedding(x)[:, :, None, None])


def share_embedding(nets: Sequence[ScanMixNet]) -> None:
    """Have all networks use the embedding of the first, where theirs is the same, value by value."""
    first: Any = nets[0].backbone
    for net in nets[1:]:
        other: Any = net.backbone
        if isinstance(first, StillBackbone) and isinstance(other, StillBackbone):
            own, theirs = first.embedding.state_dict(), other.embedding.state_dict()
            if own.keys() == theirs.keys() and all(torch.equal(own[name], theirs[name]) for name in own):
                other.embedding = first.embedding


def features_of(nets: Sequence[ScanMixNet], batch: Tensor) -> list[Tensor]:
    """Every network's features of (B, 3, S, S); an embedding that all of them share looks at the batch once."""
    backbones: list[Any] = [net.backbone for net in nets]
    first = backbones[0]
    if all(isinstance(one, StillBackbone) and one.embedding is first.embedding for one in backbones):
        seen = first.embedding(batch)[:, :, None, None]
        return [one.adapter(seen) for one in backbones]
    return [net.features(batch) for net in nets]
