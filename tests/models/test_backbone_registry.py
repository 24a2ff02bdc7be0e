"""Backbones by name."""

import pytest
import torch
from scanmix_cli.models import BACKBONES, build_backbone
from torch import nn


@pytest.mark.parametrize(
    ("name", "features"),
    [
        ("small", 128),
        ("resnet18-cifar", 512),
        ("preact-resnet18-cifar", 512),
        ("resnet50", 2048),
        ("timm:mobilenetv3_small_050", 1024),  # its output is wider than timm's num_features
        ("timm:densenet121", 1024),  # has a sub-module called features
    ],
)
@pytest.mark.parametrize("size", [32, 64])
def test_forward_gives_as_many_features_as_announced(name: str, features: int, size: int) -> None:
    network = build_backbone(name).eval()
    with torch.no_grad():
        assert network(torch.rand(2, 3, size, size)).shape == (2, features)
    assert network.features == features


def test_inception_resnet_v2() -> None:
    network = build_backbone("inception-resnet-v2").eval()
    assert {m.eps for m in network.modules() if isinstance(m, nn.BatchNorm2d)} == {1e-3}
    assert not any(name.startswith("classif") for name in network.state_dict())
    with torch.no_grad():
        assert network(torch.rand(1, 3, 96, 96)).shape == (1, network.features) == (1, 1536)


def test_inception_resnet_v2_pools_the_5x5_map_of_227_pixels() -> None:
    network = build_backbone("inception-resnet-v2").to("meta")
    maps: list[torch.Size] = []
    network.conv2d_7b.register_forward_hook(lambda _module, _inputs, output: maps.append(output.shape))
    for size in (224, 227, 299):
        assert network(torch.empty(2, 3, size, size, device="meta")).shape == (2, 1536)
    assert [tuple(m[2:]) for m in maps] == [(5, 5), (5, 5), (8, 8)]


def test_backbones_lists_the_names_in_order() -> None:
    assert BACKBONES == ("small", "resnet18-cifar", "preact-resnet18-cifar", "resnet50", "inception-resnet-v2")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "resnet18",
            "unknown backbone 'resnet18' (nearest: resnet18-cifar): choose one of small, resnet18-cifar, "
            "preact-resnet18-cifar, resnet50, inception-resnet-v2, or timm:NAME for a timm model",
        ),
        (
            "qqq",
            "unknown backbone 'qqq': choose one of small, resnet18-cifar, preact-resnet18-cifar, resnet50, "
            "inception-resnet-v2, or timm:NAME for a timm model",
        ),
        ("timm:resnet5x", "timm has no model 'resnet5x' (nearest: resnet50): timm.list_models() lists all names"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"unknown backbone|timm has no model") as raised:
        build_backbone(name)
    assert str(raised.value) == message
