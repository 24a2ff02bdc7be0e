"""Which features see the user's images better: those of outside weights, or those of a short pre-training here.

What is measured needs no truth: how often the given label of an image is the most common one among its neighbours.
Wrong labels lower both figures alike.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from scanmix_cli.data.pixels import Pixels, load_pixels, require_same_rows
from scanmix_cli.data.samples import Samples
from scanmix_cli.engine.budget import Budget
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.parallel import world
from scanmix_cli.engine.progress import Reporter
from scanmix_cli.method.images import forward_all
from scanmix_cli.method.methods import pretrain
from scanmix_cli.method.neighbors import mine_neighbors, vote_accuracy
from scanmix_cli.method.settings import Profile
from scanmix_cli.streams import stream
from scanmix_cli.workflow.facts import DataFacts, train_rows
from scanmix_cli.workflow.plan import SMALL_SIDE, choose_profile
from scanmix_cli.workflow.request import Request
from scanmix_cli.workflow.sets import image_set
from scanmix_cli.workflow.still import VIEWS, RowsOf, StillEncoder, seconds_per_image
from scanmix_cli.workflow.weights import AUTO, NONE, PACKAGED, is_packaged_installed

SAMPLE, SAMPLE_SHARE = 1_000, 1 / 3  # labelled images on which both are measured, at most; of the training images
NEIGHBORS = 10
TRIAL_SECONDS, TRIAL_EPOCHS = 30.0, 10  # of pre-training on the sample
TRIAL_SHARE = 0.05  # of a time budget that either of the two may take
LEAST_SAMPLE = 100  # images; fewer cannot tell the two apart
MOST_SMALL = 5_000  # images below SMALL_SIDE; from more a GPU learns more itself than a sample can show
MARGIN = 2.0  # standard errors by which outside weights must be ahead


def decide_weights(
    request: Request, samples: Samples, pixels: Pixels, facts: DataFacts, compute: Compute, reporter: Reporter
) -> tuple[Request, str]:
    """The request with `weights` settled: "auto" becomes the packaged weights where they win, else "none"; and what was
    measured, in words, "" where nothing was."""
    if request.weights != AUTO:
        return request, ""
    if not is_measured(request, facts, compute):
        return replace(request, weights=NONE), ""
    trials = [_profile(replace(request, weights=weights), facts, compute) for weights in (PACKAGED, NONE)]
    chosen = _sample(samples, pixels, request.seed, sample_size(trials[0], compute, facts.images, request.time_budget))
    labels = samples.label_ids()
    measured = []
    for profile in trials:
        features = _features(profile, samples, chosen, labels, compute, request, reporter)
        neighbors = mine_neighbors(torch.nn.functional.normalize(features, dim=1), NEIGHBORS, False)
        found = torch.from_numpy(labels[chosen]).to(neighbors.device)
        measured.append(vote_accuracy(neighbors, found, len(samples.classes)))
    outside, own = measured
    error = float(np.sqrt(2 * max(outside * (1 - outside), 1e-4) / len(chosen)))
    better = outside - own > MARGIN * error
    verdict = f"{PACKAGED} chosen (--weights none forbids them)" if better else "no outside weights chosen"
    return replace(request, weights=PACKAGED if better else NONE), (
        f"weights: neighbours agree with {outside:.1%} of {len(chosen)} labels by {PACKAGED}, with {own:.1%} after a "
        f"short pre-training of our own; {verdict}"
    )


def is_measured(request: Request, facts: DataFacts, compute: Compute) -> bool:
    """Whether "auto" looks at outside weights for this request and these images at all."""
    free = request.weights == AUTO and request.profile in ("auto", "fast") and not request.backbone
    learnt_better = compute.accelerated and facts.short_side < SMALL_SIDE and facts.images > MOST_SMALL
    alone = world() == 1  # one process cannot pre-train while the others wait for their share
    return free and alone and facts.images >= LEAST_SAMPLE and not learnt_better and is_packaged_installed()


def _profile(request: Request, facts: DataFacts, compute: Compute) -> Profile:
    profile = choose_profile(request, facts, compute)[0]
    if request.image_size:
        profile = replace(profile, image_size=request.image_size, stored_size=request.image_size)
    return profile


def _sample(samples: Samples, pixels: Pixels, seed: int, most: int) -> np.ndarray:
    """int64 sorted: `most` readable, labelled training rows at most."""
    rows = train_rows(samples, pixels)
    rows = rows[samples.label_ids()[rows] >= 0]
    return np.sort(stream(seed).permutation(rows)[:most])


def sample_size(profile: Profile, compute: Compute, images: int, time_budget: float) -> int:
    """Of so many images those on which both are measured: a share of them, SAMPLE at most, and no more than the outside
    weights' share of a time budget allows."""
    most = min(int(SAMPLE_SHARE * images), SAMPLE)
    if time_budget:
        most = min(most, int(TRIAL_SHARE * time_budget / (seconds_per_image(profile, compute) / VIEWS)))
    return max(most, LEAST_SAMPLE)


def _features(
    profile: Profile,
    samples: Samples,
    chosen: np.ndarray,
    labels: np.ndarray,
    compute: Compute,
    request: Request,
    reporter: Reporter,
) -> Tensor:
    """float32 (n, D) of the rows `chosen`."""
    part = replace(samples, table=samples.table.iloc[chosen].reset_index(drop=True))
    load = partial(load_pixels, workers=request.workers or 2, cache_dir=None, truncated=request.truncated)
    pixels = load(part, profile.stored_size)
    rows = np.arange(len(chosen))
    require_same_rows(part, rows, pixels.rows)
    if profile.encoder == "still":
        still = StillEncoder(profile, compute)
        raw = still.raw(RowsOf(pixels, rows), views=1)[:, 0].to(compute.device).float()
        still.embedding.center.copy_(raw.mean(0))
        return still.embedding.centered(raw)
    assert profile.contrastive is not None
    short = replace(profile, contrastive=replace(profile.contrastive, epochs=TRIAL_EPOCHS, rising_steps=0))
    seconds = min(TRIAL_SECONDS, TRIAL_SHARE * request.time_budget or TRIAL_SECONDS)
    budget = Budget(seconds, {profile.contrastive.objective: 1.0})
    context = Context(compute, request.seed, reporter, budget=budget)
    images = image_set(pixels, rows, labels[chosen], part, short, context)
    encoder = pretrain(images, short, context)
    return forward_all(encoder, encoder, images, context)
