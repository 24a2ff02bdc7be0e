"""From the data and the device to a complete profile: the `auto` choice, overrides, time budget and estimate."""

import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from scanmix_cli.data.pixels import TRUNCATED
from scanmix_cli.engine.device import Compute, seeded
from scanmix_cli.engine.parallel import world
from scanmix_cli.engine.parts import halving, is_out_of_memory
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
from scanmix_cli.workflow.request import LARGE_SETS, PROFILES, Given, Request
from scanmix_cli.workflow.schedule import fit_budget, fit_epochs, scale_epochs, stage_seconds, still_size
from scanmix_cli.workflow.weights import choose_outside, is_named

SAFETY = 0.85  # share of a time budget that training may plan with; the rest is decoding, judging, writing
LONGEST = 110  # epochs of the belief loop on a CPU, whose schedule is for a minute or two, where a budget allows more
UNBALANCED = 5.0  # times the rarest class that the commonest has; noise alone makes little of that
LARGEST_SMALL = 64  # pixels a side; above it MoCo-v2 and a ResNet-50 take over, as in the paper
STILL_SIZE = 192  # a good part of what weights for 224 pixels can see, at three quarters of the cost
STILL_SMALL, SMALL_SIDE = 128, 48  # pixels enough for pictures whose short side is below the latter
STILL_SHARE = 0.6  # of a time budget, at most, for these features where pictures may be smaller
STILL_STEP = 2.0  # cost of a step on these features, as a multiple of the passes in it: views and mixtures cost as much
HELD_OUT = 2.0  # times that held-out images go through a still encoder: for the accuracy, and for the report
CLOSING = 12.0  # seconds of verdicts, map, model files, plots and page on a core: 9 to 18 were seen
FEATURES = 2048  # about as many as a still encoder has, for estimates only
PROBE_IMAGES = {"cpu": 64, "cuda": 512, "mps": 128}
STILL_PROBE = 256  # features: the four views of a batch on a still encoder


@dataclass(frozen=True)
class Plan:
    """A resolved profile, why it was chosen, the seconds that each stage is expected to take, and those of the rest of
    the run: what the stages do not see, and the files."""

    profile: Profile
    reason: str
    seconds: dict[str, float]
    rest: float = 0.0

    @property
    def total(self) -> float:
        """Seconds of all stages and of the rest."""
        return sum(self.seconds.values()) + self.rest

    @property
    def least(self) -> dict[str, int]:
        """Epochs of the stages that a time budget does not cut, however late it is."""
        if self.profile.encoder != "still":
            return {}
        planned = {"warmup": self.profile.warmup.epochs, "scanmix": self.profile.mixmatch.epochs}
        own = {"warmup": fast.STILL.warmup.epochs, "scanmix": fast.STILL.mixmatch.epochs}
        return {stage: min(epochs, own[stage]) for stage, epochs in planned.items()}


def make_plan(
    request: Request,
    facts: DataFacts,
    compute: Compute,
    given: Given | None = None,
    resumed: bool = False,
    spent: float = 0.0,
) -> Plan:
    """Choose a profile, then bend it to the configuration file's table, the request's own values and its time budget,
    of which so many seconds are `spent` already.

    A resumed run keeps its schedule; a time budget then only stops its stages early.
    """
    profile, reason = choose_profile(request, facts, compute)
    if given is not None:
        profile, reason = given.profile(profile), "as configured"
    profile = with_fitting_views(override(profile, request))
    before: dict[str, float] = {}
    rest = CLOSING
    cost = seconds_per_image(profile, compute) / world()
    limited = request.time_budget > 0 and not resumed
    allowed = request.time_budget * SAFETY - spent
    if profile.encoder == "still":
        features = facts.images * still.seconds_per_image(profile, compute)
        if limited and given is None and not request.image_size:
            size = still_size(profile.image_size, features, STILL_SHARE * allowed)
            features *= (size / profile.image_size) ** 2
            profile = resized(profile, size)
        held_out = HELD_OUT * features * facts.held_out / facts.images
        before, allowed, rest = {"embedding": features}, allowed - features - held_out, rest + held_out
        cost *= STILL_STEP
    seconds = before | stage_seconds(profile, facts, cost)
    if limited:
        own = given is None and not request.epochs and not request.pretrain_epochs
        short = own and profile.beliefs is not None and not compute.accelerated
        expected = sum(stage_seconds(profile, facts, cost).values())
        profile, factor = fit_budget(profile, expected, allowed, LONGEST if short else 0)
        profile = fit_epochs(profile, facts, allowed / cost)
        seconds = before | stage_seconds(profile, facts, cost)
        reason += "" if factor == 1 else f", schedule {'shortened' if factor < 1 else 'lengthened'} to the time budget"
        reason += f", {profile.epoch_images} images an epoch" if profile.epoch_images else ""
    return Plan(profile, reason, seconds, rest)


