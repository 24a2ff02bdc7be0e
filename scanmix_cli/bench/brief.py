"""Time budgets that are shorter than one epoch: on a CPU a large set is then seen in parts.

A stage has at least one epoch, and one epoch of 50,000 images can take a CPU minutes. So that a toy budget ends near
its time, every epoch then draws a fresh random part of the images. All of them are still judged and the whole test part
is still measured: those looks are the least that a method takes.
"""

from dataclasses import replace

from scanmix_cli.bench.protocol import shares
from scanmix_cli.method.settings import Profile
from scanmix_cli.workflow.facts import DataFacts
from scanmix_cli.workflow.schedule import FORWARD_SHARE, LEAST_DRAWN, scale_epochs

PAIRS = ("elr", "dividemix", "pretrain+dividemix", "scanmix")  # methods of two networks
CLUSTERED = ("scan", "scanmix")  # methods that mine neighbours and choose an epoch of the clustering
LOOKS = 2  # of every network at all images, when an epoch is judged and at the end; and as many for clustering


def images_an_epoch(method: str, profile: Profile, facts: DataFacts, seconds: float, cost: float) -> int:
    """How many images an epoch may draw so that one epoch of every stage of `method` takes about `seconds`.

    `cost` is the seconds of one training pass of one image. 0, all of them, where that fits; else at least LEAST_DRAWN.
    """
    pair = 2 if method in PAIRS else 1
    looks = LOOKS * (pair + (method in CLUSTERED)) * FORWARD_SHARE * facts.images
    trained = sum(shares(method, _one_epoch(profile), facts).values()) or pair * facts.images
    part = (seconds / cost - looks) / trained
    most = max(int(part * facts.images), LEAST_DRAWN)
    return 0 if most >= facts.images else most


def _one_epoch(profile: Profile) -> Profile:
    shortest = scale_epochs(profile, 0.0)
    beliefs = shortest.beliefs and replace(shortest.beliefs, epochs=1)
    return replace(shortest, mixmatch=replace(shortest.mixmatch, epochs=1), beliefs=beliefs)
