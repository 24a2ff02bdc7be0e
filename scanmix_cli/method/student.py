"""One network of the belief loop, its averaged twin, and how the twin looks at the images."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scanmix_cli.engine.checkpoints import Stateful
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parts import halving
from scanmix_cli.method.beliefs import ridge_head
from scanmix_cli.method.images import ImageSet, forward_all, to_layout
from scanmix_cli.method.networks import fixed_order, sgd
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.models.network import ScanMixNet

STATISTICS_BATCHES, STATISTICS_BATCH = 16, 512


@dataclass
class Student:
    """`net` is trained; `averaged`, the running mean of its weights, forms beliefs and classifies in the end."""

    net: ScanMixNet
    averaged: ScanMixNet
    optimizer: torch.optim.SGD

    def stateful(self, name: str) -> dict[str, Stateful]:
        """What a checkpoint keeps of this student, by name."""
        return {
            f"{name}.net": self.net,
            f"{name}.averaged": self.averaged,
            f"{name}.optimizer": self.optimizer,
        }


def make_student(net: ScanMixNet, settings: BeliefSettings, context: Context) -> Student:
    """Wrap a network whose backbone is a pre-trained encoder's."""
    parameters = [*net.backbone.parameters(), *net.class_head.parameters()]
    optimizer = sgd(parameters, settings.learning_rate, settings.momentum, settings.weight_decay, context)
    averaged = copy.deepcopy(net).requires_grad_(False).eval()
    return Student(net, averaged, optimizer)


def start_head(student: Student, features: Tensor, targets: Tensor, sharpness: float) -> None:
    """Set the class head of both twins by ridge regression of targets (N, C) on features (N, D); logits are the
    regression's values times `sharpness`, since values near 0 and 1 as logits would say little."""
    weights, bias = ridge_head(features, targets)
    for net in (student.net, student.averaged):
        with torch.no_grad():
            net.class_head.weight.copy_(sharpness * weights)
            net.class_head.bias.copy_(sharpness * bias)


@dataclass(frozen=True)
class Sight:
    """A network's view of all images: probabilities float32 (N, C), features float32 (N, D) of unit length."""

    probabilities: Tensor
    features: Tensor


def look_closely(net: ScanMixNet, images: ImageSet, context: Context) -> Sight:
    """Class head and features of every image in one pass, test view, evaluation mode."""

    def both(batch: Tensor) -> Tensor:
        features = net.features(batch)
        return torch.cat([features.float(), net.class_head(features).float()], dim=1)

    width = net.class_head.in_features
    outputs = forward_all(both, net, images, context)
    return Sight(outputs[:, width:].softmax(1), F.normalize(outputs[:, :width], dim=1))


def renew_statistics(net: ScanMixNet, images: ImageSet, context: Context) -> None:
    """Measure the running statistics of the batch norms of `net` anew, on the test view of random images.

    Those gathered in training are of mixed and strongly changed images, and of other weights than the averaged ones;
    predictions by them drift to a single class. Leaves `net` in evaluation mode.
    """
    norms = [module for module in net.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    usual = [norm.momentum for norm in norms]
    view = images.view("test")

    def measure(size: int) -> None:
        batches = fixed_order(context.permutation(len(images)), size)[:STATISTICS_BATCHES]
        for k, (pixels,) in enumerate(images.feed(batches), start=1):
            for norm in norms:
                norm.momentum = 1 / k  # so that the running value is the mean of the batches'
            net.features(to_layout(view(pixels, None)))

    net.train()
    with torch.no_grad(), context.compute.autocast():
        halving(measure, STATISTICS_BATCH, context.relief.parts, "statistics")
    for norm, momentum in zip(norms, usual, strict=True):
        norm.momentum = momentum
    net.eval()
