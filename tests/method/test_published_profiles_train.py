"""`official` and `paper` of all five benchmarks run from end to end, at toy size."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_runs import shrink, toy_context, toy_images, train

from scanmix_cli.method.clustering import ClusteringSteps
from scanmix_cli.method.mixmatch import MixMatchStep
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.profiles.paper import PAPER

TABLES = {"official": OFFICIAL, "paper": PAPER}
ROWS = [(name, row) for name, table in TABLES.items() for row in table]


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_profile_runs(name: str, row: str) -> None:
    profile, images, context = shrink(TABLES[name][row]), toy_images(32, size=32), toy_context()
    outcome = train("scanmix", profile, images, context)
    stages = list(dict.fromkeys(entry["stage"] for entry in context.history.rows))
    first = "moco" if row in ("webvision", "clothing1m") else "simclr"
    assert stages == [first, "neighbors", "scan", "warmup", "scanmix"]
    last = context.history.rows[-1]
    assert all(math.isfinite(value) for key, value in last.items() if key != "stage")
    assert (last["loss_u"] == 0) == (not row.startswith("cifar")), "only CIFAR mixes and weighs unlabelled images"
    assert outcome.neighbors is not None
    assert outcome.neighbors.shape == (32, 6 if name == "official" else 5), "5 neighbours, with or without the image"
    assert outcome.evidence is not None
    assert np.isfinite(outcome.evidence.final_probability).all()


def test_clothing1m_draws_a_fresh_subset_each_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = shrink(OFFICIAL["clothing1m"], epochs=2, size=16)
    assert profile.mixmatch.epoch_images == 24
    trained: list[set[int]] = []
    clustered: list[set[int]] = []
    semi, clustering = MixMatchStep.epoch, ClusteringSteps.epoch

    def semi_epoch(self: MixMatchStep, clean: torch.Tensor, noisy: torch.Tensor, *rest: object) -> dict[str, float]:
        trained.append(set(clean.tolist()) | set(noisy.tolist()))
        return semi(self, clean, noisy, *rest)  # type: ignore[arg-type]

    def clustering_epoch(self: ClusteringSteps, rows: torch.Tensor, peers: list[torch.Tensor]) -> dict[str, float]:
        for step in self.steps:
            clustered.append(set(rows.tolist()))
            assert set(step.neighbors[rows].flatten().tolist()) <= clustered[-1], (
                "neighbours are searched inside the subset"
            )
        return clustering(self, rows, peers)

    monkeypatch.setattr(MixMatchStep, "epoch", semi_epoch)
    monkeypatch.setattr(ClusteringSteps, "epoch", clustering_epoch)
    outcome = train("scanmix", profile, toy_images(32))
    assert [len(rows) for rows in trained] == [24] * 4
    assert trained == clustered
    assert trained[0] == trained[1] != trained[2] == trained[3]
    assert outcome.evidence is not None
    assert (outcome.evidence.posterior_sum[4:] > 0).all(), "images outside the subset are judged all the same"


def test_clothing1m_pretrains_on_a_fixed_share_of_the_images(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = shrink(OFFICIAL["clothing1m"], epochs=3, size=16)
    assert profile.contrastive is not None
    profile = replace(profile, contrastive=replace(profile.contrastive, max_images=32))
    from scanmix_cli.method import moco
    from scanmix_cli.method.networks import contrastive_net

    seen: list[int] = []
    original = moco.fixed_order

    def record(rows: torch.Tensor, batch_size: int) -> torch.Tensor:
        seen.extend(rows.tolist())
        return original(rows, batch_size)

    monkeypatch.setattr(moco, "fixed_order", record)
    context = toy_context()
    assert profile.contrastive is not None
    moco.train_moco(contrastive_net("small", context), toy_images(64), profile.contrastive, context)
    assert len(seen) == 96
    assert len(set(seen)) == 32


def test_variant_without_unlabelled_loss_forwards_the_labelled_half() -> None:
    from scanmix_cli.method.learner import make_learner
    from scanmix_cli.method.networks import scanmix_net

    sizes: list[int] = []
    pixels = toy_images().pixels
    for row in ("cifar10", "webvision"):
        context, profile = toy_context(), shrink(OFFICIAL[row], size=16)
        learners = [make_learner(scanmix_net("small", 3, context, k), profile, context) for k in (1, 2)]
        step = MixMatchStep(learners[0], learners[1].net, toy_images(), profile.mixmatch, context)
        hook = learners[0].net.class_head.register_forward_hook(lambda _, __, output: sizes.append(len(output)))
        losses = step.step(torch.arange(8), pixels[:8], pixels[8:16], torch.tensor(0.8), torch.tensor(1.0))
        hook.remove()
        assert losses.isfinite().all()
    assert sizes == [8, 8, 8, 8, 32, 8, 8, 8, 8, 16], "four guesses of 8, then one pass of 4 x 8 or 2 x 8"
