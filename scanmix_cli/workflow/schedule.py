"""The length of a schedule: what its stages cost, and how a time budget shortens them."""

from dataclasses import replace

from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles import fast
from scanmix_cli.workflow.facts import DataFacts

FORWARD_SHARE = 1 / 3  # cost of a forward pass, as a share of a training pass
SMALL_VIEWS = 1.5  # exponent of a view's side in what it costs: measured; small ones keep less of a device busy
LOOKS = 8  # at all images in the shortest run: features, SCAN, and both networks before, after and for the gate
LEAST_DRAWN = 1_024  # images an epoch: fewer teach nothing
CLEAN_SHARE = 0.7  # assumed share of labels in the clean set, for estimates only
SMALLER = (160, 128, 96)  # for a still encoder whose features would eat up a time budget


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


def fit_budget(profile: Profile, expected: float, allowed: float, longest: int = 0) -> tuple[Profile, float]:
    """Shorten every stage alike so that the expected seconds fit the allowed ones, or lengthen them while the loop has
    no more than `longest` epochs. Returns the factor too.

    On a still encoder the EM loop keeps as many epochs as `fast.STILL` has: they are cheap beside the features, and too
    few of them are worse than no training at all.
    """
    factor = min(max(allowed, 0.0) / expected, max(longest / profile.loop_epochs, 1.0))
    if profile.encoder == "still":
        factor = max(factor, min(fast.STILL.mixmatch.epochs / profile.mixmatch.epochs, 1.0))
    return (profile if factor == 1 else scale_epochs(profile, factor)), factor


def still_size(size: int, seconds: float, allowed: float) -> int:
    """Pixels a side for a still encoder: `size`, where its features take `seconds`, or the largest smaller size whose
    features take the allowed ones at most, or the smallest."""
    sizes = [size, *(smaller for smaller in SMALLER if smaller < size)]
    return next((side for side in sizes if seconds * (side / size) ** 2 <= allowed), sizes[-1])


def fit_epochs(profile: Profile, facts: DataFacts, allowed: float) -> Profile:
    """Let an epoch draw a part of the images where one whole epoch of every stage, the least that a run takes, needs
    more than the allowed training passes of an image. All images are still looked at, whatever the budget.
    """
    shortest = scale_epochs(profile, 0.0)
    shortest = replace(shortest, mixmatch=replace(shortest.mixmatch, epochs=1))
    needed = sum(stage_seconds(shortest, facts, 1.0).values())
    whole = needed <= allowed or facts.images <= LEAST_DRAWN
    if whole or profile.encoder == "still":
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
        size = profile.contrastive.crop**SMALL_VIEWS
        seen = size * profile.contrastive.views * used
        passes[profile.contrastive.objective] = seen * profile.contrastive.epochs
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
