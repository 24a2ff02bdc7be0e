"""An encoder that stands still under a trained adapter."""

import torch
from scanmix_cli.models import build_backbone
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.still import Adapter, Embedding, StillBackbone, features_of, share_embedding
from torch import nn


def test_features_are_output_and_last_maps_each_of_length_one() -> None:
    torch.manual_seed(0)
    embedding = Embedding(build_backbone("timm:test_efficientnet"))
    x = torch.rand(3, 3, 64, 64)
    raw = embedding.raw(x)
    assert len(embedding.sizes) == 5  # the output, and mean and deviation of two maps
    assert raw.shape == (3, sum(embedding.sizes))
    lengths = torch.stack([part.norm(dim=1) for part in raw.split(embedding.sizes, dim=1)])
    assert torch.allclose(lengths, torch.ones_like(lengths))
    output = nn.functional.normalize(embedding.backbone(x), dim=1)
    assert torch.allclose(raw[:, : embedding.sizes[0]], output, atol=1e-6)


def test_features_are_centred_by_the_training_images_mean() -> None:
    embedding = Embedding(nn.Sequential(nn.Flatten(), nn.LazyLinear(2, bias=False)))
    embedding.center.copy_(torch.tensor([1.0, 0.0]))
    angles = torch.tensor([[0.0, 1.0], [0.6, 0.8]])
    assert torch.allclose(embedding.centered(angles), nn.functional.normalize(angles - torch.tensor([1.0, 0.0]), dim=1))


def test_the_encoder_stays_in_evaluation_mode_and_untrained() -> None:
    network = build_backbone("still:timm:test_efficientnet").train()
    assert isinstance(network, StillBackbone)
    assert network.adapter.training
    assert not any(module.training for module in network.embedding.modules())
    network(torch.rand(4, 3, 64, 64)).sum().backward()
    assert all(parameter.grad is None for parameter in network.embedding.parameters())
    assert all(parameter.grad is not None for parameter in network.adapter.parameters())


def test_an_adapter_takes_pictures_of_one_pixel() -> None:
    adapter = build_backbone("adapter:7")
    assert isinstance(adapter, Adapter)
    assert adapter(torch.rand(4, 7, 1, 1)).shape == (4, adapter.features)


def test_networks_of_one_embedding_look_at_the_images_once() -> None:
    torch.manual_seed(0)
    nets = [ScanMixNet(build_backbone("still:timm:test_efficientnet"), 2).eval() for _ in range(2)]
    share_embedding(nets)
    first, second = (net.backbone.embedding for net in nets)
    assert first is not second  # other weights are left alone
    second.load_state_dict(first.state_dict())
    images, looks = torch.rand(3, 3, 64, 64), []
    for embedding in (first, second):
        embedding.register_forward_hook(lambda module, *_: looks.append(module))
    apart = features_of(nets, images)
    assert looks == [first, second]
    share_embedding(nets)
    together = features_of(nets, images)
    assert looks == [first, second, first]
    assert [features.tolist() for features in together] == [features.tolist() for features in apart]
    assert not torch.equal(*together)
