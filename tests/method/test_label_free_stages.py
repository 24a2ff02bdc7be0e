"""Contrastive pre-training and SCAN as stages: no label reaches them, the best epoch is kept."""

from dataclasses import replace

import pytest
import torch
from toy_runs import shrink, toy_context, toy_images, toy_profile, train

from scanmix_cli.method import methods, moco, simclr
from scanmix_cli.method import scan as scan_stage
from scanmix_cli.method.networks import contrastive_net, scanmix_net
from scanmix_cli.method.scan import BestState, selection_loss, train_scan
from scanmix_cli.profiles.official import OFFICIAL


@pytest.mark.parametrize("profile", [toy_profile(1), shrink(OFFICIAL["webvision"], 1, 16)], ids=["SimCLR", "MoCo"])
def test_no_label_reaches_pretraining_mining_or_scan(profile: methods.Profile) -> None:
    images = toy_images(32)
    other = replace(images, labels=images.labels.flip(0).contiguous())
    first, second = train("scan", profile, images), train("scan", profile, other)
    assert first.neighbors is not None
    assert second.neighbors is not None
    assert torch.equal(first.neighbors, second.neighbors)
    for name, value in first.nets[0].state_dict().items():
        assert torch.equal(second.nets[0].state_dict()[name], value), name


