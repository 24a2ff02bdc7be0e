"""Stage A2, large images: MoCo-v2 pre-training (He et al. 2020, Chen et al. 2020b).

A second, slowly following key encoder fills a queue of past keys that serve as negatives. "Shuffled" batch norm: the
keys are computed in another order than the queries and in several groups with statistics of their own, so that a query
cannot recognise its key by shared batch statistics. Processes that share the run compute whole groups each.
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from scanmix_cli.engine.checkpoints import Stateful
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import divisible, gather, own_share, world
from scanmix_cli.method.images import Augmentation, ImageSet
from scanmix_cli.method.losses import cosine_rate, info_nce
from scanmix_cli.method.networks import fixed_order, set_rate, sgd
from scanmix_cli.method.settings import ContrastiveSettings
from scanmix_cli.models.network import ContrastiveNet
from scanmix_cli.models.norm_sync import statistics_per_process

SHUFFLE_GROUPS = 4  # the published recipe ran on four GPUs, each with batch statistics of its own


class KeyQueue(nn.Module):
    """The last `size` keys, first in first out: buffer (size, 128) of unit vectors and the next place to write."""

    keys: Tensor
    position: Tensor

    def __init__(self, size: int, dimensions: int, generator: torch.Generator) -> None:
        super().__init__()
        start = torch.randn(size, dimensions, generator=generator, device=generator.device)
        self.register_buffer("keys", nn.functional.normalize(start, dim=1))
        self.register_buffer("position", torch.zeros((), dtype=torch.long, device=generator.device))

    def push(self, keys: Tensor) -> None:
        """Overwrite the oldest entries with keys (B, 128); wraps around."""
        places = (self.position + torch.arange(len(keys), device=keys.device)) % len(self.keys)
        self.keys.index_copy_(0, places, keys.float())
        self.position.copy_((self.position + len(keys)) % len(self.keys))


@torch.no_grad()
def follow(key_net: nn.Module, query_net: nn.Module, momentum: float) -> None:
    """Key weights move towards the query's: k <- m k + (1 - m) q, parameters only."""
    torch._foreach_lerp_(list(key_net.parameters()), list(query_net.parameters()), 1 - momentum)


@torch.no_grad()
def shuffled_keys(
    key_net: nn.Module, views: Callable[[Tensor], Tensor], count: int, generator: torch.Generator
) -> Tensor:
    """Keys (B, 128) of a batch of `count` images, computed in a random order in groups, returned in the batch's order.

    `views` gives the images (b, 3, S, S) at places int64 (b,) of the batch.
    """
    order = torch.randperm(count, generator=generator, device=generator.device)
    own = own_share(order)
    groups = min(max(SHUFFLE_GROUPS // world(), 1), max(len(own) // 2, 1))
    with statistics_per_process():
        keys = torch.cat([key_net(part) for part in views(own).chunk(groups)])
    return gather(keys)[order.argsort()]


def train_moco(net: ContrastiveNet, images: ImageSet, settings: ContrastiveSettings, context: Context) -> None:
    """Train `net` in place; labels are not used."""
    key_net = copy.deepcopy(net).requires_grad_(False)
    optimizer = sgd(list(net.parameters()), settings.learning_rate, settings.momentum, settings.weight_decay, context)
    used = context.permutation(len(images))[: settings.max_images or None]  # the same images in every epoch
    batch_size = divisible(min(settings.batch_size, len(used)))
    size = max(settings.queue_size // batch_size, 1) * batch_size
    queue = KeyQueue(min(size, max(len(used) // batch_size, 1) * batch_size), 128, context.generator)
    view = Augmentation(images, settings.view, context, compiled=False, crop=settings.crop)

    def step(pixels: Tensor) -> Tensor:
        """One gradient step on images (B, 3, H, W), a query and a key view each; returns the loss."""
        queries_view, uniforms = view(own_share(pixels)), view.draw(len(pixels))
        if context.descend.part.first:
            follow(key_net, net, settings.key_momentum)
        with context.compute.autocast():
            keys = shuffled_keys(
                key_net, lambda places: view.of(pixels[places], uniforms[:, places]), len(pixels), context.generator
            )
            queries = gather(net(queries_view))
        loss = info_nce(queries, keys, queue.keys.clone(), settings.temperature)
        context.descend(loss, optimizer)
        queue.push(keys)
        return loss.detach()

    captured = context.captured(step)
    net.train()
    key_net.train()
    state: dict[str, Stateful] = {"net": net, "key_net": key_net, "queue": queue, "optimizer": optimizer}
    for epoch in context.epochs("moco", settings.epochs, **state):
        set_rate(optimizer, cosine_rate(settings.learning_rate, settings.final_rate_share, epoch.fraction))
        batches = fixed_order(images.shuffled(used, context), batch_size)
        total = torch.zeros((), device=context.device)
        for pixels in images.batches(batches.flatten(), batch_size):  # whole: keys are of any image of the batch
            total += captured(pixels)
        context.log(loss=(total / len(batches)).item())
