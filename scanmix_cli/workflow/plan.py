"""From the data and the device to a complete profile: the `auto` choice, overrides, time budget and estimate."""

import time
from dataclasses import dataclass, replace

import numpy as np
import torch

from scanmix_cli.data.pixels import TRUNCATED
from scanmix_cli.engine.device import Compute, seeded
from scanmix_cli.engine.parallel import world
from scanmix_cli.engine.parts import halving
from scanmix_cli.errors import SettingsError
from scanmix_cli.method.images import to_layout
from scanmix_cli.method.networks import placed
from scanmix_cli.method.settings import Profile
from scanmix_cli.models.registry import build_backbone
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.profiles.paper import PAPER
from scanmix_cli.workflow import still
from scanmix_cli.workflow.facts import DataFacts
from scanmix_cli.workflow.request import PROFILES, Given, Request
from scanmix_cli.workflow.weights import choose_outside, is_named

FORWARD_SHARE = 1 / 3  # cost of a forward pass, as a share of a training pass
LOOKS = 8  # at all images in the shortest run: features, SCAN, and both networks before, after and for the gate
LEAST_DRAWN = 1_024  # images an epoch: fewer teach nothing
CLEAN_SHARE = 0.7  # assumed share of labels in the clean set, for estimates only
SAFETY = 0.85  # share of a time budget that training may plan with; the rest is decoding, judging, writing
BELIEF_IMAGES = 1_000  # a class: fewer give weak features, and beliefs of weak features doubt right labels
LARGEST_SMALL = 64  # pixels a side; above it MoCo-v2 and a ResNet-50 take over, as in the paper
STILL_SIZE = 192  # a good part of what weights for 224 pixels can see, at three quarters of the cost
FEATURES = 2048  # about as many as a still encoder has, for estimates only
PROBE_IMAGES = {"cpu": 64, "cuda": 512, "mps": 128}


@dataclass(frozen=True)
class Plan:
    """A resolved profile, why it was chosen, and the seconds that each stage is expected to take."""

    profile: Profile
    reason: str
    seconds: dict[str, float]

    @property
    def total(self) -> float:
        """Seconds of all stages together."""
        return sum(self.seconds.values())


def make_plan(
    request: Request, facts: DataFacts, compute: Compute, given: Given | None = None, resumed: bool = False
) -> Plan:
    """Choose a profile, then bend it to the configuration file's table, the request's own values and its time budget.

    A resumed run keeps its schedule; a time budget then only stops its stages early.
    """
    profile, reason = choose_profile(request, facts, compute)
    if given is not None:
        profile, reason = given.profile(profile), "as configured"
    profile = override(profile, request)
    before: dict[str, float] = {}
    cost = seconds_per_image(profile, compute) / world()
    if profile.encoder == "still":
        before = {"embedding": facts.images * still.seconds_per_image(profile, compute)}
    seconds = before | stage_seconds(profile, facts, cost)
    if request.time_budget > 0 and not resumed:
        profile, shrunk = fit_budget(profile, sum(seconds.values()), request.time_budget * SAFETY)
        profile = fit_epochs(profile, facts, request.time_budget * SAFETY / cost)
        seconds = before | stage_seconds(profile, facts, cost)
        reason += ", schedule shortened to the time budget" if shrunk else ""
        reason += f", {profile.epoch_images} images an epoch" if profile.epoch_images else ""
    return Plan(profile, reason, seconds)


def check_names(request: Request) -> None:
    """SettingsError for an unknown name, before anything slow."""
    if request.profile not in PROFILES:
        raise SettingsError(f"unknown profile {request.profile!r}; choose one of {', '.join(PROFILES)}")
    if request.truncated not in TRUNCATED:
        raise SettingsError(f"unknown choice truncated = {request.truncated!r}; choose one of {', '.join(TRUNCATED)}")
    if request.backbone:
        try:
            with torch.device("meta"):
                build_backbone(request.backbone)
        except ValueError as error:
            raise SettingsError(str(error)) from None
    if is_named(request.weights):
        choose_outside(request.weights, request.backbone)


