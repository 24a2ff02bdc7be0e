"""ResNet-50, the network for large images."""

import torch
from torch import nn
from torchvision.models import resnet

from .norm_act import norm_relu


class Bottleneck(resnet.Bottleneck):
    """torchvision's block with every norm, addition and ReLU as one operation."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = norm_relu(self.conv1(x), self.bn1)
        out = self.conv3(norm_relu(self.conv2(out), self.bn2))
        if self.downsample is None:
            return norm_relu(out, self.bn3, x)
        convolution, norm = self.downsample
        return norm_relu(out, self.bn3, convolution(x), norm)


class ResNet50(resnet.ResNet):
    """torchvision's ResNet-50 without its classifier: (B, 3, H, W) -> (B, 2048).

    Parameter names are torchvision's, so ImageNet and MoCo-v2 checkpoints load after their `fc` rows are removed.
    """

    features = 2048
    norms_in_groups = True  # every norm is a `norm_relu`

    def __init__(self) -> None:
        super().__init__(Bottleneck, [3, 4, 6, 3])
        self.fc = nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(norm_relu(self.conv1(x), self.bn1))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return x.mean((2, 3))
