"""The methods by name: ScanMix, the systems it is built from, and its yardsticks, all from the same stages."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.errors import SettingsError
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.evidence.regression import corrected_labels, leave_one_out
from scanmix_cli.method.belief_loop import run_belief_loop
from scanmix_cli.method.elr import train_elr
from scanmix_cli.method.features import FeatureSet
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.method.learner import make_learner
from scanmix_cli.method.moco import train_moco
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.neighbors import mine_neighbors
from scanmix_cli.method.networks import contrastive_net, load_backbone, scanmix_net
from scanmix_cli.method.scan import train_scan
from scanmix_cli.method.scanmix import run_em_loop
from scanmix_cli.method.settings import BeliefSettings, Profile
from scanmix_cli.method.simclr import train_simclr
from scanmix_cli.method.student import make_student
from scanmix_cli.method.supervised import train_supervised
from scanmix_cli.method.warmup import warm_up
from scanmix_cli.models.network import ContrastiveNet, ScanMixNet


@dataclass(frozen=True)
class Outcome:
    """Trained networks (their summed logits classify), what was learned about the labels (None for clustering alone)
    the neighbours int64 (N, K) where they were mined, and what a leave-one-out regression on the features of a still
    encoder says of every image, float32 (N, C)."""

    nets: list[ScanMixNet]
    evidence: Evidence | None
    neighbors: Tensor | None
    regression: Tensor | None = None


def pretrain(images: ImageSet, profile: Profile, context: Context) -> ContrastiveNet:
    """Stage A: the contrastive encoder."""
    if profile.contrastive is None:
        raise SettingsError(
            f"profile {profile.name} has no contrastive stage to start from; choose another profile or, in its "
            "config.toml, give it a table profile.contrastive"
        )
    encoder = contrastive_net(profile.backbone, context)
    train = train_moco if profile.contrastive.objective == "moco" else train_simclr
    train(encoder, images, profile.contrastive, context)
    return encoder


def neighbors_of(
    encoder: ContrastiveNet | None, images: ImageSet, profile: Profile, monitor: Monitor, context: Context
) -> Tensor:
    """Stage B: mined neighbours, int64 (N, K); a still encoder's features need no encoder."""
    settings = profile.neighbors

    def mine() -> Tensor:
        if isinstance(images, FeatureSet):
            features = images.mean_features()
        else:
            assert encoder is not None
            function = encoder.features if settings.features == "backbone" else encoder
            features = forward_all(function, encoder, images, context)
        features = torch.nn.functional.normalize(features, dim=1)
        return mine_neighbors(features, settings.count, settings.include_self)

    for _ in context.epochs("neighbors", 1):
        context.log(**monitor.neighbors(context.once("neighbors", mine), images, context))
    return context.once("neighbors", mine)


def scanmix(
    images: ImageSet, profile: Profile, monitor: Monitor, context: Context, encoder: ContrastiveNet | None
) -> Outcome:
    """The paper's method: every stage that the profile has. `encoder` skips the contrastive stage, and so do
    features of a still encoder."""
    if isinstance(images, FeatureSet):
        return _on_features(images, profile, monitor, context)
    encoder = encoder or pretrain(images, profile, context)
    if profile.beliefs is not None:
        return _on_beliefs(profile.beliefs, encoder, images, profile, monitor, context)
    neighbors = neighbors_of(encoder, images, profile, monitor, context)
    nets = _pair(images, profile, context)
    for net in nets:
        load_backbone(net, encoder)
    if profile.scan is not None:
        train_scan(nets[0], images, neighbors, profile.scan, context)
        with torch.no_grad():
            nets[0].class_head.load_state_dict(nets[0].cluster_head.state_dict())
        nets[1].load_state_dict(nets[0].state_dict())
    return _two_networks(nets, images, neighbors, profile, monitor, context)


def pretrain_dividemix(
    images: ImageSet, profile: Profile, monitor: Monitor, context: Context, encoder: ContrastiveNet | None
) -> Outcome:
    """The paper's ablation: contrastive encoder, warm-up, DivideMix; no SCAN, no clustering step."""
    encoder = encoder or pretrain(images, profile, context)
    nets = _pair(images, profile, context)
    for net in nets:
        load_backbone(net, encoder)
    return _two_networks(nets, images, None, replace(profile, clustering=None), monitor, context)


def dividemix(
    images: ImageSet, profile: Profile, monitor: Monitor, context: Context, encoder: ContrastiveNet | None = None
) -> Outcome:
    """DivideMix from scratch: the whole network warms up, weak views, no gate."""
    plain = replace(
        profile,
        clustering=None,
        gate=None,
        warmup=replace(profile.warmup, scope="network", view="weak"),
        mixmatch=replace(profile.mixmatch, view="weak"),
    )
    nets = _pair(images, profile, context)
    return _two_networks(nets, images, None, plain, monitor, context)


