"""One of the two networks of the EM loop, with what belongs to it."""

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.method.networks import sgd
from scanmix_cli.method.settings import ClusteringSettings, MixMatchSettings, Profile
from scanmix_cli.method.split import LossHistory
from scanmix_cli.models.network import ScanMixNet


@dataclass
class Learner:
    """A network, the optimisers of its two steps (one object when momentum is shared) and its loss history."""

    net: ScanMixNet
    optimizer: torch.optim.SGD
    cluster_optimizer: torch.optim.SGD
    history: LossHistory
    legacy_zero_grad: bool = False
    frozen: ScanMixNet = field(init=False)  # evaluated by the peer: the network itself, or a clone of it

    def __post_init__(self) -> None:
        self.frozen = self.net

    def fill_gradients(self) -> None:
        """With `legacy_zero_grad`: zeros where a parameter never had a gradient, so that unused heads decay from the
        first step of the EM loop on, in a recorded or resumed run too. Warm-up leaves them alone, as released."""
        if self.legacy_zero_grad:
            for parameter in self.net.parameters():
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad

    def stateful(self, name: str) -> dict:
        """What a checkpoint keeps of this learner, by name."""
        parts = {
            f"{name}.net": self.net,
            f"{name}.optimizer": self.optimizer,
            f"{name}.history": self.history,
        }
        if self.cluster_optimizer is not self.optimizer:
            parts[f"{name}.cluster_optimizer"] = self.cluster_optimizer
        return parts


def make_learner(net: ScanMixNet, profile: Profile, context: Context) -> Learner:
    """Wrap a network for the warm-up and the EM loop as the profile asks."""
    semi, clustering = profile.mixmatch, profile.clustering
    shared = clustering is not None and clustering.shared_momentum
    head = list(net.parameters()) if shared else [*net.backbone.parameters(), *net.class_head.parameters()]
    optimizer = sgd(head, semi.learning_rate, semi.momentum, semi.weight_decay, context)
    learner = Learner(
        net,
        optimizer,
        optimizer if shared or clustering is None else _cluster_optimizer(net, clustering, context),
        LossHistory(profile.split.history),
        legacy_zero_grad=clustering is not None and clustering.legacy_zero_grad,
    )
    if profile.order == "parallel":
        learner.frozen = copy.deepcopy(net)
    return learner


def _cluster_optimizer(net: ScanMixNet, settings: ClusteringSettings, context: Context) -> torch.optim.SGD:
    parameters = [*net.backbone.parameters(), *net.cluster_head.parameters()]
    return sgd(parameters, settings.learning_rate, settings.momentum, settings.weight_decay, context)


def semi_rate(settings: MixMatchSettings, epoch: float) -> float:
    """Learning rate of the semi-supervised step in an epoch of the loop: divided by ten at each drop."""
    return settings.learning_rate * 0.1 ** sum(epoch >= drop for drop in settings.rate_drops)


@dataclass(frozen=True)
class Outlook:
    """A network's view of all images under the test view: probabilities float32 (N, C), losses float32 (N,) of the
    given labels (0 where unlabelled), predicted classes int64 (N,)."""

    probabilities: Tensor
    losses: Tensor
    predictions: Tensor


def look(net: ScanMixNet, images: ImageSet, context: Context) -> Outlook:
    """Evaluate the class head on every image (loss evaluation of DivideMix)."""
    log_probability = forward_all(net, net, images, context).log_softmax(1)
    given = images.labels.clamp_min(0).unsqueeze(1)
    losses = -log_probability.gather(1, given).squeeze(1)
    losses = torch.where(images.known, losses, torch.zeros_like(losses))
    return Outlook(log_probability.exp(), losses, log_probability.argmax(1))


def refresh_frozen(learner: Learner) -> None:
    """Bring the clone that the peer sees up to date; in place, so that recorded steps keep reading it."""
    if learner.frozen is not learner.net:
        learner.frozen.load_state_dict(learner.net.state_dict())
