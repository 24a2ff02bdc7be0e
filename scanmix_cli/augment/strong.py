"""The random operations of the medium and the strong augmentation, drawn with replacement and always applied."""

from torch import Tensor

from scanmix_cli.augment.geometry import uniform_integers
from scanmix_cli.augment.operations import OPERATIONS, apply_operations, random_magnitudes

MEDIUM_DRAWS, STRONG_DRAWS = 2 * 2, 2 * 4  # two and four operations of an image, two numbers each


def random_operations(images: Tensor, uniforms: Tensor) -> Tensor:
    """As many random operations on each of `images` uint8 (B, 3, H, W) as half of `uniforms` (draws, B) has rows: the
    first half chooses them, the second how far each goes; returns uint8."""
    chosen, magnitudes = uniforms.chunk(2)
    operations = uniform_integers(chosen, OPERATIONS)
    return apply_operations(images, operations, random_magnitudes(operations, magnitudes))
