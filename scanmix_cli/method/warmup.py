"""Stage E: warm-up of the class head with all given labels (method stage E; DivideMix section 3.1)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import gather
from scanmix_cli.method.class_draws import draw_rates, drawn
from scanmix_cli.method.images import Augmentation, ImageSet
from scanmix_cli.method.learner import Learner
from scanmix_cli.method.losses import negative_entropy
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import fixed_order, set_rate
from scanmix_cli.method.settings import WarmupSettings


class WarmupStep:
    """One gradient step of cross-entropy (plus confidence penalty) on a batch."""

    def __init__(self, learner: Learner, images: ImageSet, settings: WarmupSettings, context: Context) -> None:
        self.learner, self.images, self.settings, self.context = learner, images, settings, context
        self.view = Augmentation(images, settings.view, context, compiled=False)  # too few steps
        self.captured = context.captured(self.step)

    def step(self, rows: Tensor, pixels: Tensor) -> Tensor:
        """On rows (B,) and their images (B, 3, H, W)."""
        net, optimizer = self.learner.net, self.learner.optimizer
        batch = self.view(pixels)
        with self.context.compute.autocast():
            with torch.set_grad_enabled(self.settings.scope == "network"):
                features = net.features(batch)
            logits = gather(net.class_head(features))
        loss = F.cross_entropy(logits.float(), self.images.labels[rows])
        if self.settings.confidence_penalty:
            loss = loss + negative_entropy(logits)
        self.context.descend(loss, optimizer, self.learner.legacy_zero_grad, self.settings.clip_norm)
        return loss.detach()


def warm_up(
    learners: list[Learner], images: ImageSet, settings: WarmupSettings, monitor: Monitor, context: Context
) -> None:
    """Train every learner in place on the labelled images."""
    labelled = images.known.nonzero().squeeze(1)
    rates = draw_rates(images.labels, images.classes) if settings.class_aware else None
    steps = [WarmupStep(learner, images, settings, context) for learner in learners]
    stateful = {k: v for n, learner in enumerate(learners) for k, v in learner.stateful(f"net{n}").items()}
    for _ in context.epochs("warmup", settings.epochs, **stateful):
        total, count = torch.zeros((), device=context.device), 0
        for learner, step in zip(learners, steps, strict=True):
            set_rate(learner.optimizer, settings.learning_rate)
            learner.net.train()
            rows = drawn(labelled, rates, context)
            batches = fixed_order(images.shuffled(rows, context), settings.batch_size)
            for rows, inputs in zip(batches, images.feed(batches), strict=True):
                total += step.captured(rows, *inputs)
                count += 1
        context.log(loss=(total / count).item(), **monitor.test([learner.net for learner in learners], context))
