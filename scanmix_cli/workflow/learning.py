"""What a run learns: the method on the training images, and what is looked at before its networks are let go."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.engine.context import Context
from scanmix_cli.evidence.projection import map_rows, project
from scanmix_cli.method.consistency import view_consistency
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.method.methods import METHODS, Outcome
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.settings import Profile
from scanmix_cli.workflow.classifier import Classifier, make_classifier
from scanmix_cli.workflow.reviewed import TrainingLabels
from scanmix_cli.workflow.sets import make_sets


@dataclass(frozen=True)
class Trained:
    """The method's outcome for the readable training images (N); test accuracies, {} without a held-out part."""

    outcome: Outcome
    classifier: Classifier
    embedding: tuple[np.ndarray, np.ndarray]  # images int64 (M,) among the N, and their places float32 (M, 2)
    rows: np.ndarray  # int64 (N,): row of each image in the Samples table
    given: TrainingLabels
    test: dict[str, float]
    consistency: np.ndarray  # float32 (N,) in 0..1: how far the networks say the same of an image and its mirror image


def learn(samples: Samples, labels: TrainingLabels, pixels: Pixels, profile: Profile, context: Context) -> Trained:
    """Run ScanMix on the readable training images that were not dropped."""
    sets = make_sets(samples, labels, pixels, profile, context)
    monitor = Monitor(sets.held_out)
    outcome = METHODS["scanmix"](sets.images, sets.profile, monitor, context, sets.encoder)
    embedding, test = _embed(outcome, sets.images, context), monitor.test(outcome.nets, context)
    classifier = make_classifier(
        sets.whole(outcome.nets), replace(profile, backbone=sets.whole_backbone), samples.classes
    )
    assert outcome.evidence is not None
    said = torch.from_numpy(outcome.evidence.final_probability)
    consistency = view_consistency(said, outcome.nets, sets.images, context).cpu().numpy()
    return Trained(outcome, classifier, embedding, sets.rows, labels, test, consistency)


def _embed(outcome: Outcome, images: ImageSet, context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Some of the images, and their places on a map of the first network's features."""
    rows = map_rows(len(images), context.seed)
    net = outcome.nets[0]
    chosen = images.subset(torch.from_numpy(rows).to(context.device))
    features = forward_all(net.features, net, chosen, context)
    return rows, project(features.cpu().numpy(), context.seed)
