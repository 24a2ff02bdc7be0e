"""Plain training with the given labels, the yardsticks of every comparison: cross-entropy and mixup (Zhang 2018)."""

import torch
from torch import Tensor

from scanmix_cli.engine.checkpoints import Stateful
from scanmix_cli.engine.context import Context
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.method.images import ImageSet, forward_all, to_layout
from scanmix_cli.method.learner import look
from scanmix_cli.method.losses import cosine_rate, soft_cross_entropy
from scanmix_cli.method.mixmatch import mix_shares, mixup
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import fixed_order, set_rate, sgd
from scanmix_cli.method.settings import SplitSettings, SupervisedSettings
from scanmix_cli.method.split import LossHistory, divide
from scanmix_cli.models.network import ScanMixNet


def train_supervised(
    net: ScanMixNet,
    images: ImageSet,
    settings: SupervisedSettings,
    split: SplitSettings,
    use_mixup: bool,
    monitor: Monitor,
    context: Context,
) -> Evidence:
    """Train `net` in place on the labelled images; the mixture of `split` only judges the labels, it trains nothing."""
    optimizer = sgd(
        [*net.backbone.parameters(), *net.class_head.parameters()],
        settings.learning_rate,
        settings.momentum,
        settings.weight_decay,
        context,
    )
    view = images.view(settings.view)
    one_hot = torch.nn.functional.one_hot(images.labels.clamp_min(0), images.classes).float()

    def step(rows: Tensor, pixels: Tensor, share: Tensor) -> Tensor:
        """One gradient step on rows (B,) and their images (B, 3, H, W), mixed with a shuffled copy by `share` (1 leaves
        them alone)."""
        inputs = view(pixels, context.generator)
        order = torch.rand(len(rows), generator=context.generator, device=rows.device).argsort()
        mixed, targets = mixup(inputs, one_hot[rows], order, share)
        with context.compute.autocast():
            logits = net(to_layout(mixed))
        loss = soft_cross_entropy(logits, targets)
        context.descend(loss, optimizer)
        return loss.detach()

    captured = context.captured(step)
    judge = SupervisedJudge(images, split, context)
    labelled = images.known.nonzero().squeeze(1)
    stage = "mixup" if use_mixup else "cross-entropy"
    state: dict[str, Stateful] = {
        "net": net,
        "optimizer": optimizer,
        "evidence": judge.evidence,
        "history": judge.history,
    }
    for epoch in context.epochs(stage, settings.epochs, **state):
        set_rate(optimizer, cosine_rate(settings.learning_rate, settings.final_rate_share, epoch.fraction))
        net.train()
        batches = fixed_order(images.shuffled(labelled, context), settings.batch_size)
        shares = torch.ones(len(batches), device=context.device)
        if use_mixup:
            shares = mix_shares(len(batches), settings.mixup_alpha, context)
        total = torch.zeros((), device=context.device)
        for rows, share, inputs in zip(batches, shares, images.feed(batches), strict=True):
            total += captured(rows, *inputs, share)
        judge.add([net])
        context.log(loss=(total / len(batches)).item(), **monitor.test([net], context))
    return judge.conclude([net])


class SupervisedJudge:
    """Gathers evidence about the labels while something else trains."""

    def __init__(self, images: ImageSet, split: SplitSettings, context: Context) -> None:
        self.images, self.split, self.context = images, split, context
        self.labels = images.labels.cpu().numpy()
        self.history = LossHistory(split.history)
        self.evidence = Evidence.empty(len(images), images.classes)

    def add(self, nets: list[ScanMixNet]) -> None:
        """One more epoch's view of all images under the first network."""
        outlook = look(nets[0], self.images, self.context)
        losses = outlook.losses.cpu().numpy()
        posterior = divide(losses, self.labels >= 0, self.history, self.split, self.context.seed)
        self.evidence.add(self.labels, [View(outlook.probabilities.cpu().numpy(), losses, posterior)])

    def conclude(self, nets: list[ScanMixNet]) -> Evidence:
        """The evidence with the final probabilities of the networks' summed logits."""
        logits = torch.stack([forward_all(net, net, self.images, self.context) for net in nets]).sum(0)
        self.evidence.final_probability[:] = logits.softmax(1).cpu().numpy()
        return self.evidence
