"""Backbone plus heads: the two networks the method trains."""

import torch
from torch import nn

from .heads import ContrastiveHead, linear_head


class ScanMixNet(nn.Module):
    """One network of the pair: a backbone under two linear heads that never share a loss.

    `class_head` ("head_ssl") gives class logits, is trained with labels and is what a user sees; `cluster_head`
    ("head_clu") gives cluster logits, is label-free and is used by the clustering loss only.
    """

    def __init__(self, backbone: nn.Module, classes: int, clusters: int | None = None) -> None:
        """`backbone` comes from `build_backbone`; `clusters` is `classes` unless said otherwise."""
        super().__init__()
        width = int(backbone.features)  # type: ignore[arg-type]
        self.backbone = backbone
        self.class_head = linear_head(width, classes)
        self.cluster_head = linear_head(width, classes if clusters is None else clusters)

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) -> (B, backbone.features)."""
        return self.backbone(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) -> (B, classes) class logits."""
        return self.class_head(self.features(x))

    def cluster_logits(self, x: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) -> (B, clusters) cluster logits."""
        return self.cluster_head(self.features(x))


class ContrastiveNet(nn.Module):
    """Backbone and projection for pre-training: (B, 3, H, W) -> (B, 128) unit vectors in float32."""

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.contrastive_head = ContrastiveHead(int(backbone.features))  # type: ignore[arg-type]

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """(B, 3, H, W) -> (B, backbone.features)."""
        return self.backbone(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.contrastive_head(self.features(x))