def choose_profile(request: Request, facts: DataFacts, compute: Compute) -> tuple[Profile, str]:
    """The named profile for images of this size, or our own choice; the name is known."""
    if request.profile in ("official", "paper"):
        row = "cifar10" if facts.short_side <= 96 else "webvision"
        table = OFFICIAL if request.profile == "official" else PAPER
        return start_from(table[row], request), f"the {request.profile} settings of the {row} benchmark"
    base = fast.GPU if compute.accelerated else fast.CPU
    size, why_size = _image_size(facts.short_side, compute)
    if is_named(request.weights):
        base, size = fast.STILL, STILL_SIZE
    elif size > LARGEST_SMALL and compute.accelerated:
        base = fast.LARGE
    elif facts.images < BELIEF_IMAGES * facts.classes:
        base = replace(base, beliefs=None)
    profile = resized(replace(base, name=request.profile), size)
    if is_named(request.weights):
        profile = start_from(profile, request)
        why_size += f", features of {request.weights}"
    profile = _with_epochs(profile, facts.images, compute)
    place = "a GPU" if compute.accelerated else "a CPU"
    return profile, f"{facts.images} images of {facts.classes} classes, {why_size}, on {place}"


def resized(profile: Profile, size: int) -> Profile:
    """The profile at another size; pixels are stored as much larger than that as they were."""
    return replace(profile, image_size=size, stored_size=round(size * profile.stored_size / profile.image_size))


def start_from(profile: Profile, request: Request) -> Profile:
    """The profile with the outside weights that were asked for in the place of its contrastive stage."""
    if not is_named(request.weights):
        return profile
    outside = choose_outside(request.weights, request.backbone)
    return replace(
        profile,
        backbone=outside.backbone,
        weights=outside.name,
        mean=outside.mean,
        std=outside.std,
        contrastive=None,
        neighbors=replace(profile.neighbors, features="backbone"),
    )


def _image_size(short_side: int, compute: Compute) -> tuple[int, str]:
    sizes = (32, 64, 128, 224) if compute.accelerated else (32, 64)
    size = next((size for size in sizes if short_side <= size * 1.5), sizes[-1])
    return size, f"short side about {short_side} pixels"


def _with_epochs(profile: Profile, images: int, compute: Compute) -> Profile:
    """Small sets get more epochs and large ones fewer, around the schedule that the profile holds for its own size."""
    typical = 50_000 if compute.accelerated else 1_200
    if profile.encoder == "still":
        typical = 4_000
    factor = min(max((typical / max(images, 1)) ** 0.7, 0.1), 4.0)
    return scale_epochs(profile, factor)


def scale_epochs(profile: Profile, factor: float) -> Profile:
    """Multiply every stage's epochs, keeping at least one (three in the EM loop); rate drops move along."""

    def scaled(epochs: int, least: int = 1) -> int:
        return max(round(epochs * factor), least)

    semi = profile.mixmatch
    return replace(
        profile,
        contrastive=profile.contrastive and replace(profile.contrastive, epochs=scaled(profile.contrastive.epochs)),
        scan=profile.scan and replace(profile.scan, epochs=scaled(profile.scan.epochs)),
        warmup=replace(profile.warmup, epochs=scaled(profile.warmup.epochs)),
        mixmatch=replace(
            semi,
            epochs=scaled(semi.epochs, 3),
            rate_drops=tuple(scaled(drop) for drop in semi.rate_drops),
            rampup=scaled(semi.rampup),
        ),
        beliefs=profile.beliefs and replace(profile.beliefs, epochs=scaled(profile.beliefs.epochs, 3)),
        supervised=replace(profile.supervised, epochs=scaled(profile.supervised.epochs, 3)),
    )


def override(profile: Profile, request: Request) -> Profile:
    """Write the user's own choices into a profile."""
    if request.backbone:
        profile = replace(profile, backbone=request.backbone)
    if request.image_size:
        profile = resized(profile, request.image_size)
    if request.epochs:
        factor = request.epochs / profile.mixmatch.epochs
        drops = tuple(max(round(drop * factor), 1) for drop in profile.mixmatch.rate_drops)
        profile = replace(
            profile,
            mixmatch=replace(profile.mixmatch, epochs=request.epochs, rate_drops=drops),
            beliefs=profile.beliefs and replace(profile.beliefs, epochs=request.epochs),
        )
    if request.pretrain_epochs and profile.contrastive is not None:
        profile = replace(profile, contrastive=replace(profile.contrastive, epochs=request.pretrain_epochs))
    if request.batch_size:
        size = request.batch_size
        profile = replace(
            profile,
            contrastive=profile.contrastive and replace(profile.contrastive, batch_size=size),
            mixmatch=replace(profile.mixmatch, batch_size=size),
            beliefs=profile.beliefs and replace(profile.beliefs, batch_size=size),
        )
    return profile


