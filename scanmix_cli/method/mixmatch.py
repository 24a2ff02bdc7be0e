"""M-step, first part: the semi-supervised step of DivideMix (method stage G3).

Labelled images have their given label co-refined, unlabelled ones get a co-guessed label; both are mixed (MixUp) and
trained on. Every batch is full: small sets are cycled, so shapes stay fixed.
"""

import torch
from scipy.special import betaincinv
from torch import Tensor, nn

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.overlap import side_by_side
from scanmix_cli.engine.parallel import divisible, gather, own_share
from scanmix_cli.method.class_draws import draw_rates, drawn
from scanmix_cli.method.images import Augmentation, ImageSet, to_layout
from scanmix_cli.method.learner import Learner
from scanmix_cli.method.losses import (
    co_guess,
    co_refine,
    prior_loss,
    ramp_up,
    soft_cross_entropy,
    squared_error,
    uniform_prior,
)
from scanmix_cli.method.settings import MixMatchSettings
from scanmix_cli.models.norm_act import forward_groups


def mixup(inputs: Tensor, targets: Tensor, order: Tensor, share: Tensor) -> tuple[Tensor, Tensor]:
    """Row r becomes share * row r + (1 - share) * row order[r], for as many rows as `order` has."""
    count = len(order)
    mixed = share * inputs[:count] + (1 - share) * inputs[order]
    return mixed, share * targets[:count] + (1 - share) * targets[order]


def mix_shares(count: int, alpha: float, context: Context) -> Tensor:
    """`count` draws of max(l, 1 - l), l ~ Beta(alpha, alpha), float32 on the device.

    Drawn by inverting the distribution function, so that the one generator serves here too.
    """
    uniform = torch.rand(count, generator=context.generator, device=context.device)
    shares = torch.from_numpy(betaincinv(alpha, alpha, uniform.cpu().double().numpy())).float()
    return torch.maximum(shares, 1 - shares).to(context.device)


def cycle(images: ImageSet, rows: Tensor, wanted: int, context: Context, rates: Tensor | None = None) -> Tensor:
    """`wanted` row numbers: random orders of `rows` one after another, int64 (wanted,); each row as often as its rate
    (N,) says, once without rates."""
    rounds: list[Tensor] = []
    while sum(map(len, rounds)) < wanted:
        chosen = drawn(rows, rates, context)
        rounds.append(images.shuffled(chosen, context))
    return torch.cat(rounds)[:wanted]


