"""Stage A2, large images: MoCo-v2 pre-training (He et al. 2020, Chen et al. 2020b).

A second, slowly following key encoder fills a queue of past keys that serve as negatives. On one device "shuffled"
batch norm means: the keys are computed in another order than the queries and in several groups with statistics of
their own, so that a query cannot recognise its key by shared batch statistics.
"""

import copy

import torch
from torch import Tensor, nn

from scanmix_cli.engine.checkpoints import Stateful
from scanmix_cli.engine.context import Context
from scanmix_cli.method.images import ImageSet, to_layout
from scanmix_cli.method.losses import cosine_rate, info_nce
from scanmix_cli.method.networks import fixed_order, set_rate, sgd
from scanmix_cli.method.settings import ContrastiveSettings
from scanmix_cli.models.network import ContrastiveNet

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
def shuffled_keys(key_net: nn.Module, views: Tensor, generator: torch.Generator) -> Tensor:
    """Keys (B, 128) of views (B, 3, S, S), computed in a random order in groups, returned in the order given."""
    order = torch.randperm(len(views), generator=generator, device=views.device)
    groups = min(SHUFFLE_GROUPS, max(len(views) // 2, 1))
    keys = torch.cat([key_net(part) for part in views[order].chunk(groups)])
    return keys[order.argsort()]


def train_moco(net: ContrastiveNet, images: ImageSet, settings: ContrastiveSettings, context: Context) -> None:
    """Train `net` in place; labels are not used."""
    key_net = copy.deepcopy(net).requires_grad_(False)
    optimizer = sgd(list(net.parameters()), settings.learning_rate, settings.momentum, settings.weight_decay, context)
    used = context.permutation(len(images))[: settings.max_images or None]  # the same images in every epoch
    batch_size = min(settings.batch_size, len(used))
    size = max(settings.queue_size // batch_size, 1) * batch_size
    queue = KeyQueue(min(size, max(len(used) // batch_size, 1) * batch_size), 128, context.generator)
    view = images.view(settings.view)

    def step(rows: Tensor) -> Tensor:
        """One gradient step on images `rows` (B,), a query and a key view each; returns the loss."""
        batch = images.pixels[rows]
        queries_view = to_layout(view(batch, context.generator))
        keys_view = to_layout(view(batch, context.generator))
        if context.descend.part.first:
            follow(key_net, net, settings.key_momentum)
        with context.compute.autocast():
            keys = shuffled_keys(key_net, keys_view, context.generator)
            queries = net(queries_view)
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
        batches = fixed_order(used[context.permutation(len(used))], batch_size)
        total = torch.zeros((), device=context.device)
        for rows in batches:
            total += captured(rows)
        context.log(loss=(total / len(batches)).item())
