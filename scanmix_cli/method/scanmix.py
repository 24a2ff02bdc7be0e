"""Stage G: the EM loop of ScanMix (paper, algorithm 1).

E-step: look at every image, split clean from noisy with a Gaussian mixture, keep the neighbour links whose ends are
predicted alike. M-step: the semi-supervised step, then the clustering step, for each of two networks; each network
learns from what its peer selected. Without a clustering part this is DivideMix.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import from_writer, is_writer
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.method.clustering import ClusteringSteps
from scanmix_cli.method.em_view import EMView
from scanmix_cli.method.gate import apply_gate, estimated_noise
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.method.learner import Learner, Outlook, look, refresh_frozen, semi_rate
from scanmix_cli.method.losses import SMALLEST
from scanmix_cli.method.mixmatch import MixMatchStep
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.neighbors import mine_neighbors
from scanmix_cli.method.networks import set_rate
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.split import divide, rescue_classes, select_clean
from scanmix_cli.method.teams import each_apart


@dataclass(frozen=True)
class Division:
    """One network's opinion on which labels are clean: posterior float (N,), clean set bool (N,)."""

    posterior: np.ndarray
    clean: np.ndarray


def run_em_loop(
    learners: list[Learner],
    images: ImageSet,
    neighbors: Tensor | None,
    profile: Profile,
    monitor: Monitor,
    context: Context,
) -> Evidence:
    """Train both warmed-up learners in place; neighbors int64 (N, K) or None without a clustering part."""
    profile = apply_gate(profile, _gate_noise(learners, images, profile, context))
    loop = EMLoop(learners, images, neighbors, profile, context)
    em_view = None if neighbors is None else EMView(neighbors, images.labels)
    nets = [learner.net for learner in learners]
    stateful = {k: v for n, learner in enumerate(learners) for k, v in learner.stateful(f"net{n}").items()}
    outlooks: list[Outlook] = []
    for epoch in context.epochs("scanmix", profile.mixmatch.epochs, evidence=loop.evidence, **stateful):
        before = loop.look() if epoch.repeated or not outlooks else outlooks
        rows = loop.epoch_rows()
        divisions = loop.divide(before, rows)
        losses = loop.train_semi_supervised(epoch.scheduled, divisions, rows)
        losses |= loop.train_clustering(before, rows)
        outlooks = loop.look()
        context.log(
            **losses,
            noise_estimate=estimated_noise([d.posterior for d in divisions], loop.known),
            labelled_share=float(np.mean([d.clean.sum() for d in divisions]) / max(rows.sum(), 1)),
            **(em_view.values(before, outlooks) if em_view else {}),
            **monitor.selection(divisions[0].clean, loop.labels),
            **monitor.test(nets, context),
        )
    log_probability = torch.stack(
        [outlook.probabilities.clamp_min(SMALLEST).log() for outlook in outlooks or loop.look()]
    )
    loop.evidence.final_probability[:] = log_probability.sum(0).softmax(1).cpu().numpy()
    return loop.evidence


def _gate_noise(learners: list[Learner], images: ImageSet, profile: Profile, context: Context) -> float:
    """The gate's noise estimate, taken once right after warm-up and without loss history."""
    if profile.gate is None:
        return 0.0
    known, trusted = images.known.cpu().numpy(), trusted_rows(images)

    def compute() -> Tensor:
        losses = [look(learner.net, images, context).losses.cpu().numpy() for learner in learners]
        fresh = [learner.history.fresh() for learner in learners]
        posteriors = [
            from_writer(partial(divide, x, known, h, profile.split, context.seed, trusted))
            for x, h in zip(losses, fresh, strict=True)
        ]
        return torch.tensor(estimated_noise(posteriors, known))

    noise = context.once("gate", compute).item()
    branch = "high" if noise > profile.gate.threshold else "low"
    context.reporter.message(f"gate: estimated noise {noise:.3f}, {branch}-noise branch")
    return noise


def trusted_rows(images: ImageSet) -> np.ndarray | None:
    """bool (N,): labels that are never doubted."""
    return None if images.trusted is None else images.trusted.cpu().numpy()


