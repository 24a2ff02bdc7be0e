"""The images a stage trains on, as tensors on the compute device, and the forward pass over all of them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scanmix_cli.augment.names import ViewName
from scanmix_cli.augment.pipelines import View, build_view
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import gather_rows, own_share, rows_of_this_process, world
from scanmix_cli.engine.parts import halving
from scanmix_cli.method.losses import given_prior
from scanmix_cli.method.settings import Normalisation
from scanmix_cli.method.stored import StoredPixels

EVALUATION_BATCH = {"cpu": 256, "cuda": 2048, "mps": 512}
COMPILED_VIEWS = ("simclr", "medium", "strong")  # over a hundred operations each: as costly as the network at batch 64
SMALL = 64  # pixels of a side, up to which a batch of usual size leaves a part of a GPU idle
COMPILED_FROM = 20_000  # images; fewer make too few steps to pay for the 15 to 30 seconds of compiling a view


def no_mapped_pixels() -> None:
    """All pixels are tensors of their own."""


@dataclass(frozen=True)
class ImageSet:
    """Pixels uint8 (N, 3, H, W) and given labels int64 (N,), -1 where unlabelled.

    The labels lie on the compute device, and so do the pixels unless they are StoredPixels.
    trusted bool (N,): labels that a person has confirmed, which the EM loop never doubts; None where there are none.
    let_go: takes pixels that are mapped from a file out of memory once all have been looked at, for the tables that
    follow; they are read again when they are asked for.
    """

    pixels: Tensor | StoredPixels
    labels: Tensor
    classes: int
    size: int
    mean: Normalisation
    std: Normalisation
    trusted: Tensor | None = None
    let_go: Callable[[], None] = no_mapped_pixels

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def known(self) -> Tensor:
        """bool (N,): images with a given label."""
        return self.labels >= 0

    @property
    def small(self) -> bool:
        """Whether the images are so small that work done side by side saves time on a GPU."""
        return self.size <= SMALL

    def given_prior(self) -> Tensor:
        """Shares of the classes among the given labels, float32 (C,)."""
        return given_prior(self.labels, self.classes)

    def most_entropy(self, prior: str) -> float:
        """Entropy in nats of the class shares up to which clusters are pulled apart; no bound for a uniform prior."""
        if prior == "uniform":
            return math.inf
        shares = self.given_prior()
        return float(-(shares * shares.log()).sum())

    def view(self, name: ViewName, crop: float = 1.0) -> View:
        """The augmentation `name`: uint8 (B, 3, H, W), generator -> float32 (B, 3, S, S), normalised; S is `crop` times
        the size of the images."""
        return build_view(name, round(self.size * crop), self.mean, self.std)

    def subset(self, rows: Tensor) -> "ImageSet":
        """The images `rows`, int64 (n,), in that order."""
        trusted = None if self.trusted is None else self.trusted[rows]
        pixels = self.pixels.subset(rows) if isinstance(self.pixels, StoredPixels) else self.pixels[rows]
        return replace(self, pixels=pixels, labels=self.labels[rows], trusted=trusted)

    def shuffled(self, rows: Tensor, context: Context) -> Tensor:
        """The rows int64 (n,) in a random order, or the first ones of it that a brief context has time for.

        Where only a disk has room for the pixels, rows that lie near each other on it stay together (`shards.py`).
        """
        order = self.pixels.order(rows, context.generator) if isinstance(self.pixels, StoredPixels) else None
        return rows[context.permutation(len(rows))] if order is None else rows[order[: context.most or None]]

    def batches(self, rows: Tensor, size: int) -> Iterator[Tensor]:
        """Pixels on the device, of `size` of the `rows`, int64 (n,), after another; each is good until the next one."""
        if isinstance(self.pixels, StoredPixels):
            return self.pixels.batches(rows, size)
        pixels = self.pixels
        return (pixels[part] for part in rows.split(size))

    def feed(self, *orders: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """For every step its inputs of pixels: of each of `orders`, row numbers int64 (steps, B), the images of a step,
        uint8 (b, 3, H, W), which are this process's share of the B.

        They are gathered out here because a recorded step cannot wait for pixels that lie elsewhere.
        """
        own = [own_share(order, dim=1) for order in orders]
        rows, widths = torch.cat(own, 1), [part.shape[1] for part in own]
        return (batch.split(widths) for batch in self.batches(rows.flatten(), max(sum(widths), 1)))


class Augmentation:
    """Random views of images, in `to_layout`, for a step that is recorded.

    Views of many small operations are compiled on a GPU, for large sets; the random numbers are drawn outside. All
    processes draw those of the whole batch, and see only their share of its images.
    """

    def __init__(
        self, images: ImageSet, name: ViewName, context: Context, compiled: bool = True, crop: float = 1.0
    ) -> None:
        view = images.view(name, crop)
        self.name, self.draws = name, view.draws
        self.generator = context.generator
        pays = compiled and name in COMPILED_VIEWS and len(images) >= COMPILED_FROM
        self.apply = context.compiled(view.apply) if pays else view.apply

    def __call__(self, *pixels: Tensor, parts: int = 1) -> Tensor:
        """float32 (b1 + b2 + ..., 3, S, S): views of images uint8 (b1, 3, H, W), (b2, 3, H, W), ..., one after another.

        Where processes share the batch these are the shares of each, taken from `parts` equal parts of each.
        """
        uniforms = [own_share(self.draw(world() * len(one)), parts, dim=1) for one in pixels]
        return self.of(torch.cat(pixels), torch.cat(uniforms, dim=1))

    def draw(self, count: int) -> Tensor:
        """Random numbers for `count` images, (draws, count)."""
        return torch.rand((self.draws, count), generator=self.generator, device=self.generator.device)

    def of(self, pixels: Tensor, uniforms: Tensor) -> Tensor:
        """The images (B, 3, H, W) as the random numbers (draws, B) make them."""
        return to_layout(self.apply(pixels, uniforms))


def forward_all(
    function: Callable[[Tensor], Tensor],
    net: nn.Module,
    images: ImageSet,
    context: Context,
    rows: Tensor | None = None,
    view: ViewName = "test",
) -> Tensor:
    """Outputs float32 (N, ...) of `function` for one view of every image, one without random numbers, `net` in
    evaluation mode meanwhile; of the images `rows`, int64 (n,), where only those are asked for.

    Processes that share the run look at a part each and exchange the outputs.
    """
    seen, count = images.view(view), len(images if rows is None else rows)
    was_training = net.training
    net.eval()

    def evaluate(size: int) -> Tensor:
        own = rows_of_this_process(count, context.device)
        batches = images.batches(own if rows is None else rows[own], size)
        return torch.cat([function(to_layout(seen(pixels, None))).float() for pixels in batches])

    with torch.inference_mode(), context.compute.autocast():
        outputs = halving(evaluate, EVALUATION_BATCH[context.device.type], context.relief.parts, "evaluation")
    net.train(was_training)
    images.let_go()
    return gather_rows(outputs.clone(), count)


def to_layout(batch: Tensor) -> Tensor:
    """channels_last: the layout convolutions are fastest in, on GPUs and on CPUs."""
    return batch.contiguous(memory_format=torch.channels_last)


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of rows of (N, C) logits whose largest entry is the label (N,); rows labelled -1 are left out."""
    known = labels >= 0
    return (logits.argmax(1) == labels)[known].float().mean().item()
