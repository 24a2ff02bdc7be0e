"""Small pictures, small networks and short schedules: whole methods in a second on a CPU."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from scanmix_cli.engine.budget import Budget
from scanmix_cli.engine.checkpoints import Checkpoints
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.progress import Reporter
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.learner import Learner, make_learner
from scanmix_cli.method.methods import METHODS, Outcome
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import scanmix_net
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles import fast

CLASSES = 3


def toy_images(count: int = 64, size: int = 16, unlabelled: int = 4, seed: int = 0) -> ImageSet:
    """Squares of a class colour under noise; the first `unlabelled` images have no label, every fifth a wrong one."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.arange(count) % CLASSES
    pixels = torch.randint(0, 120, (count, 3, size, size), generator=generator)
    pixels[torch.arange(count), truth] += 110
    labels = torch.where(torch.arange(count) % 5 == 4, (truth + 1) % CLASSES, truth)
    labels[:unlabelled] = -1
    statistics = ((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))
    return ImageSet(pixels.to(torch.uint8), labels, CLASSES, size, *statistics)


def toy_profile(epochs: int = 2) -> Profile:
    """`fast` on a CPU with the published loop, at 16 pixels and with every schedule cut to a few epochs."""
    return shrink(replace(fast.CPU, beliefs=None), epochs, 16)


def shrink(profile: Profile, epochs: int = 1, size: int = 32, batch: int = 16) -> Profile:
    """A profile with all that makes it this profile, but quick: small network, images and batches, few epochs."""
    semi = profile.mixmatch
    assert profile.contrastive is not None
    assert profile.scan is not None
    return replace(
        profile,
        backbone="small",
        image_size=size,
        stored_size=size,
        contrastive=replace(
            profile.contrastive, epochs=epochs, batch_size=batch, queue_size=2 * batch, learning_rate=0.02
        ),
        neighbors=replace(profile.neighbors, count=5),
        scan=replace(profile.scan, epochs=epochs, batch_size=batch),
        warmup=replace(profile.warmup, epochs=epochs, batch_size=batch),
        mixmatch=replace(
            semi,
            epochs=epochs,
            batch_size=batch // 2,
            steps=min(semi.steps, 2),
            epoch_images=min(semi.epoch_images, 24),
        ),
        clustering=profile.clustering and replace(profile.clustering, batch_size=batch),
        supervised=replace(profile.supervised, epochs=epochs, batch_size=batch),
    )


def toy_context(
    seed: int = 0,
    reporter: Reporter | None = None,
    checkpoints: Checkpoints | None = None,
    budget: Budget | None = None,
    metrics: Path | None = None,
) -> Context:
    return Context(Compute(torch.device("cpu"), "fp32"), seed, reporter, checkpoints, budget, metrics)


def pair(profile: Profile, context: Context) -> list[Learner]:
    """Two learners with networks of their own."""
    return [make_learner(scanmix_net("small", CLASSES, context, k), profile, context) for k in (1, 2)]


def train(
    method: str, profile: Profile, images: ImageSet, context: Context | None = None, monitor: Monitor | None = None
) -> Outcome:
    return METHODS[method](images, profile, monitor or Monitor(), context or toy_context(), None)


def evidence_bytes(outcome: Outcome) -> bytes:
    """Everything the run learned about the labels."""
    assert outcome.evidence is not None
    state = outcome.evidence.state_dict()
    return b"".join(np.asarray(state[name]).tobytes() for name in sorted(state))
