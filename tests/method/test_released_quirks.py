"""What the released code does by accident happens where a profile asks for it, and nowhere else."""

from dataclasses import replace

import pytest
import torch
from scanmix_cli.models.network import ScanMixNet
from toy_runs import CLASSES, pair, shrink, toy_context, toy_images

from scanmix_cli.method.clustering import ClusteringStep, ClusteringSteps
from scanmix_cli.method.learner import refresh_frozen
from scanmix_cli.method.mixmatch import MixMatchStep
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.scanmix import EMLoop
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.warmup import warm_up
from scanmix_cli.profiles.official import OFFICIAL

RELEASED = shrink(OFFICIAL["cifar10"], 1, 16)
NEIGHBORS = torch.arange(64).unsqueeze(1).repeat(1, 3)
PIXELS = toy_images().pixels[:16], toy_images().pixels[:16]  # images as partners of themselves


def mended(*, shared: bool = False, legacy: bool = False) -> Profile:
    assert RELEASED.clustering is not None
    return replace(RELEASED, clustering=replace(RELEASED.clustering, shared_momentum=shared, legacy_zero_grad=legacy))


def weights(module: torch.nn.Module) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def same(module: torch.nn.Module, kept: list[torch.Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(module.parameters(), kept, strict=True))


def semi_step(loop: EMLoop, steps: int) -> None:
    settings = replace(loop.profile.mixmatch, steps=steps)
    learner, peer = loop.learners
    step = MixMatchStep(learner, peer.net, loop.images, settings, loop.context)
    step.epoch(torch.arange(32), torch.arange(32, 64), torch.ones(64), 1.0)


def decayed(start: torch.Tensor, steps: int, rate: float) -> torch.Tensor:
    """SGD with momentum 0.9 and weight decay 5e-4 under zero gradients, from an empty momentum buffer."""
    value, buffer = start.clone(), torch.zeros_like(start)
    for _ in range(steps):
        buffer = 0.9 * buffer + 5e-4 * value
        value = value - rate * buffer
    return value


def test_the_released_profile_asks_for_both_quirks() -> None:
    assert RELEASED.clustering is not None
    assert RELEASED.clustering.shared_momentum
    assert RELEASED.clustering.legacy_zero_grad


def test_shared_momentum_is_one_optimiser_over_the_whole_network() -> None:
    learner = pair(RELEASED, toy_context())[0]
    assert learner.cluster_optimizer is learner.optimizer
    assert len(learner.optimizer.param_groups[0]["params"]) == len(list(learner.net.parameters()))
    assert "x.cluster_optimizer" not in learner.stateful("x")


def test_separate_optimisers_hold_the_backbone_and_one_head_each() -> None:
    learner = pair(mended(), toy_context())[0]
    held = [{id(p) for p in o.param_groups[0]["params"]} for o in (learner.optimizer, learner.cluster_optimizer)]
    backbone = {id(parameter) for parameter in learner.net.backbone.parameters()}
    assert held[0] - backbone == {id(p) for p in learner.net.class_head.parameters()}
    assert held[1] - backbone == {id(p) for p in learner.net.cluster_head.parameters()}
    assert learner.stateful("x")["x.cluster_optimizer"] is learner.cluster_optimizer


@pytest.mark.parametrize(("shared", "leaks"), [(True, True), (False, False)])
def test_momentum_of_the_clustering_step_reaches_the_next_step_only_where_shared(shared: bool, leaks: bool) -> None:
    context, images, profile = toy_context(), toy_images(), mended(shared=shared)
    assert profile.clustering is not None
    learner = pair(profile, context)[0]
    ClusteringStep(learner, images, NEIGHBORS, profile.clustering, context).step(*PIXELS)
    assert bool(learner.optimizer.state) == leaks


def test_zeroed_gradients_let_the_unused_head_decay() -> None:
    context = toy_context()
    loop = EMLoop(pair(RELEASED, context), toy_images(), NEIGHBORS, RELEASED, context)
    head = loop.learners[0].net.cluster_head
    start = head.weight.detach().clone()
    semi_step(loop, steps=6)
    torch.testing.assert_close(head.weight.detach(), decayed(start, 6, 0.02), atol=1e-7, rtol=1e-6)
    assert head.weight.norm() < start.norm()


def test_zeroed_gradients_let_the_class_head_decay_in_the_clustering_step() -> None:
    context = toy_context()
    loop = EMLoop(pair(RELEASED, context), toy_images(), NEIGHBORS, RELEASED, context)
    head = loop.learners[0].net.class_head
    start = head.weight.detach().clone()
    loop.learners[0].cluster_optimizer.param_groups[0]["lr"] = 0.02
    for _ in range(3):
        loop.clustering[0].step(*PIXELS, *PIXELS)
    torch.testing.assert_close(head.weight.detach(), decayed(start, 3, 0.02), atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize(("shared", "legacy"), [(False, False), (True, False), (False, True)])
def test_otherwise_each_step_leaves_the_other_head_alone(shared: bool, legacy: bool) -> None:
    context, profile = toy_context(), mended(shared=shared, legacy=legacy)
    loop = EMLoop(pair(profile, context), toy_images(), NEIGHBORS, profile, context)
    net = loop.learners[0].net
    kept = weights(net.cluster_head)
    semi_step(loop, steps=3)
    assert same(net.cluster_head, kept)
    class_head = weights(net.class_head)
    loop.clustering[0].step(*PIXELS, *PIXELS)
    assert same(net.class_head, class_head)
    assert not same(net.cluster_head, kept), "its own head does learn"


@pytest.mark.parametrize("profile", [RELEASED, mended()], ids=["released", "mended"])
def test_head_warm_up_moves_the_class_head_alone(profile: Profile) -> None:
    context = toy_context()
    learners = pair(profile, context)
    net: ScanMixNet = learners[0].net
    backbone, cluster, head = weights(net.backbone), weights(net.cluster_head), weights(net.class_head)
    statistics = net.backbone.stem[1].running_mean.clone()
    warm_up(learners, toy_images(), profile.warmup, Monitor(), context)
    assert same(net.backbone, backbone)
    assert same(net.cluster_head, cluster)
    assert not same(net.class_head, head)
    assert not torch.equal(net.backbone.stem[1].running_mean, statistics), "batch norm statistics move, as released"


def test_network_warm_up_moves_the_backbone_too() -> None:
    context, profile = toy_context(), mended()
    learners = pair(profile, context)
    backbone = weights(learners[0].net.backbone)
    warm_up(learners, toy_images(), replace(profile.warmup, scope="network"), Monitor(), context)
    assert not same(learners[0].net.backbone, backbone)


def test_guessing_uses_batch_statistics_of_each_view() -> None:
    context, images = toy_context(), toy_images()
    learners = pair(RELEASED, context)
    net = learners[0].net
    step = MixMatchStep(learners[0], learners[1].net, images, RELEASED.mixmatch, context)
    before = net.backbone.stem[1].num_batches_tracked.item()
    step.targets(images.view("test")(images.pixels[:32], None), torch.arange(8))
    assert net.backbone.stem[1].num_batches_tracked.item() - before == 4
    assert net.training


@pytest.mark.parametrize("order", ["sequential", "parallel"])
def test_parallel_networks_learn_from_clones_of_the_epochs_start(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    context, images = toy_context(), toy_images()
    profile = replace(mended(), order=order)  # type: ignore[arg-type]
    loop = EMLoop(pair(profile, context), images, NEIGHBORS, profile, context)
    start = weights(loop.learners[0].net)
    with torch.no_grad():
        for parameter in loop.learners[0].frozen.parameters() if order == "parallel" else []:
            parameter.zero_()  # a clone left over from an earlier epoch
    seen: list[bool] = []
    original = MixMatchStep.epoch

    def epoch(self: MixMatchStep, *arguments: object) -> dict[str, float]:
        if self.learner is loop.learners[1]:
            seen.append(same(self.peer, start))
        return original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(MixMatchStep, "epoch", epoch)
    rows = loop.epoch_rows()
    loop.train_semi_supervised(0, loop.divide(loop.look(), rows), rows)
    assert seen == [order == "parallel"]
    assert not same(loop.learners[0].net, start)


def test_refreshing_a_clone_keeps_its_tensors() -> None:
    profile = replace(mended(), order="parallel")
    learner = pair(profile, toy_context())[0]
    tensors = [parameter.data_ptr() for parameter in learner.frozen.parameters()]
    with torch.no_grad():
        learner.net.class_head.bias.fill_(4.0)
    refresh_frozen(learner)
    assert learner.frozen.class_head.bias.tolist() == [4.0] * CLASSES
    assert [parameter.data_ptr() for parameter in learner.frozen.parameters()] == tensors


@pytest.mark.parametrize("order", ["sequential", "parallel"])
def test_parallel_networks_start_every_stage_without_momentum(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    context, images = toy_context(), toy_images()
    profile = replace(mended(), order=order)  # type: ignore[arg-type]
    loop = EMLoop(pair(profile, context), images, NEIGHBORS, profile, context)
    rows = loop.epoch_rows()
    outlooks = loop.look()
    loop.train_semi_supervised(0, loop.divide(outlooks, rows), rows)
    loop.train_clustering(outlooks, rows)
    kept: list[bool] = []

    def note(optimizer: torch.optim.Optimizer) -> None:
        kept.extend(bool(state["momentum_buffer"].any()) for state in optimizer.state.values())

    def semi_epoch(self: MixMatchStep, *_: object) -> dict[str, float]:
        note(self.learner.optimizer)
        return {}

    def clustering_epoch(self: ClusteringSteps, *_: object) -> dict[str, float]:
        for step in self.steps:
            note(step.learner.cluster_optimizer)
        return {}

    monkeypatch.setattr(MixMatchStep, "epoch", semi_epoch)
    monkeypatch.setattr(ClusteringSteps, "epoch", clustering_epoch)
    loop.train_semi_supervised(1, loop.divide(outlooks, rows), rows)
    loop.train_clustering(outlooks, rows)
    assert len(kept) > 40
    assert set(kept) == {order == "sequential"}