def scan(
    images: ImageSet, profile: Profile, monitor: Monitor, context: Context, encoder: ContrastiveNet | None
) -> Outcome:
    """Clustering alone; clusters are matched to classes for scoring only, by whoever scores."""
    if profile.scan is None:
        raise SettingsError(
            f"profile {profile.name} has no SCAN stage; choose another profile or, in its config.toml, give it a table "
            "profile.scan"
        )
    encoder = encoder or pretrain(images, profile, context)
    neighbors = neighbors_of(encoder, images, profile, monitor, context)
    net = scanmix_net(profile.backbone, images.classes, context, seed_offset=1)
    load_backbone(net, encoder)
    train_scan(net, images, neighbors, profile.scan, context)
    return Outcome([net], None, neighbors)


def cross_entropy(
    images: ImageSet, profile: Profile, monitor: Monitor, context: Context, encoder: ContrastiveNet | None = None
) -> Outcome:
    """One network trained with the given labels as they are."""
    return _one_network(images, profile, monitor, context, use_mixup=False)


def mixup(
    images: ImageSet, profile: Profile, monitor: Monitor, context: Context, encoder: ContrastiveNet | None = None
) -> Outcome:
    """One network trained with mixed images and labels."""
    return _one_network(images, profile, monitor, context, use_mixup=True)


def elr(
    images: ImageSet, profile: Profile, monitor: Monitor, context: Context, encoder: ContrastiveNet | None = None
) -> Outcome:
    """ELR+."""
    nets = _pair(images, profile, context)
    averaged, evidence = train_elr(nets, images, profile.supervised, profile.split, monitor, context)
    return Outcome(averaged, evidence, None)


# Each takes an encoder that is trained already, so that several methods can share one; those from scratch ignore it.
Method = Callable[[ImageSet, Profile, Monitor, Context, ContrastiveNet | None], Outcome]
METHODS: dict[str, Method] = {
    "cross-entropy": cross_entropy,
    "mixup": mixup,
    "elr": elr,
    "scan": scan,
    "dividemix": dividemix,
    "pretrain+dividemix": pretrain_dividemix,
    "scanmix": scanmix,
}


def _pair(images: ImageSet, profile: Profile, context: Context) -> list[ScanMixNet]:
    """Two fresh networks with different weights."""
    return [scanmix_net(profile.backbone, images.classes, context, seed_offset=k) for k in (1, 2)]


def _on_beliefs(
    settings: BeliefSettings,
    encoder: ContrastiveNet,
    images: ImageSet,
    profile: Profile,
    monitor: Monitor,
    context: Context,
) -> Outcome:
    nets = _pair(images, profile, context)[: settings.networks]
    for net in nets:
        load_backbone(net, encoder)
    students = [make_student(net, settings, context) for net in nets]
    evidence, neighbors = run_belief_loop(students, images, profile, monitor, context)
    return Outcome([student.averaged for student in students], evidence, neighbors)


def _one_network(images: ImageSet, profile: Profile, monitor: Monitor, context: Context, use_mixup: bool) -> Outcome:
    net = scanmix_net(profile.backbone, images.classes, context, seed_offset=1)
    evidence = train_supervised(net, images, profile.supervised, profile.split, use_mixup, monitor, context)
    return Outcome([net], evidence, None)


def _two_networks(
    nets: list[ScanMixNet],
    images: ImageSet,
    neighbors: Tensor | None,
    profile: Profile,
    monitor: Monitor,
    context: Context,
    regression: Tensor | None = None,
) -> Outcome:
    """Warm-up and EM loop. Features of a still encoder are learned by heart in an epoch, right or wrong labels: there
    the networks warm up on the labels that the leave-one-out regression (N, C) makes of the given ones."""
    learners = [make_learner(net, profile, context) for net in nets]
    first = images
    if regression is not None:
        right = corrected_labels(regression.cpu().numpy(), images.labels.cpu().numpy())
        first = replace(images, labels=torch.from_numpy(right).to(context.device))
    warm_up(learners, first, profile.warmup, monitor, context)
    evidence = run_em_loop(learners, images, neighbors, profile, monitor, context)
    return Outcome(nets, evidence, neighbors)


def _on_features(features: FeatureSet, profile: Profile, monitor: Monitor, context: Context) -> Outcome:
    """ScanMix on the features of a still encoder: the networks are adapters, and a regression takes the first look."""
    neighbors = neighbors_of(None, features, profile, monitor, context)
    regression = _regression(features, context)
    nets = _pair(features, profile, context)
    outcome = _two_networks(nets, features, neighbors, profile, monitor, context, regression)
    return replace(outcome, regression=regression)


def _regression(images: FeatureSet, context: Context) -> Tensor:
    """What the features say of every image's class without its own label, float32 (N, C)."""

    def compute() -> Tensor:
        features, labels = images.mean_features().cpu().numpy(), images.labels.cpu().numpy()
        return torch.from_numpy(leave_one_out(features, labels, images.classes, context.seed))

    return context.once("regression", compute)
