"""How a benchmark bends a profile: the published rows of the paper, toy schedules, each method's share of a budget."""

from dataclasses import replace

from scanmix_cli.bench.request import PRETRAINED, SEMANTIC, BenchRequest
from scanmix_cli.engine.device import Compute
from scanmix_cli.errors import SettingsError
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.profiles.paper import PAPER, dividemix_lambda_u
from scanmix_cli.workflow.facts import DataFacts
from scanmix_cli.workflow.plan import choose_profile
from scanmix_cli.workflow.request import Request
from scanmix_cli.workflow.schedule import scale_epochs, stage_seconds

PUBLISHED_PROFILES = {"official": OFFICIAL, "paper": PAPER}
HISTORY_RATE, HISTORY = 0.9, 5  # at this nominal rate the release averages this many loss vectors


def bench_profile(request: BenchRequest, facts: DataFacts, compute: Compute) -> Profile:
    """The profile of a benchmark cell.

    `official` and `paper` take the benchmark's own row and what the publication sets by the noise it knows. `auto` and
    `fast` know neither kind nor rate of the noise.
    """
    table = PUBLISHED_PROFILES.get(request.profile)
    if table is None or request.target not in table:
        profile, _ = choose_profile(Request(profile=request.profile), facts, compute)
    else:
        profile = published_profile(request, table[request.target])
    return shortened(profile, request.epochs, request.pretrain_epochs)


def published_profile(request: BenchRequest, row: Profile) -> Profile:
    """The row of the paper with what it sets by noise: penalty, loss history, and for `paper` DivideMix's lambda_u."""
    if not request.target.startswith("cifar"):
        return row
    penalty = request.kind == "asym" or request.kind in SEMANTIC
    profile = replace(row, warmup=replace(row.warmup, confidence_penalty=penalty))
    if request.nominal_rate == HISTORY_RATE:
        profile = replace(profile, split=replace(row.split, history=HISTORY))
    if request.profile == "paper":
        weight = dividemix_lambda_u(request.target, request.kind, request.nominal_rate or 0.0)
        profile = replace(profile, mixmatch=replace(row.mixmatch, lambda_u=weight))
    return profile


def shortened(profile: Profile, epochs: int, pretrain_epochs: int) -> Profile:
    """`epochs` for the main loop and for plain training, SCAN and warm-up in proportion; 0 leaves a schedule alone."""
    contrastive = profile.contrastive
    if epochs:
        profile = scale_epochs(profile, epochs / profile.loop_epochs)
        profile = replace(
            profile,
            mixmatch=replace(profile.mixmatch, epochs=epochs),
            beliefs=profile.beliefs and replace(profile.beliefs, epochs=epochs),
            supervised=replace(profile.supervised, epochs=epochs),
        )
    if contrastive is not None and pretrain_epochs:
        contrastive = replace(contrastive, epochs=pretrain_epochs)
    return replace(profile, contrastive=contrastive)


def check_stages(method: str, profile: Profile) -> None:
    """SettingsError where a method needs a stage that the profile lacks."""
    if method in PRETRAINED and profile.contrastive is None:
        raise SettingsError(f"profile {profile.name} has no contrastive stage, which {method} starts from: choose fast")
    if method == "scan" and profile.scan is None:
        raise SettingsError(f"profile {profile.name} has no SCAN stage: leave scan out of --methods")


def shares(method: str, profile: Profile, facts: DataFacts) -> dict[str, float]:
    """How a method's time budget is shared out over its stages, in any unit; empty where it has one stage."""
    if method != "scanmix":
        profile = replace(profile, beliefs=None)
    if method == "dividemix":
        profile = replace(profile, warmup=replace(profile.warmup, scope="network"))
    if method in ("dividemix", "pretrain+dividemix"):
        profile = replace(profile, clustering=None)
    costs = stage_seconds(profile, facts, 1.0)
    stages = {
        "scan": ("scan",),
        "dividemix": ("warmup", "scanmix"),
        "pretrain+dividemix": ("warmup", "scanmix"),
        "scanmix": ("scan", "warmup", "scanmix"),
    }.get(method, ())
    return {stage: costs[stage] for stage in stages if stage in costs}
