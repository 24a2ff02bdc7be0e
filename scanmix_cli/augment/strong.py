"""The strong augmentation's random operations: four per image, drawn with replacement, always applied."""

from torch import Tensor

from scanmix_cli.augment.geometry import uniform_integers
from scanmix_cli.augment.operations import OPERATIONS, apply_operations, random_magnitudes

SLOTS = 4
OPERATION_DRAWS = 2 * SLOTS


def random_operations(images: Tensor, uniforms: Tensor) -> Tensor:
    """Four random operations on each of `images` uint8 (B, 3, H, W); `uniforms` (OPERATION_DRAWS, B); returns uint8."""
    operations = uniform_integers(uniforms[:SLOTS], OPERATIONS)
    return apply_operations(images, operations, random_magnitudes(operations, uniforms[SLOTS:]))
