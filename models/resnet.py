"""ResNets of 18 layers with a stem for small images.

`ResNet18` is the network of the released ScanMix, SCAN and C2D code; `PreActResNet18` is the one the ScanMix and
DivideMix papers name. Both keep full resolution in the stem (3x3 convolution, stride 1, no max-pool).
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from .norm_act import norm_relu

WIDTHS = (64, 128, 256, 512)
STRIDES = (1, 2, 2, 2)
CHANNELS_AT_A_TIME = 8


def conv3x3(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


def conv1x1(inputs: int, outputs: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)


def stem(convolution: nn.Conv2d, x: torch.Tensor) -> torch.Tensor:
    """The first convolution: (B, 3, H, W) -> (B, 64, H, W)."""
    return padded(convolution, x) if x.is_cuda else convolution(x)


def padded(convolution: nn.Conv2d, x: torch.Tensor) -> torch.Tensor:
    """A convolution with channels of zeros added, as many as tensor cores take at a time: the GPU library's own way
    with three channels is slower by far."""
    missing = (0, 0, 0, 0, 0, -x.shape[1] % CHANNELS_AT_A_TIME)
    weight = F.pad(convolution.weight, missing)
    return F.conv2d(F.pad(x, missing), weight, convolution.bias, convolution.stride, convolution.padding)


def init_convolutions(network: nn.Module) -> None:
    """Kaiming-normal, fan-out, for every convolution. Batch norm keeps PyTorch's weight 1 and bias 0, the last one of a
    residual branch included.
    """
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


class BasicBlock(nn.Module):
    """Post-activation residual block: conv-BN-ReLU-conv-BN, plus shortcut, ReLU (He et al. 2015)."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = conv3x3(inputs, outputs, stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = conv3x3(outputs, outputs)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(conv1x1(inputs, outputs, stride), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.conv2(norm_relu(self.conv1(x), self.bn1))
        if isinstance(self.shortcut, nn.Sequential):
            convolution, norm = self.shortcut
            assert isinstance(norm, _BatchNorm)
            return norm_relu(out, self.bn2, convolution(x), norm)
        return norm_relu(out, self.bn2, x)


class PreActBlock(nn.Module):
    """Pre-activation residual block: BN-ReLU-conv twice, plus shortcut (He et al. 2016).

    Where the shape changes, the shortcut is a bare 1x1 convolution of the activated input.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = conv3x3(inputs, outputs, stride)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = conv3x3(outputs, outputs)
        self.shortcut = conv1x1(inputs, outputs, stride) if stride != 1 or inputs != outputs else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = norm_relu(x, self.bn1)
        residual = x if self.shortcut is None else self.shortcut(out)
        return self.conv2(norm_relu(self.conv1(out), self.bn2)) + residual


def residual_stages(block: type[nn.Module]) -> nn.Sequential:
    """Four stages of two blocks, widths 64 to 512, halving the map at the start of stages two to four."""
    stages = []
    inputs = WIDTHS[0]
    for width, stride in zip(WIDTHS, STRIDES, strict=True):
        stages.append(nn.Sequential(block(inputs, width, stride), block(width, width, 1)))
        inputs = width
    return nn.Sequential(*stages)


class ResNet18(nn.Module):
    """Post-activation ResNet-18 with the CIFAR stem: (B, 3, H, W) -> (B, 512)."""

    features = WIDTHS[-1]
    norms_in_groups = True  # every norm is a `norm_relu`

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = conv3x3(3, WIDTHS[0])
        self.bn1 = nn.BatchNorm2d(WIDTHS[0])
        self.stages = residual_stages(BasicBlock)
        init_convolutions(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stages(norm_relu(stem(self.conv1, x), self.bn1))
        return x.mean((2, 3))


class PreActResNet18(nn.Module):
    """Pre-activation ResNet-18 with the CIFAR stem, closed by BN-ReLU (He et al. 2016): (B, 3, H, W) -> (B, 512)."""

    features = WIDTHS[-1]
    norms_in_groups = True  # every norm is a `norm_relu`

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = conv3x3(3, WIDTHS[0])
        self.stages = residual_stages(PreActBlock)
        self.bn = nn.BatchNorm2d(WIDTHS[-1])
        init_convolutions(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = norm_relu(self.stages(stem(self.conv1, x)), self.bn)
        return x.mean((2, 3))
