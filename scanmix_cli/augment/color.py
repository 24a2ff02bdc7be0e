"""Colour jitter with one factor per image; float pixels (B, 3, H, W) in grey levels 0 .. 255.

Each adjustment follows torchvision's on float images. Factors are float (B,); 1 (hue: 0) leaves an image as it is.
Names that end in an underscore work in place, as PyTorch's do: fresh memory costs a CPU more than the arithmetic.
"""

import torch
from torch import Tensor

JITTER_DRAWS = 5
WHITE = 255.0


def grayscale(pixels: Tensor) -> Tensor:
    """Luminance (B, 1, H, W), ITU-R 601-2 weights as torchvision rounds them."""
    red, green, blue = pixels.split(1, dim=1)
    return (red * 0.2989).add_(green, alpha=0.587).add_(blue, alpha=0.114)


def blend_(pixels: Tensor, base: Tensor, factor: Tensor) -> Tensor:
    """factor * pixels + (1 - factor) * base, in place; `base` broadcasts against `pixels`, `factor` is (B,)."""
    return pixels.lerp_(base, (1 - factor).view(-1, 1, 1, 1))


def adjust_brightness_(pixels: Tensor, factor: Tensor) -> Tensor:
    """Blend with black."""
    return pixels.mul_(factor.view(-1, 1, 1, 1)).clamp_(0, WHITE)


def adjust_contrast_(pixels: Tensor, factor: Tensor) -> Tensor:
    """Blend with the image's mean luminance."""
    return blend_(pixels, grayscale(pixels.mean((2, 3), keepdim=True)), factor).clamp_(0, WHITE)


def adjust_saturation_(pixels: Tensor, factor: Tensor) -> Tensor:
    """Blend with the luminance of each pixel."""
    return blend_(pixels, grayscale(pixels), factor).clamp_(0, WHITE)


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
    hue = sector.div_((6 * chroma).clamp_(min=1e-6)).add_(shift.view(-1, 1, 1, 1))
    # Red, green, blue: 5/6, 3/6, 1/6 of the circle, plus one turn so that the fraction below never sees a negative.
    thirds = torch.arange(11 / 6, 1, -1 / 3, device=pixels.device).view(1, 3, 1, 1)
    weight = (hue + thirds).frac_().sub_(1 / 3).abs_().mul_(-6).add_(2).clamp_(0, 1)
    return weight.mul_(chroma.neg_()).add_(value)


def random_jitter(pixels: Tensor, uniforms: Tensor) -> Tensor:
    """ColorJitter(brightness 0.4, contrast 0.4, saturation 0.4, hue 0.1) with probability 0.8.

    `uniforms` (JITTER_DRAWS, B); `pixels` is overwritten. The four adjustments keep this order for every image;
    torchvision shuffles them.
    """
    amounts = (uniforms[:4] * 2).sub_(1).mul_(uniforms[4] < 0.8)
    factors = (amounts[:3] * 0.4).add_(1)
    adjust_brightness_(pixels, factors[0])
    adjust_contrast_(pixels, factors[1])
    adjust_saturation_(pixels, factors[2])
    return adjust_hue(pixels, amounts[3] * 0.1)


def random_grayscale_(pixels: Tensor, uniforms: Tensor) -> Tensor:
    """Luminance in all channels with probability 0.2; `uniforms` (1, B); `pixels` is overwritten."""
    return blend_(pixels, grayscale(pixels), (uniforms[0] >= 0.2).float())
