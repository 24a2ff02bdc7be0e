"""The EM loop on beliefs: ScanMix's idea, that neighbours share a class, used to decide what to train towards.

E-step: the averaged weights look at every image; their probabilities and the votes of the neighbours in their own
feature space make the belief, against which the given label is weighed by the noise matrix (`teacher.py`). M-step:
strong views are trained towards the outcome (`belief_step.py`), each network towards that of its peer. No part depends
on the kind or the rate of the noise.
"""

import torch
from torch import Tensor

from scanmix_cli.engine.checkpoints import Stateful
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import is_writer
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.method.belief_step import BeliefStep
from scanmix_cli.method.beliefs import confidence_weight
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.losses import SMALLEST, cosine_rate, sharpen
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.student import Student, look_closely, renew_statistics
from scanmix_cli.method.teacher import Belief, Teacher


def run_belief_loop(
    students: list[Student], images: ImageSet, profile: Profile, monitor: Monitor, context: Context
) -> tuple[Evidence, Tensor]:
    """Train one or two students in place, whose backbones are pre-trained encoders.

    Returns the evidence and the neighbours int64 (N, K) that the first network ends with.
    """
    assert profile.beliefs is not None
    settings, teacher = profile.beliefs, Teacher(images, profile.beliefs, profile.neighbors.count, context)
    for student in students:
        teacher.start(student)
    steps = [BeliefStep(student, images, settings, context) for student in students]
    averaged = [student.averaged for student in students]
    evidence = Evidence.empty(len(images), images.classes, beliefs=True)
    evidence.clusters = teacher.clusters
    evidence.even, evidence.even_error = teacher.weakness * teacher.even, teacher.weakness * teacher.even_error
    beliefs: list[Belief] = []
    state: dict[str, Stateful] = {k: v for n, s in enumerate(students) for k, v in s.stateful(f"net{n}").items()}
    for epoch in context.epochs("scanmix", settings.epochs, evidence=evidence, teacher=teacher, **state):
        beliefs = [teacher.belief(student, n == 0 and doubled(epoch.index)) for n, student in enumerate(students)]
        if is_writer():
            evidence.add(teacher.labels, [view_of(belief, images.labels) for belief in beliefs])
        rate = cosine_rate(settings.learning_rate, settings.final_rate_share, epoch.fraction)
        losses = [
            step.epoch(sharpen(peer.posterior, settings.temperature), confidence_weight(peer.posterior), rate)
            for step, peer in zip(steps, reversed(beliefs), strict=True)
        ]
        for net in averaged:
            renew_statistics(net, images, context)
        context.log(
            **losses[0],
            **teacher.metrics(beliefs[0], monitor),
            **monitor.test(averaged, context),
        )
    beliefs.clear()  # of large sets, together with what the steps keep, more memory than all that follows
    steps.clear()
    sights = [look_closely(net, images, context) for net in averaged]
    evidence.final_probability[:] = joint([sight.probabilities for sight in sights]).cpu().numpy()
    del sights[1:]
    return evidence, teacher.mine(sights.pop().features)  # kept by nobody else while neighbours are looked for


def joint(opinions: list[Tensor]) -> Tensor:
    """The networks' probabilities (N, C) multiplied, as one distribution for each image."""
    return torch.stack([opinion.clamp_min(SMALLEST).log() for opinion in opinions]).sum(0).softmax(1)


def doubled(epochs: int) -> bool:
    """Whether the number of finished epochs is 1, 2, 4, 8 and so on: features change fastest at first."""
    return epochs > 0 and epochs & (epochs - 1) == 0


def view_of(belief: Belief, labels: Tensor) -> View:
    """A belief as evidence about the given labels int64 (N,): the loss is that of the belief without the label."""
    given = labels.clamp_min(0).unsqueeze(1)
    losses = -belief.told.gather(1, given).squeeze(1).clamp_min(SMALLEST).log()
    clean = belief.posterior.gather(1, given).squeeze(1)
    return View(belief.told.cpu().numpy(), losses.cpu().numpy(), clean.cpu().numpy())
