"""Data and losses that broke the released code: small sets, missing labels, weights that do not fit, divergence."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_runs import CLASSES, toy_context, toy_images, toy_profile, train

from scanmix_cli.engine.context import Context
from scanmix_cli.errors import RunError, SettingsError
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.learner import Learner, look, make_learner
from scanmix_cli.method.mixmatch import MixMatchStep
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import contrastive_net, load_backbone, scanmix_net
from scanmix_cli.method.scanmix import EMLoop
from scanmix_cli.method.settings import Profile
from scanmix_cli.method.warmup import warm_up

BATCH = 64


def relabelled(images: ImageSet, labels: torch.Tensor) -> ImageSet:
    return replace(images, labels=labels)


def learners(profile: Profile, context: Context) -> list[Learner]:
    return [make_learner(scanmix_net("small", CLASSES, context, k), profile, context) for k in (1, 2)]


@pytest.mark.parametrize(("clean", "expected_steps"), [(0, 2), (1, 1), (63, 1), (64, 1), (127, 1), (128, 2), (130, 2)])
def test_any_size_of_the_clean_set_gives_full_batches(
    clean: int, expected_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, images = toy_context(), toy_images(130, size=8, unlabelled=0)
    profile = toy_profile()
    pair = learners(profile, context)
    step = MixMatchStep(pair[0], pair[1].net, images, replace(profile.mixmatch, batch_size=BATCH), context)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    feed = ImageSet.feed

    def record(self: ImageSet, labelled: torch.Tensor, unlabelled: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
        seen.extend(zip(labelled, unlabelled, strict=True))
        return feed(self, labelled, unlabelled)

    monkeypatch.setattr(ImageSet, "feed", record)
    step.captured = lambda *_: torch.ones(3)  # type: ignore[assignment]
    rows = torch.arange(130)
    step.epoch(rows[:clean], rows[clean:], torch.ones(130), 1.0)
    assert len(seen) == expected_steps
    for labelled, unlabelled in seen:
        assert len(labelled) == len(unlabelled) == BATCH
        assert (labelled < clean).all() or clean == 0, "an empty side is served by the other"
        assert (unlabelled >= clean).all() or clean == 130
    assert clean == 0 or len(torch.cat([labelled for labelled, _ in seen]).unique()) == min(clean, BATCH * len(seen))


@pytest.mark.parametrize("clean", [0, 1, 63, 64])
def test_training_on_an_empty_or_tiny_side_stays_finite(clean: int) -> None:
    context, images = toy_context(), toy_images(64, unlabelled=0)
    profile = toy_profile()
    pair = learners(profile, context)
    step = MixMatchStep(pair[0], pair[1].net, images, profile.mixmatch, context)
    rows = torch.arange(64)
    posterior = torch.where(rows < clean, 1.0, 0.0)
    values = step.epoch(rows[:clean], rows[clean:], posterior, 8.0)
    assert all(np.isfinite(value) for value in values.values())
    assert all(parameter.isfinite().all() for parameter in pair[0].net.parameters())


def test_peer_and_unlabelled_images_are_guessed_from_without_being_trained() -> None:
    context, images = toy_context(), toy_images(64)
    profile = toy_profile()
    pair = learners(profile, context)
    before = {name: value.clone() for name, value in pair[1].net.state_dict().items()}
    step = MixMatchStep(pair[0], pair[1].net, images, profile.mixmatch, context)
    step.epoch(torch.arange(10, 40), torch.arange(10), torch.ones(64), 1.0)
    for name, value in pair[1].net.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_unlabelled_images_are_on_the_noisy_side_of_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: list[tuple[set[int], set[int]]] = []
    original = MixMatchStep.epoch

    def epoch(self: MixMatchStep, clean: torch.Tensor, noisy: torch.Tensor, *rest: object) -> dict[str, float]:
        sides.append((set(clean.tolist()), set(noisy.tolist())))
        return original(self, clean, noisy, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(MixMatchStep, "epoch", epoch)
    train("scanmix", toy_profile(2), toy_images(40, unlabelled=9))
    assert len(sides) == 4
    for clean, noisy in sides:
        assert noisy >= set(range(9))
        assert clean | noisy == set(range(40))
        assert not clean & noisy


def test_losses_of_unlabelled_images_are_zero_and_their_class_is_predicted() -> None:
    context, images = toy_context(), toy_images(40, unlabelled=5)
    outlook = look(scanmix_net("small", CLASSES, context), images, context)
    assert (outlook.losses[:5] == 0).all()
    assert (outlook.losses[5:] > 0).all()
    torch.testing.assert_close(outlook.probabilities.sum(1), torch.ones(40))
    assert outlook.predictions.shape == (40,)
    rows = torch.arange(5, 40)
    given = outlook.probabilities[rows, images.labels[rows]]
    torch.testing.assert_close(outlook.losses[rows], -given.log())


@pytest.mark.parametrize("labelled", [0, 1])
@pytest.mark.parametrize("method", ["scanmix", "dividemix", "cross-entropy", "elr"])
def test_too_few_labels_end_the_run_with_a_sentence(method: str, labelled: int) -> None:
    images = toy_images(24, unlabelled=24 - labelled)
    with pytest.raises(RunError, match="fewer than two images"):
        train(method, toy_profile(1), images)


@pytest.mark.parametrize("count", [5, 17, 33])
def test_last_batch_of_one_is_no_crash(count: int) -> None:
    outcome = train("scanmix", toy_profile(1), toy_images(count, unlabelled=0))
    assert outcome.evidence is not None
    assert np.isfinite(outcome.evidence.final_probability).all()


def test_one_class_for_all_trains() -> None:
    images = toy_images(32)
    outcome = train("scanmix", toy_profile(2), relabelled(images, torch.zeros(32, dtype=torch.int64)))
    assert outcome.evidence is not None
    assert np.isfinite(outcome.evidence.loss_sum).all()


def test_copies_of_one_image_train() -> None:
    images = toy_images(32, unlabelled=0)
    copies = replace(images, pixels=images.pixels[:1].repeat(32, 1, 1, 1))
    outcome = train("scanmix", toy_profile(2), copies)
    assert outcome.evidence is not None
    assert np.isfinite(outcome.evidence.final_probability).all()


def test_a_class_whose_labels_all_look_wrong_keeps_its_best_image() -> None:
    context, profile = toy_context(), toy_profile()
    images = toy_images(60, unlabelled=0)
    loop = EMLoop(learners(profile, context), images, None, profile, context)
    outlooks = loop.look()
    losses = torch.where(images.labels == 2, 5.0 + torch.arange(60) / 60, 0.1 + torch.arange(60) / 600)
    high = [replace(outlook, losses=losses) for outlook in outlooks]
    for division in loop.divide(high, loop.epoch_rows()):
        chosen = division.clean & (images.labels.numpy() == 2)
        assert chosen.sum() == 1
        assert losses[chosen.nonzero()[0][0]] == losses[images.labels == 2].min()


def test_weights_that_do_not_cover_the_backbone_are_refused() -> None:
    context = toy_context()
    net, encoder = scanmix_net("small", CLASSES, context), contrastive_net("small", context)
    load_backbone(net, encoder)
    for one, other in zip(net.backbone.parameters(), encoder.backbone.parameters(), strict=True):
        assert torch.equal(one, other)
    del encoder.backbone.blocks[1]
    with pytest.raises(RuntimeError, match="Missing key"):
        load_backbone(net, encoder)
    with pytest.raises(RuntimeError, match="Missing key"):
        load_backbone(net, contrastive_net("resnet18-cifar", context))


def test_unknown_backbone_names_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"unknown backbone 'smal'.*small"):
        scanmix_net("smal", CLASSES, toy_context())


def test_a_diverging_run_ends_with_a_sentence() -> None:
    profile = toy_profile(3)
    wild = replace(profile, supervised=replace(profile.supervised, learning_rate=1e30))
    with pytest.raises(
        RunError, match=r"loss became (nan|inf) in epoch \d of cross-entropy, with lower learning rates too; use"
    ):
        train("cross-entropy", wild, toy_images())


def test_confidence_penalty_flattens_the_warm_up() -> None:
    confidences = []
    for penalty in (False, True):
        context, profile = toy_context(), toy_profile()
        images, pair = toy_images(64, unlabelled=0), learners(profile, context)
        warm_up(pair, images, replace(profile.warmup, epochs=6, confidence_penalty=penalty), Monitor(), context)
        confidences.append(look(pair[0].net, images, context).probabilities.max(1).values.mean().item())
    assert confidences[1] < confidences[0] - 0.02


def test_gradient_clipping_holds_the_warm_up_back() -> None:
    moved = []
    for norm in (0.0, 1e-3):
        context, profile = toy_context(), toy_profile()
        pair = learners(profile, context)
        start = pair[0].net.class_head.weight.clone()
        warm_up(pair, toy_images(), replace(profile.warmup, epochs=1, clip_norm=norm), Monitor(), context)
        moved.append((pair[0].net.class_head.weight - start).norm().item())
    assert moved[1] < moved[0] / 10
