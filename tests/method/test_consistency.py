"""What the networks say of an image and of its mirror image."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from toy_runs import CLASSES, toy_context, toy_images

from scanmix_cli.method.consistency import view_consistency
from scanmix_cli.method.images import forward_all
from scanmix_cli.method.networks import scanmix_net


class LeftHalf(nn.Module):
    """Log-odds of class 0 over class 1: `gain` times what the left half of the picture is brighter than the right."""

    def __init__(self, gain: float) -> None:
        super().__init__()
        self.gain = gain

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        half = batch.shape[-1] // 2
        score = self.gain * (batch[..., :half].mean((1, 2, 3)) - batch[..., half:].mean((1, 2, 3)))
        return torch.stack([score, torch.zeros_like(score)], 1)


def test_shared_probability_by_hand() -> None:
    images = toy_images(2)
    images.pixels[:] = 100
    images.pixels[1, ..., : images.size // 2] = 200
    brighter = 100 / 255 / images.std[0]  # all channels are normalised alike
    gain = math.log(3) / brighter
    for count, sure, shared in ((1, 3 / 4, 1 / 2), (2, 9 / 10, 1 / 5)):  # logits are summed
        said = torch.tensor([[0.5, 0.5], [sure, 1 - sure]])  # mirrored it is the other way round
        nets: list[Any] = [LeftHalf(gain)] * count
        assert view_consistency(said, nets, images, toy_context()).tolist() == pytest.approx([1.0, shared], abs=1e-4)


def test_of_networks() -> None:
    context, images = toy_context(), toy_images(30)
    nets = [scanmix_net("small", CLASSES, context, k) for k in (1, 2)]
    said = sum(forward_all(net, net, images, context) for net in nets).softmax(1)
    found = view_consistency(said, nets, images, context)
    assert found.shape == (30,)
    assert 0 < found.min() < found.max() <= 1 + 1e-6
