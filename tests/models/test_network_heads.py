"""Backbone plus heads."""

import pytest
import torch
from scanmix_cli.models import ContrastiveNet, ScanMixNet, build_backbone
from torch.nn import functional as F


def images(count: int = 6) -> torch.Tensor:
    return torch.rand(count, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def test_heads_sit_on_the_same_features() -> None:
    net = ScanMixNet(build_backbone("small"), classes=7, clusters=9).eval()
    with torch.no_grad():
        features = net.features(images())
        assert features.shape == (6, 128)
        torch.testing.assert_close(net(images()), net.class_head(features))
        torch.testing.assert_close(net.cluster_logits(images()), net.cluster_head(features))
    assert net(images()).shape == (6, 7)
    assert net.cluster_logits(images()).shape == (6, 9)


def test_as_many_clusters_as_classes_by_default() -> None:
    net = ScanMixNet(build_backbone("small"), classes=7)
    net.class_head.load_state_dict(net.cluster_head.state_dict())
    torch.testing.assert_close(net.eval()(images()), net.cluster_logits(images()))


def test_each_head_leaves_the_other_alone() -> None:
    net = ScanMixNet(build_backbone("small"), classes=3)
    net(images()).sum().backward()
    assert net.class_head.weight.grad is not None
    assert net.cluster_head.weight.grad is None
    net.zero_grad()
    net.cluster_logits(images()).sum().backward()
    assert net.class_head.weight.grad is None
    assert net.cluster_head.weight.grad is not None
    assert all(p.grad is not None for p in net.backbone.parameters())


def test_head_parameters() -> None:
    net = ScanMixNet(build_backbone("resnet18-cifar"), classes=10)
    assert sum(p.numel() for p in net.parameters()) == 11_168_832 + 2 * (512 * 10 + 10)
    assert {name.split(".")[0] for name in net.state_dict()} == {"backbone", "class_head", "cluster_head"}
    contrastive = ContrastiveNet(build_backbone("resnet18-cifar"))
    assert sum(p.numel() for p in contrastive.parameters()) == 11_168_832 + 512 * 512 + 512 + 512 * 128 + 128
    assert [n for n, _ in contrastive.named_parameters() if not n.startswith("backbone.")] == [
        *("contrastive_head.layers.0.weight", "contrastive_head.layers.0.bias"),
        *("contrastive_head.layers.2.weight", "contrastive_head.layers.2.bias"),
    ]


@pytest.mark.parametrize("autocast", [False, True])
def test_contrastive_outputs_are_unit_vectors_in_float32(autocast: bool) -> None:
    net = ContrastiveNet(build_backbone("small")).to(memory_format=torch.channels_last)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        outputs = net(images().to(memory_format=torch.channels_last))
    assert outputs.shape == (6, 128)
    assert outputs.dtype == torch.float32
    torch.testing.assert_close(outputs.norm(dim=1), torch.ones(6))


def test_a_pretrained_backbone_moves_over_strictly() -> None:
    pretrained = ContrastiveNet(build_backbone("small"))
    net = ScanMixNet(build_backbone("small"), classes=4)
    net.backbone.load_state_dict(pretrained.backbone.state_dict(), strict=True)
    torch.testing.assert_close(net.eval().features(images()), pretrained.eval().features(images()))


@pytest.mark.parametrize("name", ["small", "resnet18-cifar", "preact-resnet18-cifar"])
def test_the_loss_falls_over_a_few_steps(name: str) -> None:
    torch.manual_seed(0)
    net = ScanMixNet(build_backbone(name), classes=2)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    labels = torch.tensor([0, 1] * 4)
    batch = images(8)[:, :, ::2, ::2] + labels.view(-1, 1, 1, 1)
    losses = []
    for _ in range(6):
        loss = F.cross_entropy(net(batch), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