def check_names(request: Request, given: Given | None = None) -> None:
    """SettingsError for an unknown name in the request or in a configuration's profile, before anything slow."""
    if request.profile not in PROFILES:
        raise SettingsError(f"unknown profile {request.profile!r}; choose one of {', '.join(PROFILES)}")
    if request.truncated not in TRUNCATED:
        raise SettingsError(f"unknown choice truncated = {request.truncated!r}; choose one of {', '.join(TRUNCATED)}")
    if request.backbone:
        _check_backbone(request.backbone)
    elif given is not None and "backbone" in given.table:
        _check_backbone(given.table["backbone"], f"{given.where}: ")
    if is_named(request.weights):
        choose_outside(request.weights, request.backbone)


def _check_backbone(name: str, where: str = "") -> None:
    try:
        with torch.device("meta"):
            build_backbone(name)
    except ValueError as error:
        raise SettingsError(f"{where}{error}") from None


def choose_profile(request: Request, facts: DataFacts, compute: Compute) -> tuple[Profile, str]:
    """The named profile for images of this size, or our own choice; the name is known."""
    if request.profile in ("official", "paper", *LARGE_SETS):
        row = request.profile
        if row not in LARGE_SETS:
            row = "cifar10" if facts.short_side <= 96 else "webvision"
        profile = (OFFICIAL if request.profile == "official" else PAPER)[row]
        return start_from(profile, request), f"the {profile.name} settings of the {row} benchmark"
    base = fast.GPU if compute.accelerated else fast.CPU
    size, why_size = _image_size(facts.short_side, compute)
    if is_named(request.weights):
        base, size = fast.STILL, STILL_SMALL if facts.short_side < SMALL_SIDE else STILL_SIZE
    elif size > LARGEST_SMALL and compute.accelerated:
        base = fast.LARGE
    profile = resized(replace(base, name=request.profile), size)
    if is_named(request.weights):
        profile = start_from(profile, request)
        why_size += f", features of {request.weights}"
    profile = _with_epochs(profile, facts.images, compute)
    if facts.imbalance >= UNBALANCED and profile.encoder != "still":  # there the prior is the given shares anyway
        profile = fast.unbalanced(profile)
        if not compute.accelerated:  # few images of rare classes lose every vote of their neighbours (docs/large.md)
            profile = replace(profile, beliefs=None)
        why_size += f", the commonest class {facts.imbalance:.0f} times the rarest"
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


def with_fitting_views(profile: Profile) -> Profile:
    """The profile with whole views where its network cannot work on smaller ones; SettingsError where whole ones are
    too small as well."""
    with seeded(0):
        net = build_backbone(profile.backbone).eval()
    if not _takes(net, profile.image_size):
        raise SettingsError(
            f"the network {profile.backbone} cannot work on pictures of {profile.image_size} pixels; ask for larger "
            "ones with --image-size, or choose another --backbone"
        )
    contrastive = profile.contrastive
    if contrastive is None or _takes(net, round(profile.image_size * contrastive.crop)):
        return profile
    return replace(profile, contrastive=replace(contrastive, crop=1.0))


def _takes(net: nn.Module, size: int) -> bool:
    """Whether a network takes pictures of so many pixels a side. One goes through it: on PyTorch's device `meta`, where
    it would take no arithmetic, seconds go by until the compiler is imported."""
    try:
        with torch.inference_mode():
            net(torch.zeros(1, 3, size, size))
    except NotImplementedError:  # an operation that a CPU does not have says nothing of sizes
        return True
    except (RuntimeError, AssertionError, ValueError) as error:  # of maps that have no pixel left, by PyTorch and timm
        if is_out_of_memory(error):
            raise
        return False
    return True


def seconds_per_image(profile: Profile, compute: Compute) -> float:
    """Measured seconds of one training pass of one image on this device, in a batch; the best of a few, for what else
    runs here may be over soon."""
    size, device = profile.image_size, compute.device
    shape, backbone = (3, size, size), profile.backbone
    most = max(PROBE_IMAGES[device.type] * 32 // size, 8)
    if profile.encoder == "still":
        shape, backbone, most = (FEATURES, 1, 1), f"adapter:{FEATURES}", STILL_PROBE
    with seeded(0):
        net = placed(build_backbone(backbone), device)

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

    return halving(measure, most, {}, "probe")
