"""M-step, second part: the clustering step with the peer-prediction filter (stage G5).

The loss is SCAN's, on the cluster head; a neighbour may be drawn only if the peer network gives it the same class as
the anchor. Given labels are not used.
"""

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import gather
from scanmix_cli.method.bound import keep_links
from scanmix_cli.method.images import Augmentation, ImageSet
from scanmix_cli.method.learner import Learner
from scanmix_cli.method.losses import scan_loss
from scanmix_cli.method.networks import fixed_order
from scanmix_cli.method.scan import draw_partners
from scanmix_cli.method.settings import ClusteringSettings
from scanmix_cli.models.norm_act import forward_groups


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
        self.captured = context.captured(self.step)

    def epoch(self, rows: Tensor, peer_predictions: Tensor) -> dict[str, float]:
        """One pass over `rows`, int64, or as many steps as the settings allow.

        peer_predictions int64 (N,): the peer's predicted classes.
        """
        self.learner.net.train()
        total = torch.zeros((), device=self.context.device)
        batches = fixed_order(rows[self.context.permutation(len(rows))], self.settings.batch_size)
        batches = batches[: self.settings.steps or None]
        partners = draw_partners(batches, self.neighbors, keep_links(peer_predictions, self.neighbors), self.context)
        for inputs in self.images.feed(batches, partners):
            total += self.captured(*inputs)
        return {"loss_clustering": (total / len(batches)).item()}

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