class MixMatchStep:
    """The step of one learner against its frozen peer; holds what a recorded step reads from epoch to epoch."""

    def __init__(
        self, learner: Learner, peer: nn.Module, images: ImageSet, settings: MixMatchSettings, context: Context
    ) -> None:
        self.learner, self.peer, self.images = learner, peer, images
        self.settings, self.context = settings, context
        self.view = self.guess_view = Augmentation(images, settings.view, context)
        if settings.guess_view:
            self.guess_view = Augmentation(images, settings.guess_view, context)
        self.classes = torch.arange(images.classes, device=context.device)
        self.posterior = torch.zeros(len(images), device=context.device)
        uniform = settings.prior == "uniform"
        self.prior = uniform_prior(images.classes, context.device) if uniform else images.given_prior()
        self.rates: Tensor | None = None
        if settings.class_aware:
            self.rates = draw_rates(images.labels, images.classes)
            self.prior = self.prior.sqrt() / self.prior.sqrt().sum()
        self.captured = context.captured(self.step)

    def epoch(self, clean: Tensor, noisy: Tensor, posterior: Tensor, since_warmup: float) -> dict[str, float]:
        """One pass over the labelled rows `clean` with as many of the `noisy` ones; int64 row numbers.

        posterior (N,): the peer's clean posterior. Where one side is empty the other serves for both.
        Returns the mean losses.
        """
        settings, context = self.settings, self.context
        clean, noisy = (clean if len(clean) else noisy), (noisy if len(noisy) else clean)
        batch = divisible(settings.batch_size)
        steps = settings.steps or max(len(clean) // batch, 1)
        labelled = cycle(self.images, clean, steps * batch, context, self.rates).view(steps, batch)
        unlabelled = cycle(self.images, noisy, steps * batch, context, self.rates).view(steps, batch)
        shares = mix_shares(steps, settings.alpha, context)
        weights = torch.tensor(
            [ramp_up(since_warmup + k / steps, settings.lambda_u, settings.rampup) for k in range(steps)],
            device=context.device,
        )
        self.posterior.copy_(posterior)
        self.learner.net.train()
        self.peer.eval()
        total = torch.zeros(3, device=context.device)
        for k, inputs in enumerate(self.images.feed(labelled, unlabelled)):
            total += self.captured(labelled[k], *inputs, shares[k], weights[k])
        values = (total / steps).tolist()
        return dict(zip(("loss_x", "loss_u", "loss_r"), values, strict=True))

    def step(self, labelled: Tensor, x: Tensor, u: Tensor, share: Tensor, weight: Tensor) -> Tensor:
        """One gradient step on labelled rows (B,), their images x (B, 3, H, W) and unlabelled ones u, as many; returns
        the losses L_x, L_u, L_r as (3,)."""
        learner, batch = self.learner, len(labelled)
        pixels = torch.cat([x, x, u, u])
        inputs = self.view(pixels, parts=4)
        guessed_from = inputs if self.guess_view is self.view else self.guess_view(pixels, parts=4)
        targets = self.targets(guessed_from, labelled)
        inputs = gather(inputs, parts=4)  # an image is mixed with any other of the batch
        order = torch.rand(4 * batch, generator=self.context.generator, device=inputs.device).argsort()
        if not self.settings.mix_unlabelled:
            order = order[: 2 * batch]
        mixed, mixed_targets = mixup(inputs, targets, order, share)
        with self.context.compute.autocast():
            logits = learner.net(to_layout(own_share(mixed)))
        logits = gather(logits)
        loss_x = soft_cross_entropy(logits[: 2 * batch], mixed_targets[: 2 * batch])
        loss_r = prior_loss(logits, self.prior)
        loss_u = torch.zeros_like(loss_x)
        if self.settings.mix_unlabelled:
            loss_u = squared_error(logits[2 * batch :], mixed_targets[2 * batch :])
        self.context.descend(loss_x + weight * loss_u + loss_r, learner.optimizer, learner.legacy_zero_grad)
        return torch.stack([loss_x, loss_u, loss_r]).detach()

    @torch.no_grad()
    def targets(self, inputs: Tensor, labelled: Tensor) -> Tensor:
        """Label distributions (4B, C) of the views [x, x', u, u'], of which `inputs` is this process's share.

        The trained network guesses in training mode, each view with batch statistics of its own, as released. Its
        running statistics will not do: they are those of mixed images, and guesses by them drift to a single class.
        """
        net, temperature = self.learner.net, self.settings.temperature
        with self.context.compute.autocast():
            own, peer = side_by_side(
                self.context.device,
                lambda: forward_groups(net, net.backbone, inputs, 4),
                lambda: self.peer(inputs[len(inputs) // 2 :]),
                pays=self.images.small,
            )
        x, x2, u, u2 = gather(own, parts=4).float().softmax(1).chunk(4)
        peer_u, peer_u2 = gather(peer, parts=2).float().softmax(1).chunk(2)
        q_u = co_guess((u, u2), (peer_u, peer_u2), temperature)
        labels = self.images.labels[labelled].clamp_min(0)
        given = (labels.unsqueeze(1) == self.classes).float()  # all at once would be N x C
        q_x = co_refine(given, self.posterior[labelled], (x, x2), temperature)
        return torch.cat([q_x, q_x, q_u, q_u])
