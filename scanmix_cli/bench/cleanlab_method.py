"""cleanlab as a method: out-of-fold probabilities of the same network, then its own ranking and filter.

The time budget is shared out evenly over the folds and a last network, which learns from the labels cleanlab keeps.
"""

from typing import Any

import numpy as np
import torch
from sklearn.model_selection import KFold

from scanmix_cli.bench.opinion import Opinion
from scanmix_cli.engine.budget import Budget
from scanmix_cli.engine.context import Context
from scanmix_cli.errors import SettingsError
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.method.methods import Outcome, cross_entropy
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.settings import Profile

FOLDS = 5
TRAININGS = FOLDS + 1
MISSING = "the method cleanlab needs the package of that name: run `pip install '.[bench]'` in a checkout"


def require_cleanlab() -> tuple[Any, Any]:
    """cleanlab's modules `filter` and `rank`; SettingsError where it is not installed."""
    try:
        from cleanlab import filter as filtering
        from cleanlab import rank
    except ImportError:
        raise SettingsError(MISSING) from None
    return filtering, rank


def learn_with_cleanlab(
    images: ImageSet, profile: Profile, time_budget: float, monitor: Monitor, context: Context
) -> tuple[Outcome, Opinion]:
    """The network trained on what cleanlab keeps, and cleanlab's opinion: 1 - label quality, its issues as the cut,
    the most probable class as suggestion, the share of issues as noise rate."""
    filtering, rank = require_cleanlab()
    labels = images.labels.cpu().numpy()
    part = time_budget / TRAININGS
    probabilities = out_of_fold(images, profile, part, context)
    flagged = np.asarray(filtering.find_label_issues(labels, probabilities))
    quality = np.asarray(rank.get_label_quality_scores(labels, probabilities))
    kept = torch.from_numpy(np.flatnonzero(~flagged)).to(context.device)
    context.budget = Budget(part or None, {})
    outcome = cross_entropy(images.subset(kept), profile, monitor, context)
    return outcome, Opinion(1 - quality, flagged, probabilities.argmax(1), float(flagged.mean()))


def out_of_fold(images: ImageSet, profile: Profile, seconds: float, context: Context) -> np.ndarray:
    """float64 (N, C): class probabilities of every image from a network that has not seen it; `seconds` a fold."""
    found = np.zeros((len(images), images.classes))
    folds = KFold(FOLDS, shuffle=True, random_state=context.seed).split(np.arange(len(images)))
    for number, (learned, held_out) in enumerate(folds):
        context.reporter.message(f"cleanlab: fold {number + 1} of {FOLDS}")
        budget = Budget(seconds or None, {})
        inner = Context(context.compute, context.seed + number, context.reporter, budget=budget, most=context.most)
        rows = torch.from_numpy(learned).to(context.device)
        net = cross_entropy(images.subset(rows), profile, Monitor(), inner).nets[0]
        asked = images.subset(torch.from_numpy(held_out).to(context.device))
        found[held_out] = forward_all(net, net, asked, inner).softmax(1).cpu().numpy()
        context.history.rows += [{**row, "stage": "folds"} for row in inner.history.rows]
    return found
