"""Colour jitter with one factor per image; float pixels (B, 3, H, W) in grey levels 0 .. 255.

Each adjustment follows torchvision's on float images. Factors are float (B,); 1 (hue: 0) leaves an image as it is.
"""

import torch
from torch import Tensor

JITTER_DRAWS = 5
WHITE = 255.0


def grayscale(pixels: Tensor) -> Tensor:
    """Luminance (B, 1, H, W), ITU-R 601-2 weights as torchvision rounds them."""
    red, green, blue = pixels.split(1, dim=1)
    return (red * 0.2989).add_(green, alpha=0.587).add_(blue, alpha=0.114)


def adjust_brightness(pixels: Tensor, factor: Tensor) -> Tensor:
    """Blend with black."""
    return (pixels * factor.view(-1, 1, 1, 1)).clamp_(0, WHITE)


def adjust_contrast(pixels: Tensor, factor: Tensor) -> Tensor:
    """Blend with the image's mean luminance."""
    mean = grayscale(pixels.mean((2, 3), keepdim=True))
    return torch.lerp(mean, pixels, factor.view(-1, 1, 1, 1)).clamp_(0, WHITE)


def adjust_saturation(pixels: Tensor, factor: Tensor) -> Tensor:
    """Blend with the luminance of each pixel."""
    return torch.lerp(grayscale(pixels), pixels, factor.view(-1, 1, 1, 1)).clamp_(0, WHITE)


def adjust_hue(pixels: Tensor, shift: Tensor) -> Tensor:
    """Turn the HSV hue by `shift` of a full circle.

    Value and chroma stay, so each channel is value - chroma * w with w a trapezoid of the hue, shifted by a third of
    the circle from channel to channel; this equals the six-sector formula without its branches.
    """
    red, green, blue = pixels.split(1, dim=1)
    value = pixels.amax(1, keepdim=True)
    chroma = value - pixels.amin(1, keepdim=True)
    sector = torch.where(
        value == red,
        green - blue,
        torch.where(value == green, (blue - red).add_(chroma, alpha=2), (red - green).add_(chroma, alpha=4)),
    )
    # Grey pixels have chroma 0 and any hue will do: the numerator is 0 as well.
    hue = (sector / (6 * chroma).clamp_(min=1e-6)).add_(shift.view(-1, 1, 1, 1))
    # Red, green, blue: 5/6, 3/6, 1/6 of the circle, plus one turn so that the fraction below never sees a negative.
    thirds = torch.arange(11, 6, -2, device=pixels.device).view(1, 3, 1, 1) / 6
    distance = (hue + thirds).frac_().sub_(1 / 3).abs_()
    weight = torch.rsub(distance, 2, alpha=6).clamp_(0, 1)
    return torch.addcmul(value, chroma, weight, value=-1)


def random_jitter(pixels: Tensor, uniforms: Tensor) -> Tensor:
    """ColorJitter(brightness 0.4, contrast 0.4, saturation 0.4, hue 0.1) with probability 0.8.

    `uniforms` (JITTER_DRAWS, B). The four adjustments keep this order for every image; torchvision shuffles them.
    """
    applied = uniforms[4] < 0.8
    factors = torch.where(applied, 0.6 + 0.8 * uniforms[:3], 1.0)
    pixels = adjust_brightness(pixels, factors[0])
    pixels = adjust_contrast(pixels, factors[1])
    pixels = adjust_saturation(pixels, factors[2])
    return adjust_hue(pixels, torch.where(applied, 0.2 * uniforms[3] - 0.1, 0.0))


def random_grayscale(pixels: Tensor, uniforms: Tensor) -> Tensor:
    """Luminance in all channels with probability 0.2; `uniforms` (1, B)."""
    keep = (uniforms[0] >= 0.2).float()
    return torch.lerp(grayscale(pixels), pixels, keep.view(-1, 1, 1, 1))
