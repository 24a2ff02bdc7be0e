"""Any timm model as a backbone."""

from contextlib import suppress
from typing import Any

import timm
import torch
from torch import nn

# What lets a model with position embeddings take other sizes than the one it was made for; others know no such option.
_ANY_SIZE: tuple[dict[str, Any], ...] = (
    {"dynamic_img_size": True, "dynamic_img_pad": True},
    {"strict_img_size": False},
    {},
)


class TimmBackbone(nn.Module):
    """An untrained timm model without its classifier: (B, 3, H, W) -> (B, features).

    Wrapped, not changed: several timm models have a sub-module called `features`. Raises timm's error for an unknown
    name; the registry checks names first.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.body = _untrained(name)
        # Some models (MobileNetV3, EfficientViT) keep a widening layer in front of the removed classifier.
        width = getattr(self.body, "head_hidden_size", None) or self.body.num_features
        self.features = int(width)  # type: ignore[arg-type]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


def _untrained(name: str) -> nn.Module:
    for options in _ANY_SIZE[:-1]:
        with suppress(TypeError):
            return timm.create_model(name, pretrained=False, num_classes=0, **options)
    return timm.create_model(name, pretrained=False, num_classes=0)


Channels = tuple[float, float, float]


def normalisation(name: str) -> tuple[Channels, Channels]:
    """Mean and standard deviation of the three channels that the weights of timm model `name` were trained with."""
    config: Any = timm.get_pretrained_cfg(name)
    return tuple(config.mean), tuple(config.std)
