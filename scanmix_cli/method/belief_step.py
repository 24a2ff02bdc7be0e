"""M-step of the belief loop: strong views of images, mixed, are trained towards the beliefs."""

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import gather, own_share
from scanmix_cli.method.images import Augmentation, ImageSet, to_layout
from scanmix_cli.method.losses import nt_xent, soft_cross_entropy
from scanmix_cli.method.mixmatch import mix_shares, mixup
from scanmix_cli.method.networks import fixed_order, set_rate
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.method.student import Student


class BeliefStep:
    """The step of one student; holds what a recorded step reads from epoch to epoch."""

    def __init__(
        self, student: Student, images: ImageSet, settings: BeliefSettings, temperature: float, context: Context
    ) -> None:
        """temperature: of the contrastive loss, that of pre-training."""
        self.student, self.images, self.settings, self.context = student, images, settings, context
        self.temperature = temperature
        self.view = Augmentation(images, settings.view, context)
        self.targets = torch.zeros(len(images), images.classes, device=context.device)
        self.own: list[Tensor] = [*student.net.parameters()]
        self.kept: list[Tensor] = [*student.averaged.parameters()]
        self.captured = context.captured(self.step, summable=not settings.contrastive_weight)

    def epoch(self, targets: Tensor, weights: Tensor, rate: float) -> dict[str, float]:
        """As many draws as there are images, each image in proportion to its weight (N,); targets (N, C).

        Drawing takes the place of a weight in the loss: no time is spent on images whose target is in doubt.
        Returns the mean losses.
        """
        settings, context = self.settings, self.context
        rows = torch.multinomial(weights, len(weights), replacement=True, generator=context.generator)
        order = context.permutation(len(rows))  # which a brief context cuts short
        batches = fixed_order(rows[order], settings.batch_size)
        shares = torch.ones(len(batches), device=context.device)
        if settings.alpha:
            shares = mix_shares(len(batches), settings.alpha, context)
        self.targets.copy_(targets)
        set_rate(self.student.optimizer, rate)
        self.student.net.train()
        total = torch.zeros(2, device=context.device)
        for batch, share, inputs in zip(batches, shares, self.images.feed(batches), strict=True):
            total += self.captured(batch, *inputs, share)
        values = (total / len(batches)).tolist()
        return dict(zip(("loss_belief", "loss_contrastive"), values, strict=True))

    def step(self, rows: Tensor, pixels: Tensor, share: Tensor) -> Tensor:
        """One gradient step on two views each of the images (B, 3, H, W) of rows (B,); returns both losses, (2,).

        An image is mixed with the same other one in both views, so that the mixtures are two views of one thing.
        """
        student, settings = self.student, self.settings
        inputs, targets = gather(self.view(pixels, pixels), parts=2), self.targets[rows].repeat(2, 1)
        order = torch.rand(len(rows), generator=self.context.generator, device=rows.device).argsort()
        inputs, targets = mixup(inputs, targets, torch.cat([order, order + len(rows)]), share)
        with self.context.compute.autocast():
            features = student.net.features(to_layout(own_share(inputs, parts=2)))
            logits = student.net.class_head(features)
            projected = student.projection(features) if settings.contrastive_weight else features
        loss = soft_cross_entropy(gather(logits, parts=2), targets)
        contrast = torch.zeros_like(loss)
        if settings.contrastive_weight:
            first, second = gather(projected, parts=2).chunk(2)
            contrast = nt_xent(first, second, self.temperature, symmetric=True)
        self.context.descend(loss + settings.contrastive_weight * contrast, student.optimizer)
        if self.context.descend.completes:
            with torch.no_grad():
                torch._foreach_lerp_(self.kept, self.own, 1 - settings.average)
        return torch.stack([loss, contrast]).detach()