def fit_budget(profile: Profile, expected: float, allowed: float) -> tuple[Profile, bool]:
    """Shorten every stage alike so that the expected seconds fit the allowed ones."""
    if expected <= allowed:
        return profile, False
    return scale_epochs(profile, allowed / expected), True


def fit_epochs(profile: Profile, facts: DataFacts, allowed: float) -> Profile:
    """Let an epoch draw a part of the images where one whole epoch of every stage, the least that a run takes, needs
    more than the allowed training passes of an image. All images are still looked at, whatever the budget.
    """
    shortest = scale_epochs(profile, 0.0)
    shortest = replace(shortest, mixmatch=replace(shortest.mixmatch, epochs=1))
    needed = sum(stage_seconds(shortest, facts, 1.0).values())
    whole = needed <= allowed or facts.images <= LEAST_DRAWN
    if whole or profile.encoder == "still" or profile.beliefs is not None:
        return profile
    share = (allowed - LOOKS * FORWARD_SHARE * facts.images) / needed
    return in_parts(profile, max(int(share * facts.images), LEAST_DRAWN))


def in_parts(profile: Profile, most: int) -> Profile:
    """The profile whose epochs draw at most `most` images; 0 leaves it alone."""
    if not most:
        return profile
    return replace(profile, epoch_images=most, mixmatch=replace(profile.mixmatch, epoch_images=most))


def stage_seconds(profile: Profile, facts: DataFacts, cost: float) -> dict[str, float]:
    """Expected seconds of each stage; `cost` is the seconds of one training pass of one image."""
    n, semi = facts.images, profile.mixmatch
    drawn = min(n, profile.epoch_images or n)
    passes: dict[str, float] = {}
    if profile.contrastive is not None:
        used = min(drawn, profile.contrastive.max_images or n)
        passes[profile.contrastive.objective] = 2.0 * used * profile.contrastive.epochs
    if profile.beliefs is not None:
        views = 2.0 * drawn + 3 * FORWARD_SHARE * n  # trained on; looked at, with the statistics before
        passes["scanmix"] = profile.beliefs.networks * views * profile.beliefs.epochs
        return {stage: count * cost for stage, count in passes.items()}
    if profile.scan is not None:
        passes["scan"] = (2.0 * drawn + FORWARD_SHARE * n) * profile.scan.epochs
    share = 1.0 if profile.warmup.scope == "network" else FORWARD_SHARE
    passes["warmup"] = 2.0 * share * drawn * profile.warmup.epochs
    used = min(drawn, semi.epoch_images or n)
    steps = semi.steps or max(int(CLEAN_SHARE * used) // semi.batch_size, 1)
    trained = 4 if semi.mix_unlabelled else 2
    network = steps * semi.batch_size * (trained + 6 * FORWARD_SHARE) + FORWARD_SHARE * n
    if profile.clustering is not None:
        clustering = profile.clustering
        network += 2.0 * min(used, clustering.steps * clustering.batch_size or used)
    passes["scanmix"] = 2.0 * network * semi.epochs
    return {stage: count * cost for stage, count in passes.items()}


def seconds_per_image(profile: Profile, compute: Compute) -> float:
    """Measured seconds of one training pass of one image on this device, in a batch; the best of a few, for what else
    runs here may be over soon."""
    size, device = profile.image_size, compute.device
    with seeded(0):
        net = placed(build_backbone(f"adapter:{FEATURES}" if profile.encoder == "still" else profile.backbone), device)
    shape = (FEATURES, 1, 1) if profile.encoder == "still" else (3, size, size)

    def measure(count: int) -> float:
        batch = to_layout(torch.zeros(count, *shape, device=device))
        times = []
        for _ in range(6):
            began = time.perf_counter()
            with compute.autocast():
                loss = net(batch).float().mean()
            loss.backward()
            loss.item()  # waits for the device
            times.append(time.perf_counter() - began)
        return float(np.min(times[1:])) / count

    return halving(measure, max(PROBE_IMAGES[device.type] * 32 // size, 8), {}, "probe")
