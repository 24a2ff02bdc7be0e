"""M-step of the belief loop: strong views of images, mixed, are trained towards the beliefs."""

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import gather, own_share
from scanmix_cli.method.images import Augmentation, ImageSet, to_layout
from scanmix_cli.method.losses import soft_cross_entropy
from scanmix_cli.method.mixmatch import mix_shares, mixup
from scanmix_cli.method.networks import fixed_order, set_rate
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.method.student import Student


class BeliefStep:
    """The step of one student; holds what a recorded step reads from epoch to epoch."""

    def __init__(self, student: Student, images: ImageSet, settings: BeliefSettings, context: Context) -> None:
        self.student, self.images, self.settings, self.context = student, images, settings, context
        self.view = Augmentation(images, settings.view, context)
        self.targets = torch.zeros(len(images), images.classes, device=context.device)
        self.own: list[Tensor] = [*student.net.parameters()]
        self.kept: list[Tensor] = [*student.averaged.parameters()]
        self.captured = context.captured(self.step)

    def epoch(self, targets: Tensor, weights: Tensor, rate: float) -> dict[str, float]:
        """As many draws as there are images, each image in proportion to its weight (N,); targets (N, C).

        Drawing takes the place of a weight in the loss: no time is spent on images whose target is in doubt.
        Returns the mean loss.
        """
        settings, context = self.settings, self.context
        rows = torch.multinomial(weights, len(weights), replacement=True, generator=context.generator)
        batches = fixed_order(self.images.shuffled(rows, context), settings.batch_size)
        shares = torch.ones(len(batches), device=context.device)
        if settings.alpha:
            shares = mix_shares(len(batches), settings.alpha, context)
        self.targets.copy_(targets)
        set_rate(self.student.optimizer, rate)
        self.student.net.train()
        total = torch.zeros((), device=context.device)
        for batch, share, inputs in zip(batches, shares, self.images.feed(batches), strict=True):
            total += self.captured(batch, *inputs, share)
        return {"loss_belief": (total / len(batches)).item()}

    def step(self, rows: Tensor, pixels: Tensor, share: Tensor) -> Tensor:
        """One gradient step on two views each of the images (B, 3, H, W) of rows (B,); returns the loss.

        An image is mixed with the same other one in both views.
        """
        student, settings = self.student, self.settings
        inputs, targets = gather(self.view(pixels, pixels), parts=2), self.targets[rows].repeat(2, 1)
        order = torch.rand(len(rows), generator=self.context.generator, device=rows.device).argsort()
        inputs, targets = mixup(inputs, targets, torch.cat([order, order + len(rows)]), share)
        with self.context.compute.autocast():
            logits = student.net(to_layout(own_share(inputs, parts=2)))
        loss = soft_cross_entropy(gather(logits, parts=2), targets)
        self.context.descend(loss, student.optimizer)
        if self.context.descend.completes:
            with torch.no_grad():
                torch._foreach_lerp_(self.kept, self.own, 1 - settings.average)
        return loss.detach()
