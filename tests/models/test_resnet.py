"""ResNets and the small network: sizes, layout, initial weights."""

import pytest
import torch
import torchvision
from scanmix_cli.models import build_backbone
from scanmix_cli.models.resnet import conv3x3, padded
from torch import nn

# 3x3 stem + BN, then per stage two blocks of two 3x3 convolutions + BN and, from stage two on, a 1x1 shortcut (+ BN).
STEM = 3 * 64 * 9
CONVOLUTIONS = sum(
    9 * (inputs * width + 3 * width * width) + (inputs * width if inputs != width else 0)
    for inputs, width in ((64, 64), (64, 128), (128, 256), (256, 512))
)
POST_ACTIVATION_NORMS = 2 * 64 + 4 * 2 * (64 + 128 + 256 + 512) + 2 * (128 + 256 + 512)
PRE_ACTIVATION_NORMS = 2 * (4 * 64 + 64 + 3 * 128 + 128 + 3 * 256 + 256 + 3 * 512) + 2 * 512


def parameters(network: nn.Module) -> int:
    return sum(p.numel() for p in network.parameters())


def test_parameter_counts() -> None:
    assert parameters(build_backbone("resnet18-cifar")) == STEM + CONVOLUTIONS + POST_ACTIVATION_NORMS == 11_168_832
    assert (
        parameters(build_backbone("preact-resnet18-cifar")) == STEM + CONVOLUTIONS + PRE_ACTIVATION_NORMS == 11_167_040
    )
    assert parameters(build_backbone("resnet50")) == 25_557_032 - (
        2048 * 1000 + 1000
    )  # torchvision's, less the classifier
    blocks = 9 * (32 * 48 + 48 * 48 + 48 * 128 + 128 * 128) + 32 * 48 + 48 * 128
    norms = 2 * (32 + 3 * 48 + 3 * 128)
    assert parameters(build_backbone("small")) == 27 * 32 + blocks + norms == 246_976


@pytest.mark.parametrize(("name", "last_map"), [("resnet18-cifar", 4), ("preact-resnet18-cifar", 4), ("small", 4)])
def test_stem_and_strides_leave_a_4x4_map_of_32_pixels(name: str, last_map: int) -> None:
    network = build_backbone(name).eval()
    maps: list[torch.Size] = []
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            module.register_forward_hook(lambda _module, _inputs, output: maps.append(output.shape))
    with torch.no_grad():
        features = network(torch.rand(2, 3, 32, 32))
    assert features.shape == (2, network.features)
    assert maps[0][2:] == ((16, 16) if name == "small" else (32, 32))
    assert maps[-1][2:] == (last_map, last_map)


@pytest.mark.parametrize("name", ["resnet18-cifar", "preact-resnet18-cifar", "small"])
def test_initial_weights(name: str) -> None:
    """Kaiming-normal, fan-out: std = sqrt(2 / (outputs * kernel area)); BN 1 and 0 even at the end of a branch."""
    network = build_backbone(name)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            assert module.bias is None
            weight = module.weight.detach()
            expected = (2 / (module.out_channels * module.kernel_size[0] ** 2)) ** 0.5
            # The std of n normal numbers has a relative standard error of 1/sqrt(2n); allow six.
            assert float(weight.std()) == pytest.approx(expected, rel=6 / (2 * weight.numel()) ** 0.5)
            assert abs(float(weight.mean())) < 6 * expected / weight.numel() ** 0.5
        if isinstance(module, nn.BatchNorm2d):
            assert bool((module.weight == 1).all())
            assert bool((module.bias == 0).all())


def test_state_dict_names_are_fixed() -> None:
    """Saved runs are loaded strictly, so a renamed parameter would orphan them."""
    assert [name for name, _ in build_backbone("small").named_parameters()] == [
        "stem.0.weight",
        "stem.1.weight",
        "stem.1.bias",
        *(
            f"blocks.{block}.{part}"
            for block in (0, 1)
            for part in (
                *("conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight", "bn2.weight", "bn2.bias"),
                *("shortcut.0.weight", "shortcut.1.weight", "shortcut.1.bias"),
            )
        ),
    ]
    post = dict(build_backbone("resnet18-cifar").named_parameters())
    assert {"conv1.weight", "bn1.bias", "stages.0.0.conv1.weight", "stages.3.0.shortcut.1.weight"} <= set(post)
    assert not any(name.startswith("stages.0.0.shortcut") for name in post)
    pre = dict(build_backbone("preact-resnet18-cifar").named_parameters())
    assert {"conv1.weight", "bn.weight", "stages.3.1.bn2.bias", "stages.1.0.shortcut.weight"} <= set(pre)
    large = dict(build_backbone("resnet50").named_parameters())
    assert {"conv1.weight", "layer1.0.downsample.0.weight", "layer4.2.conv3.weight"} <= set(large)
    assert not any(name.startswith("fc") for name in large)


def test_features_do_not_depend_on_the_memory_layout() -> None:
    for name in ("resnet18-cifar", "preact-resnet18-cifar", "small"):
        network = build_backbone(name).eval()
        images = torch.rand(2, 3, 32, 32)
        with torch.no_grad():
            plain = network(images)
            network = network.to(memory_format=torch.channels_last)
            again = network(images.to(memory_format=torch.channels_last))
        torch.testing.assert_close(plain, again, rtol=1e-3, atol=1e-4)


def test_channels_of_zeros_change_neither_the_first_convolution_nor_its_gradients() -> None:
    convolution, x = conv3x3(3, 64), torch.randn(2, 3, 8, 8)
    expected = torch.autograd.grad(convolution(x).square().sum(), convolution.weight)[0]
    found = torch.autograd.grad(padded(convolution, x).square().sum(), convolution.weight)[0]
    torch.testing.assert_close(padded(convolution, x), convolution(x), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("training", [False, True])
def test_resnet50_gives_what_torchvisions_does(training: bool) -> None:
    own, other = build_backbone("resnet50"), torchvision.models.resnet50()
    other.fc = nn.Identity()
    other.load_state_dict(own.state_dict(), strict=True)
    images = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(own.train(training)(images), other.train(training)(images), rtol=1e-4, atol=1e-5)
    for name, value in other.state_dict().items():
        torch.testing.assert_close(own.state_dict()[name], value, rtol=1e-4, atol=1e-5, msg=name)