@pytest.mark.parametrize("profile", [toy_profile(1), shrink(OFFICIAL["webvision"], 1, 16)], ids=["SimCLR", "MoCo"])
def test_contrastive_views_may_be_smaller_than_the_images(
    profile: methods.Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trained on at half the size, then looked at whole."""
    assert profile.contrastive is not None
    sizes: list[int] = []
    original = methods.contrastive_net

    def watched(*arguments: object) -> torch.nn.Module:
        net = original(*arguments)  # type: ignore[arg-type]
        net.backbone.register_forward_pre_hook(lambda _, inputs: sizes.append(inputs[0].shape[-1]))
        return net

    monkeypatch.setattr(methods, "contrastive_net", watched)
    images = toy_images(32)
    train("scan", replace(profile, contrastive=replace(profile.contrastive, crop=0.5)), images)
    assert sizes[0] == images.size // 2
    assert sizes[-1] == images.size


def test_neighbors_are_mined_once_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    original = methods.mine_neighbors

    def count(*arguments: object) -> torch.Tensor:
        calls.append(1)
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(methods, "mine_neighbors", count)
    train("scanmix", toy_profile(1), toy_images(32))
    assert len(calls) == 1


def test_mined_neighbors_come_from_the_features_the_profile_names(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[int] = []
    original = methods.mine_neighbors

    def record(features: torch.Tensor, count: int, include_self: bool) -> torch.Tensor:
        widths.append(features.shape[1])
        torch.testing.assert_close(features.norm(dim=1), torch.ones(len(features)))
        return original(features, count, include_self)

    monkeypatch.setattr(methods, "mine_neighbors", record)
    context, images, profile = toy_context(), toy_images(16), toy_profile(1)
    encoder = contrastive_net("small", context)
    encoder.contrastive_head.layers = torch.nn.Linear(128, 7)
    for features in ("projection", "backbone"):
        chosen = replace(profile, neighbors=replace(profile.neighbors, features=features))
        methods.neighbors_of(encoder, images, chosen, methods.Monitor(), toy_context())
    assert set(widths) == {7, 128}


def test_scan_keeps_the_epoch_with_the_lowest_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    context, images, profile = toy_context(), toy_images(32), toy_profile()
    assert profile.scan is not None
    net = scanmix_net("small", 3, context)
    scores, weights = [3.0, 1.0, 2.0], []

    def score(given: torch.nn.Module, *_: object) -> float:
        weights.append(given.cluster_head.weight.detach().clone())  # type: ignore[union-attr, operator]
        return scores[len(weights) - 1]

    monkeypatch.setattr(scan_stage, "selection_loss", score)
    train_scan(net, images, torch.arange(32).unsqueeze(1), replace(profile.scan, epochs=3), context)
    assert not torch.equal(weights[1], weights[2])
    assert torch.equal(net.cluster_head.weight, weights[1])
    assert [row["selection_loss"] for row in context.history.rows] == scores


def test_the_best_weights_are_a_copy() -> None:
    net = scanmix_net("small", 3, toy_context())
    best = BestState(net)
    best.offer(1.0, net)
    kept = net.class_head.bias.detach().clone()
    with torch.no_grad():
        net.class_head.bias.add_(1.0)
    best.offer(1.5, net)
    assert torch.equal(best.weights["class_head.bias"], kept)


def test_images_that_choose_the_epoch_do_not_train() -> None:
    context = toy_context(seed=4)
    chosen, learned = scan_stage._set_aside(50, 0.1, context)
    assert (len(chosen), len(learned)) == (5, 45)
    assert sorted([*chosen.tolist(), *learned.tolist()]) == list(range(50))
    context.permutation(10)
    again, _ = scan_stage._set_aside(50, 0.1, context)
    assert torch.equal(again, chosen), "a resumed run sets the same images aside"
    assert len(scan_stage._set_aside(3, 0.1, context)[0]) == 1


def test_selection_scores_anchors_against_all_their_neighbors() -> None:
    context, images = toy_context(), toy_images(8)
    net = scanmix_net("small", 3, context).eval()
    neighbors = torch.tensor([[0, 3], [1, 2]] * 4)
    found = selection_loss(net, images, neighbors, torch.tensor([0, 1]), context)
    with torch.no_grad():
        probability = net.cluster_logits(images.view("test")(images.pixels, None)).softmax(1)
    pairs = [(0, 0), (0, 3), (1, 1), (1, 2)]
    agreement = -sum((probability[i] @ probability[j]).log() for i, j in pairs) / 4
    mean = probability[:2].mean(0)
    expected = agreement + (mean * mean.log()).sum()
    assert found == pytest.approx(expected.item(), abs=1e-5)
    assert not net.training


def test_simclr_rate_rises_over_the_first_steps_then_follows_the_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    monkeypatch.setattr(simclr, "set_rate", lambda _, rate: rates.append(rate))
    context, settings = toy_context(), toy_profile().contrastive
    assert settings is not None
    settings = replace(settings, epochs=2, batch_size=8, learning_rate=0.4, final_rate_share=0.0, rising_steps=4)
    simclr.train_simclr(contrastive_net("small", context), toy_images(24), settings, context)
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.2, 0.2, 0.2])


def test_moco_trains_the_query_network_and_drags_the_keys_along() -> None:
    context, profile = toy_context(), shrink(OFFICIAL["webvision"], 2, 16)
    assert profile.contrastive is not None
    net = contrastive_net("small", context)
    start = net.backbone.stem[0].weight.detach().clone()
    moco.train_moco(net, toy_images(32), profile.contrastive, context)
    assert not torch.equal(net.backbone.stem[0].weight, start)
    assert [row["stage"] for row in context.history.rows] == ["moco", "moco"]
    assert all(parameter.requires_grad for parameter in net.parameters())


def test_simclr_uses_the_profiles_temperature_and_form(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []
    original = simclr.nt_xent

    def record(views: tuple[torch.Tensor, ...], *rest: object) -> torch.Tensor:
        seen.append((len(views), *rest))
        return original(views, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(simclr, "nt_xent", record)
    for views, symmetric, decoupled in ((2, False, False), (2, True, False), (4, True, True)):
        context, settings = toy_context(), toy_profile().contrastive
        assert settings is not None
        form = {"views": views, "temperature": 0.25, "symmetric": symmetric, "decoupled": decoupled}
        settings = replace(settings, epochs=1, batch_size=8, **form)
        simclr.train_simclr(contrastive_net("small", context), toy_images(8), settings, context)
    assert seen == [(2, 0.25, False, False), (2, 0.25, True, False), (4, 0.25, True, True)]


def test_moco_queues_its_keys_and_lets_the_key_network_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[torch.Tensor, torch.Tensor]] = []
    momenta: list[float] = []
    original = moco.info_nce

    def loss(queries: torch.Tensor, keys: torch.Tensor, queue: torch.Tensor, temperature: float) -> torch.Tensor:
        calls.append((keys, queue))
        assert not keys.requires_grad
        return original(queries, keys, queue, temperature)

    def follow(key_net: torch.nn.Module, query_net: torch.nn.Module, momentum: float) -> None:
        assert len(calls) == len(momenta), "keys are computed after the key network has moved"
        assert key_net is not query_net
        momenta.append(momentum)

    monkeypatch.setattr(moco, "info_nce", loss)
    monkeypatch.setattr(moco, "follow", follow)
    context, settings = toy_context(), shrink(OFFICIAL["webvision"], 1, 16, batch=8).contrastive
    assert settings is not None
    moco.train_moco(contrastive_net("small", context), toy_images(32), settings, context)
    assert momenta == [0.999] * 4
    assert all(queue.shape == (16, 128) for _, queue in calls)
    first, second, third, fourth = calls
    assert torch.equal(second[1][:8], first[0])
    assert torch.equal(third[1], torch.cat([first[0], second[0]]))
    assert torch.equal(fourth[1], torch.cat([third[0], second[0]])), "the oldest keys give way"
