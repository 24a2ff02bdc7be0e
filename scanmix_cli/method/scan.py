"""Stage C: SCAN clustering of the whole network (Van Gansbeke et al. 2020).

An image and a random one of its mined neighbours shall be assigned to the same cluster, while the clusters stay
evenly used. The epoch kept is the one with the lowest SCAN loss on training images set aside for this choice.
"""

import copy
import math

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import from_writer, gather
from scanmix_cli.method.images import Augmentation, ImageSet, forward_all
from scanmix_cli.method.losses import scan_loss
from scanmix_cli.method.networks import adam, fixed_order
from scanmix_cli.method.settings import ScanSettings
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.norm_act import forward_groups

SELECTION_ENTROPY_WEIGHT = 1.0
BLOCK = 65_536  # anchors whose partners are drawn at once
MOST_HELD_OUT = 5_000  # images that choose the epoch, at most: with their neighbours ten times as many and more


def draw_neighbors(candidates: Tensor, allowed: Tensor | None, generator: torch.Generator) -> Tensor:
    """One neighbour per row, uniformly among the allowed candidates: int64 (B,).

    candidates int64 (B, K); allowed bool (B, K) or None for all. A row with none allowed uses all.
    """
    noise = torch.rand(candidates.shape, generator=generator, device=candidates.device)
    if allowed is not None:
        noise = noise + (allowed | ~allowed.any(1, keepdim=True))
    return candidates.gather(1, noise.argmax(1, keepdim=True)).squeeze(1)


def draw_partners(batches: Tensor, neighbors: Tensor, allowed: Tensor | None, context: Context) -> Tensor:
    """A neighbour for every anchor of an epoch, int64 (steps, B) as `batches`; neighbors int64 (N, K), allowed bool
    (N, K) or None for all."""
    drawn = [
        draw_neighbors(neighbors[rows], None if allowed is None else allowed[rows], context.generator)
        for rows in batches.flatten().split(BLOCK)
    ]
    return torch.cat(drawn).view_as(batches)


def train_scan(net: ScanMixNet, images: ImageSet, neighbors: Tensor, settings: ScanSettings, context: Context) -> None:
    """Train backbone and cluster head of `net` in place; neighbors int64 (N, K); labels are not used."""
    parameters = [*net.backbone.parameters(), *net.cluster_head.parameters()]
    optimizer = adam(parameters, settings.learning_rate, settings.weight_decay, context)
    view = Augmentation(images, settings.view, context)
    held_out, learned = _set_aside(len(images), settings.held_out_share, context)
    best, bar = BestState(net), images.most_entropy(settings.prior)

    def step(anchors: Tensor, partners: Tensor) -> Tensor:
        """One gradient step on images (B, 3, H, W) and a drawn neighbour of each; returns the loss."""
        inputs = view(anchors, partners)
        with context.compute.autocast():
            outputs = forward_groups(net.cluster_logits, net.backbone, inputs, 2)
        first, second = gather(outputs, parts=2).chunk(2)
        loss = scan_loss(first, second, settings.entropy_weight, bar)
        context.descend(loss, optimizer)
        return loss.detach()

    captured = context.captured(step)
    net.train()
    for _ in context.epochs("scan", settings.epochs, net=net, optimizer=optimizer, best=best):
        batches = fixed_order(images.shuffled(learned, context), settings.batch_size)
        total = torch.zeros((), device=context.device)
        for inputs in images.feed(batches, draw_partners(batches, neighbors, None, context)):
            total += captured(*inputs)
        score = selection_loss(net, images, neighbors, held_out, context, bar)
        best.offer(score, net)
        context.log(loss=(total / len(batches)).item(), selection_loss=score)
    net.load_state_dict(best.weights)
    optimizer.zero_grad()  # no gradient of this stage may reach the next optimiser


def selection_loss(
    net: ScanMixNet,
    images: ImageSet,
    neighbors: Tensor,
    rows: Tensor,
    context: Context,
    most_entropy: float = math.inf,
) -> float:
    """SCAN loss (entropy weight 1) of anchors `rows` against all their neighbours, test view."""
    pairs = torch.cat([rows.unsqueeze(1), neighbors[rows]], dim=1)
    needed, places = pairs.unique(return_inverse=True)
    logits = forward_all(net.cluster_logits, net, images, context, needed)
    anchors = logits[places[:, 0]].repeat_interleave(pairs.shape[1] - 1, dim=0)
    return from_writer(scan_loss(anchors, logits[places[:, 1:].flatten()], SELECTION_ENTROPY_WEIGHT, most_entropy).item)


def _set_aside(count: int, share: float, context: Context) -> tuple[Tensor, Tensor]:
    """Split row numbers into those that choose the epoch and those that train, from the seed alone."""
    generator = torch.Generator().manual_seed(context.seed)
    order = torch.randperm(count, generator=generator).to(context.device)
    aside = min(max(int(count * share), 1), MOST_HELD_OUT)
    return order[:aside], order[aside:]


class BestState:
    """The weights with the lowest score seen so far."""

    def __init__(self, net: ScanMixNet) -> None:
        self.score = float("inf")
        self.weights = copy.deepcopy(net.state_dict())

    def offer(self, score: float, net: ScanMixNet) -> None:
        """Keep a copy of the weights if `score` is the lowest yet."""
        if score < self.score:
            self.score, self.weights = score, copy.deepcopy(net.state_dict())

    def state_dict(self) -> dict:
        return {"score": self.score, "weights": self.weights}

    def load_state_dict(self, state: dict) -> None:
        self.score, self.weights = state["score"], state["weights"]
