"""Who learns from whom in the EM loop: the peers' splits and predictions, rates, gate, the start of both networks."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_runs import CLASSES, pair, shrink, toy_context, toy_images, toy_profile, train

from scanmix_cli.method import methods
from scanmix_cli.method import scanmix as loop_module
from scanmix_cli.method.clustering import ClusteringStep, ClusteringSteps
from scanmix_cli.method.gate import estimated_noise
from scanmix_cli.method.learner import Learner, Outlook, look
from scanmix_cli.method.mixmatch import MixMatchStep
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import contrastive_net
from scanmix_cli.method.scanmix import Division, EMLoop
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.split import LossHistory, divide
from scanmix_cli.profiles.official import OFFICIAL

RELEASED = shrink(OFFICIAL["cifar10"], 1, 16)
IMAGES = toy_images(24)
NEIGHBORS = torch.arange(24).unsqueeze(1).repeat(1, 3)


def make_loop(profile: Profile = RELEASED) -> EMLoop:
    context = toy_context()
    return EMLoop(pair(profile, context), IMAGES, NEIGHBORS, profile, context)


def test_each_network_learns_from_its_peers_split(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[list[int], list[int], float]] = []

    def record(_: MixMatchStep, clean: torch.Tensor, noisy: torch.Tensor, posterior: torch.Tensor, __: float) -> dict:
        seen.append((clean.tolist(), noisy.tolist(), posterior[0].item()))
        return {}

    monkeypatch.setattr(MixMatchStep, "epoch", record)
    rows = np.ones(24, dtype=bool)
    divisions = [Division(np.full(24, 0.25), np.arange(24) < 5), Division(np.full(24, 0.75), np.arange(24) >= 20)]
    make_loop().train_semi_supervised(0, divisions, rows)
    assert seen == [
        (list(range(20, 24)), list(range(20)), 0.75),
        (list(range(5)), list(range(5, 24)), 0.25),
    ]


def test_each_network_clusters_under_its_peers_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def record(_: ClusteringSteps, __: torch.Tensor, peers: list[torch.Tensor]) -> dict:
        seen.extend(peer.tolist() for peer in peers)
        return {}

    monkeypatch.setattr(ClusteringSteps, "epoch", record)
    loop = make_loop()
    outlooks = [replace(outlook, predictions=torch.full((24,), k)) for k, outlook in enumerate(loop.look())]
    loop.train_clustering(outlooks, np.ones(24, dtype=bool))
    assert seen == [[1] * 24, [0] * 24]
    make_loop(replace(toy_profile(), order="parallel")).train_clustering(outlooks, np.ones(24, dtype=bool))
    assert seen == [[1] * 24, [0] * 24] * 2


def test_in_parallel_order_a_network_comes_out_the_same_whatever_its_peer_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, epoch = np.ones(24, dtype=bool), MixMatchStep.epoch
    clustering = ClusteringSteps.epoch

    def second_after(trained: list[bool]) -> dict[str, torch.Tensor]:
        """The second network after an epoch in which the first one is trained or not."""
        loop = make_loop(replace(toy_profile(), order="parallel"))
        first = loop.learners[0]

        def semi(step: MixMatchStep, *arguments: object) -> dict[str, float]:
            return epoch(step, *arguments) if trained[step.learner is not first] else {}  # type: ignore[arg-type]

        def cluster(steps: ClusteringSteps, *arguments: object) -> dict[str, float]:
            return clustering(steps, *arguments) if trained[steps.steps[0].learner is not first] else {}  # type: ignore[arg-type]

        monkeypatch.setattr(MixMatchStep, "epoch", semi)
        monkeypatch.setattr(ClusteringSteps, "epoch", cluster)
        outlooks = loop.look()
        loop.train_semi_supervised(0, loop.divide(outlooks, rows), rows)
        loop.train_clustering(outlooks, rows)
        return loop.learners[1].net.state_dict()

    both, alone, none = second_after([True, True]), second_after([False, True]), second_after([False, False])
    assert all(torch.equal(both[name], value) for name, value in alone.items())
    assert any(not torch.equal(both[name], value) for name, value in none.items())


def test_clustering_step_draws_no_partner_that_the_peer_sees_in_another_class(monkeypatch: pytest.MonkeyPatch) -> None:
    from scanmix_cli.method import scan

    drawn: list[tuple[torch.Tensor, torch.Tensor]] = []
    original = scan.draw_neighbors

    def record(candidates: torch.Tensor, allowed: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        partners = original(candidates, allowed, generator)
        drawn.append((candidates[:, 0], partners))  # column 0 holds the image itself
        return partners

    monkeypatch.setattr(scan, "draw_neighbors", record)
    context = toy_context()
    others = torch.randint(0, 24, (24, 5), generator=torch.Generator().manual_seed(1))
    neighbors = torch.cat([torch.arange(24).unsqueeze(1), others], dim=1)
    assert RELEASED.clustering is not None
    step = ClusteringStep(pair(RELEASED, context)[0], IMAGES, neighbors, RELEASED.clustering, context)
    peer = torch.arange(24) % 2
    for _ in range(4):
        step.draw(torch.arange(24), peer)
    for anchors, partners in drawn:
        assert torch.equal(peer[anchors], peer[partners])
    assert any((anchors != partners).any() for anchors, partners in drawn)


@pytest.mark.parametrize("profile", [RELEASED, toy_profile()], ids=["one optimiser", "two optimisers"])
def test_each_step_runs_at_its_own_rate(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: dict[str, list[float]] = {"semi": [], "clustering": []}

    def semi(self: MixMatchStep, *_: object) -> dict:
        rates["semi"].append(self.learner.optimizer.param_groups[0]["lr"])
        return {}

    def clustering(self: ClusteringSteps, *_: object) -> dict:
        rates["clustering"] += [step.learner.cluster_optimizer.param_groups[0]["lr"] for step in self.steps]
        return {}

    monkeypatch.setattr(MixMatchStep, "epoch", semi)
    monkeypatch.setattr(ClusteringSteps, "epoch", clustering)
    assert profile.clustering is not None
    profile = replace(
        profile,
        mixmatch=replace(profile.mixmatch, learning_rate=0.5, rate_drops=(3,)),
        clustering=replace(profile.clustering, learning_rate=0.125),
    )
    loop, rows = make_loop(profile), np.ones(24, dtype=bool)
    for epoch in (0, 3):
        outlooks = loop.look()
        loop.train_semi_supervised(epoch, loop.divide(outlooks, rows), rows)
        loop.train_clustering(outlooks, rows)
    assert rates["semi"] == pytest.approx([0.5, 0.5, 0.05, 0.05])
    assert rates["clustering"] == [0.125] * 4


@pytest.mark.parametrize(("noise", "view", "rate"), [(0.2, "weak", 1e-5), (0.9, "strong", 1e-3)])
def test_what_the_gate_decides_reaches_both_steps(
    noise: float, view: str, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[EMLoop] = []

    class Recorded(EMLoop):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            seen.append(self)

    monkeypatch.setattr(loop_module, "EMLoop", Recorded)
    monkeypatch.setattr(loop_module, "_gate_noise", lambda *_: noise)
    context = toy_context()
    loop_module.run_em_loop(pair(RELEASED, context), IMAGES, NEIGHBORS, RELEASED, Monitor(), context)
    (loop,) = seen
    assert [step.view.name for step in loop.semi_steps] == [view] * 2
    assert [step.view.name for steps in loop.clustering for step in steps.steps] == [view] * 2
    assert loop.profile.clustering is not None
    assert loop.profile.clustering.learning_rate == rate


def test_networks_that_are_sure_of_different_classes_end_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(loop: EMLoop) -> list[Outlook]:
        sure = [torch.eye(CLASSES)[[k] * len(IMAGES)] for k in (0, 1)]
        return [Outlook(p, torch.zeros(len(IMAGES)), p.argmax(1)) for p in sure]

    monkeypatch.setattr(EMLoop, "look", look)
    monkeypatch.setattr(loop_module, "_gate_noise", lambda *_: 0.2)
    profile, context = replace(RELEASED, mixmatch=replace(RELEASED.mixmatch, epochs=0)), toy_context()
    evidence = loop_module.run_em_loop(pair(profile, context), IMAGES, NEIGHBORS, profile, Monitor(), context)
    np.testing.assert_allclose(evidence.final_probability[:, :3], [[0.5, 0.5, 0.0]] * len(IMAGES), atol=1e-6)


def test_the_evidence_tells_which_network_named_another_class() -> None:
    loop, labels = make_loop(), IMAGES.labels.numpy()
    sure = [torch.eye(CLASSES)[[k] * len(IMAGES)] for k in (0, 1)]
    outlooks = [Outlook(p, torch.linspace(0, 2, len(IMAGES)), p.argmax(1)) for p in sure]
    loop.divide(outlooks, np.ones(len(IMAGES), dtype=bool))
    for k in (0, 1):
        assert loop.evidence.disagreements[:, k].tolist() == ((labels >= 0) & (labels != k)).tolist()


def test_gate_estimates_from_both_networks_without_touching_their_history() -> None:
    context = toy_context()
    learners, known = pair(RELEASED, context), IMAGES.known.numpy()
    posteriors = []
    for learner in learners:
        losses = look(learner.net, IMAGES, context).losses.numpy()
        posteriors.append(divide(losses, known, LossHistory(1), RELEASED.split, context.seed))
    noise = loop_module._gate_noise(learners, IMAGES, RELEASED, context)
    assert noise == pytest.approx(estimated_noise(posteriors, known))
    assert all(learner.history.rows == [] for learner in learners)


def captured_start(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> list[Learner]:
    """The two learners as they come to the warm-up."""

    class Reached(Exception):
        pass

    found: list[Learner] = []

    def stop(learners: list[Learner], *_: object) -> None:
        found.extend(learners)
        raise Reached

    monkeypatch.setattr(methods, "warm_up", stop)
    with pytest.raises(Reached):
        run()
    return found


def test_both_networks_and_both_heads_start_from_the_scan_network(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = captured_start(monkeypatch, lambda: train("scanmix", toy_profile(1), IMAGES))
    for name, value in first.net.state_dict().items():
        assert torch.equal(second.net.state_dict()[name], value), name
    assert torch.equal(first.net.class_head.weight, first.net.cluster_head.weight)
    assert first.net.class_head.weight is not first.net.cluster_head.weight


@pytest.mark.parametrize("method", ["scanmix", "pretrain+dividemix"])
def test_without_scan_both_backbones_come_from_the_encoder(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    context = toy_context()
    encoder = contrastive_net("small", toy_context(seed=9))
    profile = replace(toy_profile(1), scan=None)
    learners = captured_start(
        monkeypatch, lambda: methods.METHODS[method](IMAGES, profile, Monitor(), context, encoder)
    )
    for learner in learners:
        for name, value in encoder.backbone.state_dict().items():
            assert torch.equal(learner.net.backbone.state_dict()[name], value), name
    assert not torch.equal(learners[0].net.class_head.weight, learners[1].net.class_head.weight)


def test_scan_starts_from_the_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = contrastive_net("small", toy_context(seed=9))
    found: list[bool] = []

    def record(net: torch.nn.Module, *_: object) -> None:
        pairs = zip(net.backbone.parameters(), encoder.backbone.parameters(), strict=True)  # type: ignore[union-attr]
        found.append(all(torch.equal(one, other) for one, other in pairs))

    monkeypatch.setattr(methods, "train_scan", record)
    for method in ("scan", "scanmix"):
        methods.METHODS[method](IMAGES, toy_profile(1), Monitor(), toy_context(), encoder)
    assert found == [True, True]
