"""Colour adjustments and blur against torchvision on the same parameters."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torchvision.transforms import functional as reference

from scanmix_cli.augment import blur, color

LEVELS = 255


@pytest.mark.parametrize(
    ("ours", "theirs", "low", "high"),
    [
        (color.adjust_brightness_, reference.adjust_brightness, 0.6, 1.4),
        (color.adjust_contrast_, reference.adjust_contrast, 0.6, 1.4),
        (color.adjust_saturation_, reference.adjust_saturation, 0.6, 1.4),
        (color.adjust_hue, reference.adjust_hue, -0.1, 0.1),
        (color.adjust_hue, reference.adjust_hue, -0.5, 0.5),
    ],
    ids=["brightness", "contrast", "saturation", "hue", "whole circle of hues"],
)
def test_equals_torchvision(
    ours: Callable[[Tensor, Tensor], Tensor],
    theirs: Callable[[Tensor, float], Tensor],
    low: float,
    high: float,
    pictures: Tensor,
) -> None:
    """Within 0.01 of a grey level: both compute in float32."""
    factors = torch.linspace(low, high, len(pictures))
    adjusted = ours(pictures.float(), factors)
    expected = torch.stack([theirs(image / LEVELS, float(k)) for image, k in zip(pictures, factors, strict=True)])
    assert (adjusted - LEVELS * expected).abs().max() < 0.01


def test_grayscale_equals_torchvision(pictures: Tensor) -> None:
    expected = reference.rgb_to_grayscale(pictures.float())
    assert (color.grayscale(pictures.float()) - expected).abs().max() < 1e-3


def test_jitter_applies_the_four_in_order(pictures: Tensor) -> None:
    uniforms = torch.rand((color.JITTER_DRAWS, len(pictures)), generator=torch.Generator().manual_seed(0))
    jittered = color.random_jitter(pictures.float(), uniforms)
    for k, image in enumerate(pictures):
        expected = image / LEVELS
        if uniforms[4, k] < 0.8:
            brightness, contrast, saturation = (0.6 + 0.8 * uniforms[:3, k]).tolist()
            expected = reference.adjust_brightness(expected, brightness)
            expected = reference.adjust_contrast(expected, contrast)
            expected = reference.adjust_saturation(expected, saturation)
            expected = reference.adjust_hue(expected, float(0.2 * uniforms[3, k] - 0.1))
        assert (jittered[k] - LEVELS * expected).abs().max() < 0.02


def test_jitter_leaves_a_fifth_alone_and_grey_takes_a_fifth(pictures: Tensor) -> None:
    images = pictures[:1].float().expand(4000, 3, 32, 32)[:, :, :4, :4]
    generator = torch.Generator().manual_seed(1)
    jittered = color.random_jitter(images.clone(), torch.rand((color.JITTER_DRAWS, 4000), generator=generator))
    same = (jittered - images).abs().amax((1, 2, 3)) < 0.01
    assert same.float().mean() == pytest.approx(0.2, abs=0.03)
    grayed = color.random_grayscale_(images.clone(), torch.rand((1, 4000), generator=generator))
    is_gray = (grayed.amax(1) - grayed.amin(1)).amax((1, 2)) < 1e-3
    assert is_gray.float().mean() == pytest.approx(0.2, abs=0.03)
    assert torch.equal(grayed[~is_gray], images[~is_gray])


def test_blur_equals_torchvision(pictures: Tensor) -> None:
    """Within 0.01 of a grey level of a kernel that reaches six standard deviations."""
    sigmas = torch.linspace(0.1, 2, len(pictures))
    blurred = blur.gaussian_blur(pictures.float(), sigmas)
    for k, sigma in enumerate(sigmas.tolist()):
        expected = reference.gaussian_blur(pictures[k].float(), [25, 25], [sigma, sigma])
        assert (blurred[k] - expected).abs().max() < 0.01


def test_half_of_the_images_are_blurred_and_the_rest_untouched(pictures: Tensor) -> None:
    images = pictures[:1].float().expand(2000, 3, 32, 32)[:, :, :8, :8]
    uniforms = torch.rand((2, 2000), generator=torch.Generator().manual_seed(0))
    blurred = blur.random_blur(images, uniforms)
    assert torch.equal(blurred[uniforms[1] >= 0.5], images[uniforms[1] >= 0.5])
    changed = (blurred != images).flatten(1).any(1)
    # The narrowest widths leave float32 neighbours no weight at all.
    assert changed.float().mean() == pytest.approx(0.5, abs=0.05)