class EMLoop:
    """The parts of one epoch, and the evidence that grows with every epoch."""

    def __init__(
        self, learners: list[Learner], images: ImageSet, neighbors: Tensor | None, profile: Profile, context: Context
    ) -> None:
        self.learners, self.images, self.profile, self.context = learners, images, profile, context
        self.labels = images.labels.cpu().numpy()
        self.known, self.trusted = self.labels >= 0, trusted_rows(images)
        self.evidence = Evidence.empty(len(images), images.classes)
        for learner in learners:
            learner.fill_gradients()
        peers = [learners[1].frozen, learners[0].frozen]
        self.semi_steps = [
            MixMatchStep(learner, peer, images, profile.mixmatch, context)
            for learner, peer in zip(learners, peers, strict=True)
        ]
        self.clustering: list[ClusteringSteps] = []
        if profile.clustering is not None and neighbors is not None:
            together = [[learner] for learner in learners] if profile.order == "parallel" else [learners]
            self.clustering = [
                ClusteringSteps(some, images, neighbors, profile.clustering, context) for some in together
            ]

    def look(self) -> list[Outlook]:
        """Both networks' view of every image."""
        return [look(learner.net, self.images, self.context) for learner in self.learners]

    def epoch_rows(self) -> np.ndarray:
        """bool (N,): images of this epoch; all, or a fresh random subset on very large sets."""
        wanted = self.profile.mixmatch.epoch_images
        rows = np.ones(len(self.images), dtype=bool)
        if 0 < wanted < len(rows):
            rows[:] = False
            rows[self.context.permutation(len(rows))[:wanted].cpu().numpy()] = True
        return rows

    def divide(self, outlooks: list[Outlook], rows: np.ndarray) -> list[Division]:
        """Split the labels of both networks into clean and noisy, and add what was seen to the evidence."""
        divisions, views = [], []
        for learner, outlook in zip(self.learners, outlooks, strict=True):
            losses = outlook.losses.cpu().numpy()
            history, split = learner.history, self.profile.split
            posterior = from_writer(
                partial(divide, losses, self.known, history, split, self.context.seed, self.trusted)
            )
            clean = select_clean(posterior, self.known & rows, self.profile.split.threshold)
            clean = rescue_classes(clean, posterior, np.where(rows, self.labels, -1), self.images.classes)
            divisions.append(Division(posterior, clean))
            views.append(View(outlook.probabilities.cpu().numpy(), losses, posterior))
        if is_writer():
            self.evidence.add(self.labels, views)
        return divisions

    def train_semi_supervised(self, epoch: float, divisions: list[Division], rows: np.ndarray) -> dict[str, float]:
        """Both networks, each with the division of its peer; returns the losses of the first."""
        for learner in self.learners:
            self._start_stage(learner.optimizer, semi_rate(self.profile.mixmatch, epoch))
            refresh_frozen(learner)

        def train(k: int) -> dict[str, float]:
            division = divisions[1 - k]
            clean, noisy = self._rows(division.clean), self._rows(rows & ~division.clean)
            posterior = torch.from_numpy(division.posterior).float().to(self.context.device)
            return self.semi_steps[k].epoch(clean, noisy, posterior, epoch)

        return self._apart(train) if self.profile.order == "parallel" else [train(0), train(1)][0]

    def train_clustering(self, outlooks: list[Outlook], rows: np.ndarray) -> dict[str, float]:
        """Both networks, each with the neighbour filter of its peer; returns the loss of the first."""
        if not self.clustering or self.profile.clustering is None:
            return {}
        chosen = self._rows(rows)
        if not rows.all():
            self._mine_within(chosen)
        for learner in self.learners:
            self._start_stage(learner.cluster_optimizer, self.profile.clustering.learning_rate)
        peers = [outlook.predictions for outlook in reversed(outlooks)]
        if self.profile.order == "parallel":
            return self._apart(lambda k: self.clustering[k].epoch(chosen, [peers[k]]))
        return self.clustering[0].epoch(chosen, peers)

    def _apart(self, train: Callable[[int], dict[str, float]]) -> dict[str, float]:
        """Both networks, each from where its peer was at the start; returns the losses of the first."""
        return each_apart(train, [learner.net for learner in self.learners], self.context)[0]

    def _start_stage(self, optimizer: torch.optim.Optimizer, rate: float) -> None:
        """Set the rate; with parallel networks also forget the momentum, as the release does: there each stage runs in
        a child process whose optimiser state is lost."""
        set_rate(optimizer, rate)
        if self.profile.order == "parallel":
            for state in optimizer.state.values():
                if (momentum := state.get("momentum_buffer")) is not None:
                    momentum.zero_()

    def _mine_within(self, rows: Tensor) -> None:
        """Neighbours inside the epoch's subset, from current features (Clothing1M; paper, implementation details)."""
        net, settings = self.learners[0].net, self.profile.neighbors
        features = forward_all(net.features, net, self.images.subset(rows), self.context)
        found = mine_neighbors(torch.nn.functional.normalize(features, dim=1), settings.count, settings.include_self)
        for step in (step for steps in self.clustering for step in steps.steps):
            step.neighbors[rows, : found.shape[1]] = rows[found]

    def _rows(self, mask: np.ndarray) -> Tensor:
        """Row numbers of a mask (N,), int64 on the device."""
        return torch.from_numpy(np.flatnonzero(mask)).to(self.context.device)
