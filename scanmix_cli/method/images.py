"""The images a stage trains on, as tensors on the compute device, and the forward pass over all of them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from scanmix_cli.augment.pipelines import View, build_view
from scanmix_cli.engine.context import Context
from scanmix_cli.method.settings import Normalisation

EVALUATION_BATCH = {"cpu": 256, "cuda": 2048, "mps": 512}


@dataclass(frozen=True)
class ImageSet:
    """Pixels uint8 (N, 3, H, W) and given labels int64 (N,), -1 where unlabelled."""

    pixels: Tensor
    labels: Tensor
    classes: int
    size: int
    mean: Normalisation
    std: Normalisation

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def known(self) -> Tensor:
        """bool (N,): images with a given label."""
        return self.labels >= 0

    def view(self, name: str) -> View:
        """The augmentation `name`: uint8 (B, 3, H, W), generator -> float32 (B, 3, size, size), normalised."""
        return build_view(name, self.size, self.mean, self.std)

    def subset(self, rows: Tensor) -> "ImageSet":
        """The images `rows`, int64 (n,), in that order."""
        return ImageSet(self.pixels[rows], self.labels[rows], self.classes, self.size, self.mean, self.std)


def compiled_view(view: View, context: Context) -> Callable[[Tensor, torch.Generator], Tensor]:
    """The view and `to_layout` as one compiled function; the random numbers are drawn outside, from the generator."""

    def apply(images: Tensor, uniforms: Tensor) -> Tensor:
        return to_layout(view.apply(images, uniforms))

    compiled = context.compiled(apply)

    def augment(images: Tensor, generator: torch.Generator) -> Tensor:
        uniforms = torch.rand((view.draws, len(images)), generator=generator, device=images.device)
        return compiled(images, uniforms)

    return augment


def forward_all(function: Callable[[Tensor], Tensor], net: nn.Module, images: ImageSet, context: Context) -> Tensor:
    """Outputs float32 (N, ...) of `function` for the test view of every image, `net` in evaluation mode meanwhile."""
    view = images.view("test")
    was_training = net.training
    net.eval()
    with torch.inference_mode(), context.compute.autocast():
        batches = images.pixels.split(EVALUATION_BATCH[context.device.type])
        outputs = torch.cat([function(to_layout(view(batch, None))).float() for batch in batches])
    net.train(was_training)
    return outputs.clone()


def to_layout(batch: Tensor) -> Tensor:
    """channels_last: the layout convolutions are fastest in, on GPUs and on CPUs."""
    return batch.contiguous(memory_format=torch.channels_last)


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of rows of (N, C) logits whose largest entry is the label (N,); rows labelled -1 are left out."""
    known = labels >= 0
    return (logits.argmax(1) == labels)[known].float().mean().item()
