"""M-step, second part: the clustering step with the peer-prediction filter (stage G5).

The loss is SCAN's, on the cluster head; a neighbour may be drawn only if the peer network gives it the same class as
the anchor. Given labels are not used.
"""

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.overlap import side_by_side
from scanmix_cli.engine.parallel import gather
from scanmix_cli.method.bound import keep_links
from scanmix_cli.method.images import Augmentation, ImageSet
from scanmix_cli.method.learner import Learner
from scanmix_cli.method.losses import scan_loss
from scanmix_cli.method.networks import fixed_order
from scanmix_cli.method.scan import draw_partners
from scanmix_cli.method.settings import ClusteringSettings
from scanmix_cli.models.norm_act import forward_groups


class ClusteringSteps:
    """The steps of a learner, or of both, which have nothing to do with each other: taken side by side on a GPU."""

    def __init__(
        self,
        learners: list[Learner],
        images: ImageSet,
        neighbors: Tensor,
        settings: ClusteringSettings,
        context: Context,
    ) -> None:
        """neighbors int64 (N, K)."""
        self.images, self.context = images, context
        self.steps = [ClusteringStep(learner, images, neighbors, settings, context) for learner in learners]
        self.captured = context.captured(self.step)

    def epoch(self, rows: Tensor, peer_predictions: list[Tensor]) -> dict[str, float]:
        """One pass of each learner over `rows`, int64, or as many steps as the settings allow.

        peer_predictions: for each learner int64 (N,), its peer's predicted classes. Returns the loss of the first.
        """
        orders: list[Tensor] = []
        for step, predictions in zip(self.steps, peer_predictions, strict=True):
            step.learner.net.train()
            orders += step.draw(rows, predictions)
        total = torch.zeros(len(self.steps), device=self.context.device)
        for inputs in self.images.feed(*orders):
            total += self.captured(*inputs)
        return {"loss_clustering": (total[0] / len(orders[0])).item()}

    def step(self, *pixels: Tensor) -> Tensor:
        """One gradient step of each learner on its images and their partners, (B, 3, H, W) each; losses (learners,)."""
        if len(self.steps) == 1:
            return self.steps[0].step(*pixels).unsqueeze(0)
        first, second = self.steps
        losses = side_by_side(
            self.context.device,
            lambda: first.step(*pixels[:2]),
            lambda: second.step(*pixels[2:]),
            pays=self.images.small,
        )
        return torch.stack(losses)


class ClusteringStep:
    """The step of one learner, and the neighbours that an epoch's partners are drawn from."""

    def __init__(
        self, learner: Learner, images: ImageSet, neighbors: Tensor, settings: ClusteringSettings, context: Context
    ) -> None:
        """neighbors int64 (N, K); the step keeps a copy, which a subset's own neighbours overwrite."""
        self.learner, self.images, self.neighbors = learner, images, neighbors.clone()
        self.settings, self.context = settings, context
        self.view = Augmentation(images, settings.view, context)
        self.bar = images.most_entropy(settings.prior)

    def draw(self, rows: Tensor, peer_predictions: Tensor) -> tuple[Tensor, Tensor]:
        """The anchors of an epoch out of `rows`, int64, and a neighbour of each: row numbers int64 (steps, B).

        peer_predictions int64 (N,): the peer's predicted classes.
        """
        batches = fixed_order(self.images.shuffled(rows, self.context), self.settings.batch_size)
        batches = batches[: self.settings.steps or None]
        kept = keep_links(peer_predictions, self.neighbors)
        return batches, draw_partners(batches, self.neighbors, kept, self.context)

    def step(self, anchors: Tensor, partners: Tensor) -> Tensor:
        """One gradient step on images (B, 3, H, W) and a drawn neighbour of each; returns the loss."""
        net, optimizer = self.learner.net, self.learner.cluster_optimizer
        inputs = self.view(anchors, partners)
        with self.context.compute.autocast():
            outputs = forward_groups(net.cluster_logits, net.backbone, inputs, 2)
        first, second = gather(outputs, parts=2).chunk(2)
        loss = scan_loss(first, second, self.settings.entropy_weight, self.bar)
        self.context.descend(loss, optimizer, self.learner.legacy_zero_grad)
        return loss.detach()
