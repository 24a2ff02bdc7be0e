"""Views: a batch of stored uint8 images to the normalised floats a network sees, entirely on the device.

A view draws all random numbers of a batch in one call and then only computes: no host synchronisation, no shape that
depends on data. So `View.apply` compiles as one graph, and a call can be captured in a CUDA graph once the generator is
registered with it (`torch.cuda.CUDAGraph.register_generator_state`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from scanmix_cli.augment.blur import random_blur
from scanmix_cli.augment.color import JITTER_DRAWS, random_grayscale_, random_jitter
from scanmix_cli.augment.cutout import CUTOUT_DRAWS, random_cutout_
from scanmix_cli.augment.geometry import BOX_DRAWS, center_crop, random_crop_flip, random_resized_crop_flip
from scanmix_cli.augment.names import ViewName
from scanmix_cli.augment.strong import MEDIUM_DRAWS, STRONG_DRAWS, random_operations
from scanmix_cli.errors import SettingsError


def simclr(images: Tensor, uniforms: Tensor, size: int) -> Tensor:
    """Resized crop of 0.2 .. 1 of the area, flip, colour jitter, grey."""
    crop, jitter, gray = uniforms.split((BOX_DRAWS + 1, JITTER_DRAWS, 1))
    pixels = random_resized_crop_flip(images, crop, size, 0.2)
    return random_grayscale_(random_jitter(pixels, jitter), gray)


def moco(images: Tensor, uniforms: Tensor, size: int) -> Tensor:
    """SimCLR's view, then blur."""
    return random_blur(simclr(images, uniforms[:-2], size), uniforms[-2:])


def weak(images: Tensor, uniforms: Tensor, size: int) -> Tensor:
    """Black border of 4/32 of the size, random crop, flip."""
    return random_crop_flip(functional.pad(images, [round(size / 8)] * 4), uniforms, size)


def weak_red(images: Tensor, uniforms: Tensor, size: int) -> Tensor:
    """Resized crop of 0.08 .. 1 of the area, flip."""
    return random_resized_crop_flip(images, uniforms, size, 0.08)


def changed(images: Tensor, uniforms: Tensor, size: int) -> Tensor:
    """Flip, random crop without border, random operations by all numbers but three; the views add cutout after
    normalisation."""
    crop, operations = uniforms[:3], uniforms[3:]
    return random_operations(random_crop_flip(images, crop, size), operations)


def plain(images: Tensor, uniforms: Tensor, size: int) -> Tensor:
    """Central crop."""
    return center_crop(images, size)


def mirrored(images: Tensor, uniforms: Tensor, size: int) -> Tensor:
    """Central crop, left and right exchanged."""
    return plain(images, uniforms, size).flip(-1)


@dataclass(frozen=True)
class Recipe:
    """A pipeline up to normalisation: `pixels(images, uniforms (draws, B), size)` to grey levels, uint8 or float."""

    pixels: Callable[[Tensor, Tensor, int], Tensor]
    draws: int
    any_size: bool = False
    cutout: bool = False


RECIPES: dict[ViewName, Recipe] = {
    "simclr": Recipe(simclr, BOX_DRAWS + JITTER_DRAWS + 2, any_size=True),
    "moco": Recipe(moco, BOX_DRAWS + JITTER_DRAWS + 4, any_size=True),
    "weak": Recipe(weak, 3),
    "weak-web": Recipe(random_crop_flip, 3),
    "weak-red": Recipe(weak_red, BOX_DRAWS + 1, any_size=True),
    "medium": Recipe(changed, 3 + MEDIUM_DRAWS, cutout=True),
    "strong": Recipe(changed, 3 + STRONG_DRAWS, cutout=True),
    "test": Recipe(plain, 0),
    "mirrored": Recipe(mirrored, 0),
}


def normalize(pixels: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Grey levels (B, 3, H, W) to float32 (level / 255 - mean) / std.

    Floats come fresh from a recipe and are overwritten; uint8 may be the caller's images and is copied. Channel by
    channel, because a tensor of constants copied from the host would break the capture of a CUDA graph.
    """
    normalized = pixels.float()
    for channel, (center, deviation) in enumerate(zip(mean, std, strict=True)):
        normalized[:, channel].mul_(1 / (255 * deviation)).sub_(center / deviation)
    return normalized


@dataclass(frozen=True)
class View:
    """One augmentation at one size; `mean` and `std` are of the three channels, in 0 .. 1."""

    name: ViewName
    size: int
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    @property
    def draws(self) -> int:
        """Uniform random numbers an image needs."""
        return RECIPES[self.name].draws + CUTOUT_DRAWS * RECIPES[self.name].cutout

    def __call__(self, images: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Augment `images` uint8 (B, 3, H, W) to float32 (B, 3, size, size), drawing from `generator` of their device.

        Raises SettingsError if a random view gets no generator or the images are too small.
        """
        if generator is None and self.draws:
            raise SettingsError(f'the view "{self.name}" is random: pass it a torch.Generator on {images.device}')
        uniforms = torch.rand((self.draws, len(images)), generator=generator, device=images.device)
        return self.apply(images, uniforms)

    def apply(self, images: Tensor, uniforms: Tensor) -> Tensor:
        """The view of given random numbers, `uniforms` (draws, B) in [0, 1); a pure function."""
        recipe = RECIPES[self.name]
        if min(images.shape[2:]) < self.size and not recipe.any_size:
            raise SettingsError(
                f'the view "{self.name}" cuts {self.size} x {self.size} pixels, but the images are '
                f"{images.shape[3]} x {images.shape[2]}: choose an image size of at most {min(images.shape[2:])}"
            )
        with torch.no_grad(), torch.autocast(images.device.type, enabled=False):
            pixels = normalize(recipe.pixels(images, uniforms[: recipe.draws], self.size), self.mean, self.std)
            return random_cutout_(pixels, uniforms[recipe.draws :]) if recipe.cutout else pixels


def build_view(name: ViewName, size: int, mean: Sequence[float], std: Sequence[float]) -> View:
    """The view called `name` at `size` pixels."""
    return View(name, size, (mean[0], mean[1], mean[2]), (std[0], std[1], std[2]))
