"""ELR+ (Liu et al. 2020), a strong outsider: early-learning regularisation with two networks, weight averages and
mixup. Each network's targets are a running average of the predictions of its peer's averaged weights."""

import copy

import torch
from torch import Tensor

from scanmix_cli.engine.checkpoints import Stateful
from scanmix_cli.engine.context import Context
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.method.images import ImageSet, to_layout
from scanmix_cli.method.losses import cosine_rate, early_learning_regulariser, soft_cross_entropy
from scanmix_cli.method.mixmatch import mix_shares, mixup
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import fixed_order, set_rate, sgd
from scanmix_cli.method.settings import SplitSettings, SupervisedSettings
from scanmix_cli.method.supervised import SupervisedJudge
from scanmix_cli.models.network import ScanMixNet

WEIGHT_MOMENTUM = 0.997  # of the averaged weights


class Targets(torch.nn.Module):
    """Running average (N, C) of predictions, the t of ELR Eq. 6."""

    average: Tensor

    def __init__(self, images: int, classes: int, device: torch.device) -> None:
        super().__init__()
        self.register_buffer("average", torch.zeros(images, classes, device=device))

    def update(self, rows: Tensor, probabilities: Tensor, momentum: float) -> Tensor:
        """t <- momentum t + (1 - momentum) p for rows (B,); returns the new rows (B, C)."""
        fresh = momentum * self.average[rows] + (1 - momentum) * probabilities
        self.average.index_copy_(0, rows, fresh)
        return fresh


class ElrStep:
    """The step of one network against the averaged weights of its peer."""

    def __init__(
        self,
        net: ScanMixNet,
        averaged: ScanMixNet,
        peer_averaged: ScanMixNet,
        images: ImageSet,
        settings: SupervisedSettings,
        context: Context,
    ) -> None:
        self.net, self.averaged, self.peer = net, averaged, peer_averaged
        self.settings, self.context = settings, context
        self.optimizer = sgd(
            [*net.backbone.parameters(), *net.class_head.parameters()],
            settings.learning_rate,
            settings.momentum,
            settings.weight_decay,
            context,
        )
        self.targets = Targets(len(images), images.classes, context.device)
        self.view = images.view(settings.view)
        self.one_hot = torch.nn.functional.one_hot(images.labels.clamp_min(0), images.classes).float()
        self.captured = context.captured(self.step)

    def step(self, rows: Tensor, pixels: Tensor, share: Tensor) -> Tensor:
        """One gradient step on rows (B,) and their images (B, 3, H, W), mixed by `share`; returns the loss."""
        generator = self.context.generator
        inputs = self.view(pixels, generator)
        with torch.no_grad(), self.context.compute.autocast():
            guess = self.peer(to_layout(inputs)).float().softmax(1)
        targets = self.targets.update(rows, guess, self.settings.elr_momentum)
        order = torch.rand(len(rows), generator=generator, device=rows.device).argsort()
        mixed, labels = mixup(inputs, self.one_hot[rows], order, share)
        mixed_targets = share * targets + (1 - share) * targets[order]
        with self.context.compute.autocast():
            logits = self.net(to_layout(mixed))
        regulariser = early_learning_regulariser(logits.float().softmax(1), mixed_targets)
        loss = soft_cross_entropy(logits, labels) + self.settings.elr_weight * regulariser
        self.context.descend(loss, self.optimizer)
        if not self.context.descend.completes:
            return loss.detach()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.averaged.parameters()), list(self.net.parameters()), 1 - WEIGHT_MOMENTUM)
            for kept, fresh in zip(self.averaged.buffers(), self.net.buffers(), strict=True):
                kept.copy_(fresh)
        return loss.detach()


def train_elr(
    nets: list[ScanMixNet],
    images: ImageSet,
    settings: SupervisedSettings,
    split: SplitSettings,
    monitor: Monitor,
    context: Context,
) -> tuple[list[ScanMixNet], Evidence]:
    """Train two networks in place; returns their averaged-weight twins and the evidence."""
    averaged = [copy.deepcopy(net).requires_grad_(False).eval() for net in nets]
    steps = [
        ElrStep(net, own, peer, images, settings, context)
        for net, own, peer in zip(nets, averaged, reversed(averaged), strict=True)
    ]
    judge = SupervisedJudge(images, split, context)
    labelled = images.known.nonzero().squeeze(1)
    state: dict[str, Stateful] = {"evidence": judge.evidence, "history": judge.history}
    for k, step in enumerate(steps):
        state |= {f"net{k}": step.net, f"averaged{k}": step.averaged}
        state |= {f"optimizer{k}": step.optimizer, f"targets{k}": step.targets}
    for epoch in context.epochs("elr", settings.epochs, **state):
        total, count = torch.zeros((), device=context.device), 0
        for step in steps:
            set_rate(step.optimizer, cosine_rate(settings.learning_rate, settings.final_rate_share, epoch.fraction))
            step.net.train()
            batches = fixed_order(images.shuffled(labelled, context), settings.batch_size)
            shares = mix_shares(len(batches), settings.mixup_alpha, context)
            for rows, share, inputs in zip(batches, shares, images.feed(batches), strict=True):
                total += step.captured(rows, *inputs, share)
                count += 1
        judge.add(averaged)
        context.log(loss=(total / count).item(), **monitor.test(averaged, context))
    return averaged, judge.conclude(averaged)
