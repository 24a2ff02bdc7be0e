"""What sits on top of a backbone's features."""

import torch
from torch import nn
from torch.nn import functional as F

CONTRASTIVE_DIM = 128


class ContrastiveHead(nn.Module):
    """Linear(d, d) - ReLU - Linear(d, 128), L2-normalised: (B, d) -> (B, 128), float32 under autocast too."""

    def __init__(self, features: int, outputs: int = CONTRASTIVE_DIM) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, features), nn.ReLU(), nn.Linear(features, outputs))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.layers(features).float(), dim=1)


def linear_head(features: int, classes: int) -> nn.Linear:
    """(B, features) -> (B, classes) logits, with bias and PyTorch's default init, as in SCAN."""
    return nn.Linear(features, classes)
