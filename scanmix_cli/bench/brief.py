"""Time budgets that are shorter than one epoch: on a CPU a large set is then seen in parts.

A stage has at least one epoch, and one epoch of 50,000 images can take a CPU minutes. So that a toy budget ends near
its time, every epoch then draws a fresh random part of the images. All of them are still judged and the whole test part
is still measured: those looks are the least that a method takes.
"""

from dataclasses import replace
from typing import Any

import torch

from scanmix_cli.bench.protocol import shares
from scanmix_cli.engine.context import Context
from scanmix_cli.method.settings import Profile
from scanmix_cli.workflow.plan import FORWARD_SHARE, DataFacts, scale_epochs

LEAST = 1_024  # images an epoch: fewer teach nothing
PAIRS = ("elr", "dividemix", "pretrain+dividemix", "scanmix")  # methods of two networks
CLUSTERED = ("scan", "scanmix")  # methods that mine neighbours and choose an epoch of the clustering
LOOKS = 2  # of every network at all images, when an epoch is judged and at the end; and as many for clustering


class BriefContext(Context):
    """A context whose epochs draw at most `most` images each; 0: all."""

    def __init__(self, *arguments: Any, most: int = 0, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.most = most

    def permutation(self, count: int) -> torch.Tensor:
        """A random order of `count` rows, the first `most` of it: what every stage takes its batches from."""
        return super().permutation(count)[: self.most or None]


def images_an_epoch(method: str, profile: Profile, facts: DataFacts, seconds: float, cost: float) -> int:
    """How many images an epoch may draw so that one epoch of every stage of `method` takes about `seconds`.

    `cost` is the seconds of one training pass of one image. 0, all of them, where that fits; else at least `LEAST`.
    """
    pair = 2 if method in PAIRS else 1
    looks = LOOKS * (pair + (method in CLUSTERED)) * FORWARD_SHARE * facts.images
    trained = sum(shares(method, _one_epoch(profile), facts).values()) or pair * facts.images
    part = (seconds / cost - looks) / trained
    most = max(int(part * facts.images), LEAST)
    return 0 if most >= facts.images else most


def in_parts(profile: Profile, most: int) -> Profile:
    """The profile whose main loop, too, takes at most `most` images an epoch."""
    if not most:
        return profile
    return replace(profile, mixmatch=replace(profile.mixmatch, epoch_images=most))


def _one_epoch(profile: Profile) -> Profile:
    shortest = scale_epochs(profile, 0.0)
    beliefs = shortest.beliefs and replace(shortest.beliefs, epochs=1)
    return replace(shortest, mixmatch=replace(shortest.mixmatch, epochs=1), beliefs=beliefs)
