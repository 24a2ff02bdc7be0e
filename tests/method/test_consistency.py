"""What the networks say of an image and of its mirror image."""

import math

import pytest
import torch
from torch import nn
from toy_runs import CLASSES, toy_context, toy_images

from scanmix_cli.method.consistency import view_consistency
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
    found = view_consistency([LeftHalf(gain)], images, toy_context())  # type: ignore[list-item]
    # as it is (3/4, 1/4), mirrored (1/4, 3/4): they share 1/2
    assert found.tolist() == pytest.approx([1.0, 0.5], abs=1e-4)
    found = view_consistency([LeftHalf(gain)] * 2, images, toy_context())  # type: ignore[list-item]
    # summed logits: (9/10, 1/10) and (1/10, 9/10)
    assert found.tolist() == pytest.approx([1.0, 0.2], abs=1e-4)


def test_of_networks() -> None:
    context, images = toy_context(), toy_images(30)
    nets = [scanmix_net("small", CLASSES, context, k) for k in (1, 2)]
    found = view_consistency(nets, images, context)
    assert found.shape == (30,)
    assert 0 < found.min() < found.max() <= 1
