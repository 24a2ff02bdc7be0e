"""ResNet-50, the network for large images."""

from torch import nn
from torchvision.models.resnet import Bottleneck, ResNet


class ResNet50(ResNet):
    """torchvision's ResNet-50 without its classifier: (B, 3, H, W) -> (B, 2048).

    Parameter names are torchvision's, so ImageNet and MoCo-v2 checkpoints load after their `fc` rows are removed.
    """

    features = 2048

    def __init__(self) -> None:
        super().__init__(Bottleneck, [3, 4, 6, 3])
        self.fc = nn.Identity()
