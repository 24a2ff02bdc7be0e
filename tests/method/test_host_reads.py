"""Within an epoch nobody waits for the device: numbers are read from it as often in an epoch of many steps as of few.

On a CPU reading costs nothing, but it goes through the same few doors, and these are counted here.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from toy_runs import shrink, toy_context, toy_images, toy_profile

from scanmix_cli.method.belief_step import BeliefStep
from scanmix_cli.method.clustering import ClusteringSteps
from scanmix_cli.method.learner import Learner, make_learner
from scanmix_cli.method.mixmatch import MixMatchStep
from scanmix_cli.method.moco import train_moco
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import contrastive_net, scanmix_net
from scanmix_cli.method.scan import train_scan
from scanmix_cli.method.settings import BeliefSettings, ContrastiveSettings, Profile
from scanmix_cli.method.simclr import train_simclr
from scanmix_cli.method.student import make_student
from scanmix_cli.method.warmup import warm_up
from scanmix_cli.profiles.official import OFFICIAL

IMAGES = toy_images(64, unlabelled=0)
ROWS = torch.arange(len(IMAGES))
NEIGHBORS = (ROWS.unsqueeze(1) + torch.arange(6)) % len(IMAGES)
PROFILE = toy_profile(1)
DOORS = ("cpu", "item", "numpy", "tolist")
READS = (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.nonzero.default)


class Reads(TorchDispatchMode):
    """Counts values and shapes that the host learns from tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        masks = [i for i in (args[1] if function is torch.ops.aten.index.Tensor else ()) if i is not None]
        self.count += function in READS or any(mask.dtype == torch.bool for mask in masks)
        return function(*args, **(kwargs or {}))


def learners(profile: Profile, count: int) -> list[Learner]:
    context = toy_context()
    return [
        make_learner(scanmix_net(profile.backbone, IMAGES.classes, context, k), profile, context) for k in range(count)
    ]


def contrastive(batch: int, profile: Profile = PROFILE) -> ContrastiveSettings:
    assert profile.contrastive is not None
    return replace(profile.contrastive, batch_size=batch)


def simclr_epoch(batch: int) -> None:
    train_simclr(contrastive_net("small", toy_context()), IMAGES, contrastive(batch), toy_context())


def moco_epoch(batch: int) -> None:
    settings = replace(contrastive(batch, shrink(OFFICIAL["webvision"], 1, 16)), queue_size=32)
    train_moco(contrastive_net("small", toy_context()), IMAGES, settings, toy_context())


def scan_epoch(batch: int) -> None:
    assert PROFILE.scan is not None
    net = scanmix_net("small", IMAGES.classes, toy_context())
    train_scan(net, IMAGES, NEIGHBORS, replace(PROFILE.scan, batch_size=batch), toy_context())


def warm_up_epoch(batch: int) -> None:
    warm_up(learners(PROFILE, 1), IMAGES, replace(PROFILE.warmup, batch_size=batch), Monitor(), toy_context())


def mixmatch_epoch(batch: int) -> None:
    learner, peer = learners(PROFILE, 2)
    settings = replace(PROFILE.mixmatch, batch_size=batch, steps=0)
    step = MixMatchStep(learner, peer.net, IMAGES, settings, toy_context())
    step.epoch(ROWS, ROWS, torch.full((len(IMAGES),), 0.5), 1.0)


def clustering_epoch(batch: int) -> None:
    assert PROFILE.clustering is not None
    settings = replace(PROFILE.clustering, batch_size=batch, steps=0)
    both = ClusteringSteps(learners(PROFILE, 2), IMAGES, NEIGHBORS, settings, toy_context())
    both.epoch(ROWS, [IMAGES.labels] * 2)


def belief_epoch(batch: int) -> None:
    context, settings = toy_context(), BeliefSettings(batch_size=batch)
    student = make_student(scanmix_net("small", IMAGES.classes, context), settings, context)
    targets = torch.full((len(IMAGES), IMAGES.classes), 1 / IMAGES.classes)
    BeliefStep(student, IMAGES, settings, context).epoch(targets, torch.ones(len(IMAGES)), 0.01)


@pytest.mark.parametrize(
    "epoch",
    [simclr_epoch, moco_epoch, scan_epoch, warm_up_epoch, mixmatch_epoch, clustering_epoch, belief_epoch],
)
def test_steps_read_nothing_from_the_device(epoch: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(batch: int) -> int:
        counter = Reads()

        def watched(name: str) -> Callable[..., object]:
            plain = getattr(Tensor, name)

            def door(tensor: Tensor, *args: object, **kwargs: object) -> object:
                counter.count += 1
                return plain(tensor, *args, **kwargs)

            return door

        with monkeypatch.context() as doors, counter:
            for name in DOORS:
                doors.setattr(Tensor, name, watched(name))
            # On a CPU it counts its steps in a tensor that it reads; on a GPU it is told not to (`networks.adam`).
            doors.setattr(torch.optim.Adam, "step", lambda optimizer: None)
            epoch(batch)
        return counter.count

    few, many = reads(16), reads(4)
    assert few == many
    assert few > 0, "the mean loss is read at the end"
