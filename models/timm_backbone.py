"""Any timm model as a backbone."""

import timm
import torch
from torch import nn


class TimmBackbone(nn.Module):
    """An untrained timm model without its classifier: (B, 3, H, W) -> (B, features).

    Wrapped, not changed: several timm models have a sub-module called `features`. Raises timm's error for an unknown
    name; the registry checks names first.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.body = timm.create_model(name, pretrained=False, num_classes=0)
        # Some models (MobileNetV3, EfficientViT) keep a widening layer in front of the removed classifier.
        width = getattr(self.body, "head_hidden_size", None) or self.body.num_features
        self.features = int(width)  # type: ignore[arg-type]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)
