"""Features of a still encoder in the place of images: computed once, then every stage trains on them."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from scanmix_cli.method.images import ImageSet

CHUNK = 4096  # images whose views are averaged at once
DROPPED = 0.3  # share of the features that a strong view hides


@dataclass(frozen=True)
class FeatureView:
    """What stands for an augmentation: stored views (B, V, D) -> float32 (B, D, 1, 1), a picture of one pixel.

    "test" is the mean of the stored views, "mirrored" the last of them, "weak" any, every other name any with features
    hidden.
    """

    name: str
    dimensions: int

    @property
    def draws(self) -> int:
        """Uniform random numbers an image needs."""
        return {"test": 0, "mirrored": 0, "weak": 1}.get(self.name, 1 + self.dimensions)

    def __call__(self, stored: Tensor, generator: torch.Generator | None = None) -> Tensor:
        uniforms = torch.rand((self.draws, len(stored)), generator=generator, device=stored.device)
        return self.apply(stored, uniforms)

    def apply(self, stored: Tensor, uniforms: Tensor) -> Tensor:
        """The view of given random numbers, `uniforms` (draws, B) in [0, 1); a pure function."""
        if not self.draws:
            seen = stored.float().mean(1) if self.name == "test" else stored[:, -1].float()
            return seen[:, :, None, None]
        which = (uniforms[0] * stored.shape[1]).long()
        chosen = stored.gather(1, which[:, None, None].expand(-1, 1, stored.shape[2])).squeeze(1).float()
        if self.draws > 1:
            chosen = chosen * (uniforms[1:].T >= DROPPED) / (1 - DROPPED)
        return chosen[:, :, None, None]


@dataclass(frozen=True)
class FeatureSet(ImageSet):
    """As an ImageSet, but `pixels` are features float16 (N, V, D) of V views of every image."""

    pixels: Tensor

    def view(self, name: str, crop: float = 1.0) -> Any:
        return FeatureView(name, self.pixels.shape[2])

    def mean_features(self) -> Tensor:
        """float32 (N, D): the mean of every image's views."""
        return torch.cat([part.float().mean(1) for part in self.pixels.split(CHUNK)])
