"""One step of MixMatch: its targets, the views they are guessed from, the weights of its losses."""

from dataclasses import replace

import pytest
import torch
from toy_runs import CLASSES, pair, toy_context, toy_images, toy_profile

from scanmix_cli.method import mixmatch
from scanmix_cli.method.mixmatch import MixMatchStep

IMAGES = toy_images(24)


def mixmatch_step(**changes: object) -> MixMatchStep:
    context, profile = toy_context(), toy_profile()
    learners = pair(profile, context)
    settings = replace(profile.mixmatch, **{"batch_size": 8, "view": "test", **changes})  # type: ignore[arg-type]
    return MixMatchStep(learners[0], learners[1].net, IMAGES, settings, context)


@pytest.mark.parametrize(("mixed", "gradient"), [(True, [16.0, 48.0, 32.0]), (False, [16.0, 0.0, 16.0])])
def test_labelled_unlabelled_and_prior_loss_are_added_with_their_weights(
    mixed: bool, gradient: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    # each loss stands in for the sum of one logit, so the bias of that class gathers one for every row it sees
    monkeypatch.setattr(mixmatch, "soft_cross_entropy", lambda logits, _: logits[:, 0].sum())
    monkeypatch.setattr(mixmatch, "squared_error", lambda logits, _: logits[:, 1].sum())
    monkeypatch.setattr(mixmatch, "prior_loss", lambda logits, _: logits[:, 2].sum())
    step = mixmatch_step(mix_unlabelled=mixed)
    step.step(torch.arange(8), IMAGES.pixels[:8], IMAGES.pixels[8:16], torch.tensor(0.9), torch.tensor(3.0))
    bias = step.learner.net.class_head.bias
    assert bias.grad is not None
    assert bias.grad.tolist() == pytest.approx(gradient)


def test_targets_trust_the_given_label_as_far_as_the_peer_does() -> None:
    step = mixmatch_step(temperature=1.0)
    labelled = torch.arange(4, 12)
    step.posterior[labelled[:4]], step.posterior[labelled[4:]] = 1.0, 0.0
    rows = torch.cat([labelled, labelled, torch.arange(12, 20), torch.arange(12, 20)])
    inputs = step.view(IMAGES.pixels[rows])
    own, peer = step.learner.net, step.peer.eval()
    own.train()
    targets = step.targets(inputs, labelled)
    with torch.no_grad():
        guess, other = torch.cat([own(view) for view in inputs.chunk(4)]).softmax(1), peer(inputs).softmax(1)
    given = torch.nn.functional.one_hot(IMAGES.labels[labelled[:4]], IMAGES.classes)
    expected = torch.cat([given.float(), guess[4:8]])
    torch.testing.assert_close(targets[:8], expected)
    torch.testing.assert_close(targets[8:16], expected)
    torch.testing.assert_close(targets[16:24], (guess[16:24] + other[16:24]) / 2)
    torch.testing.assert_close(targets[24:], targets[16:24])


@pytest.mark.parametrize(("guess_view", "views"), [("", ["strong"]), ("weak", ["strong", "weak"])])
def test_labels_are_guessed_from_the_view_that_the_profile_names(
    guess_view: str, views: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    step = mixmatch_step(view="strong", guess_view=guess_view)
    seen: list[tuple[str, torch.Tensor]] = []
    original = mixmatch.Augmentation.__call__

    def record(self: mixmatch.Augmentation, *pixels: torch.Tensor, parts: int = 1) -> torch.Tensor:
        seen.append((self.name, original(self, *pixels, parts=parts)))
        return seen[-1][1]

    monkeypatch.setattr(mixmatch.Augmentation, "__call__", record)
    targets_of: list[torch.Tensor] = []
    monkeypatch.setattr(step, "targets", lambda inputs, *_: targets_of.append(inputs) or torch.full((32, CLASSES), 0.2))
    step.step(torch.arange(8), IMAGES.pixels[:8], IMAGES.pixels[8:16], torch.tensor(0.9), torch.tensor(3.0))
    assert [name for name, _ in seen] == views
    assert targets_of[0] is seen[-1][1]


def test_weight_of_the_unlabelled_loss_rises_from_step_to_step() -> None:
    step = mixmatch_step(lambda_u=32.0, rampup=16)
    weights: list[float] = []

    def record(*arguments: torch.Tensor) -> torch.Tensor:
        weights.append(arguments[4].item())
        return torch.zeros(3)

    step.captured = record  # type: ignore[assignment]
    step.epoch(torch.arange(16), torch.arange(16, 24), torch.ones(24), 2.0)
    assert weights == [4.0, 5.0]
