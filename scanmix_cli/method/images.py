"""The images a stage trains on, as tensors on the compute device, and the forward pass over all of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scanmix_cli.augment.pipelines import View, build_view
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import gather_rows, own_share, rows_of_this_process
from scanmix_cli.engine.parts import halving
from scanmix_cli.method.losses import given_prior
from scanmix_cli.method.settings import Normalisation

EVALUATION_BATCH = {"cpu": 256, "cuda": 2048, "mps": 512}
COMPILED_VIEWS = ("simclr", "strong")  # over a hundred operations each: as costly as the network at batch 64
COMPILED_FROM = 20_000  # images; fewer make too few steps to pay for the 15 to 30 seconds of compiling a view


@dataclass(frozen=True)
class ImageSet:
    """Pixels uint8 (N, 3, H, W) and given labels int64 (N,), -1 where unlabelled.

    trusted bool (N,): labels that a person has confirmed, which the EM loop never doubts; None where there are none.
    """

    pixels: Tensor
    labels: Tensor
    classes: int
    size: int
    mean: Normalisation
    std: Normalisation
    trusted: Tensor | None = None

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def known(self) -> Tensor:
        """bool (N,): images with a given label."""
        return self.labels >= 0

    def given_prior(self) -> Tensor:
        """Shares of the classes among the given labels, float32 (C,)."""
        return given_prior(self.labels, self.classes)

    def view(self, name: str) -> View:
        """The augmentation `name`: uint8 (B, 3, H, W), generator -> float32 (B, 3, size, size), normalised."""
        return build_view(name, self.size, self.mean, self.std)

    def subset(self, rows: Tensor) -> "ImageSet":
        """The images `rows`, int64 (n,), in that order."""
        trusted = None if self.trusted is None else self.trusted[rows]
        return replace(self, pixels=self.pixels[rows], labels=self.labels[rows], trusted=trusted)


class Augmentation:
    """Random views of stored images by row number, in `to_layout`, for a step that is recorded.

    Views of many small operations are compiled on a GPU, for large sets; the random numbers are drawn outside. All
    processes draw those of the whole batch, and see only their share of its images.
    """

    def __init__(self, images: ImageSet, name: str, context: Context, compiled: bool = True) -> None:
        view = images.view(name)
        self.name, self.draws = name, view.draws
        self.pixels, self.generator = images.pixels, context.generator
        pays = compiled and name in COMPILED_VIEWS and len(images) >= COMPILED_FROM
        self.apply = context.compiled(view.apply) if pays else view.apply

    def __call__(self, *rows: Tensor, parts: int = 1) -> Tensor:
        """float32 (B1 + B2 + ..., 3, S, S): the images `rows`, int64 (B1,), (B2,), ..., one after another.

        Where processes share the batch these are the shares of each, taken from `parts` equal parts of each.
        """
        uniforms = [own_share(self.draw(len(one)), parts, dim=1) for one in rows]
        return self.of(torch.cat([own_share(one, parts) for one in rows]), torch.cat(uniforms, dim=1))

    def draw(self, count: int) -> Tensor:
        """Random numbers for `count` images, (draws, count)."""
        return torch.rand((self.draws, count), generator=self.generator, device=self.pixels.device)

    def of(self, rows: Tensor, uniforms: Tensor) -> Tensor:
        """The images `rows` (B,) as the random numbers (draws, B) make them."""
        return to_layout(self.apply(self.pixels[rows], uniforms))


def forward_all(function: Callable[[Tensor], Tensor], net: nn.Module, images: ImageSet, context: Context) -> Tensor:
    """Outputs float32 (N, ...) of `function` for the test view of every image, `net` in evaluation mode meanwhile.

    Processes that share the run look at a part each and exchange the outputs.
    """
    view = images.view("test")
    was_training = net.training
    net.eval()

    def evaluate(size: int) -> Tensor:
        batches = rows_of_this_process(len(images), context.device).split(size)
        return torch.cat([function(to_layout(view(images.pixels[rows], None))).float() for rows in batches])

    with torch.inference_mode(), context.compute.autocast():
        outputs = halving(evaluate, EVALUATION_BATCH[context.device.type], context.relief.parts, "evaluation")
    net.train(was_training)
    return gather_rows(outputs.clone(), len(images))


def to_layout(batch: Tensor) -> Tensor:
    """channels_last: the layout convolutions are fastest in, on GPUs and on CPUs."""
    return batch.contiguous(memory_format=torch.channels_last)


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of rows of (N, C) logits whose largest entry is the label (N,); rows labelled -1 are left out."""
    known = labels >= 0
    return (logits.argmax(1) == labels)[known].float().mean().item()
