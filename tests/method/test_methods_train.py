"""Every method trains on a CPU and tells what it learned."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_runs import CLASSES, shrink, toy_context, toy_images, toy_profile, train

from scanmix_cli.errors import SettingsError
from scanmix_cli.method import supervised
from scanmix_cli.method.images import forward_all
from scanmix_cli.method.methods import METHODS
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.profiles.official import OFFICIAL

EPOCHS = 2
NETWORKS = {"cross-entropy": 1, "mixup": 1, "elr": 2, "scan": 1, "dividemix": 2, "pretrain+dividemix": 2, "scanmix": 2}
STAGES = {
    "cross-entropy": ["cross-entropy"],
    "mixup": ["mixup"],
    "elr": ["elr"],
    "scan": ["simclr", "neighbors", "scan"],
    "dividemix": ["warmup", "scanmix"],
    "pretrain+dividemix": ["simclr", "warmup", "scanmix"],
    "scanmix": ["simclr", "neighbors", "scan", "warmup", "scanmix"],
}
EM_COLUMNS = {
    "em_expected_log_likelihood",
    "em_entropy",
    "em_bound",
    "em_bound_before",
    "links_kept",
    "links_kept_alike",
}


def test_every_method_is_tested() -> None:
    assert set(METHODS) == set(NETWORKS) == set(STAGES)


@pytest.mark.parametrize("method", METHODS)
def test_method_trains_and_gives_finite_evidence(method: str) -> None:
    images, context = toy_images(40), toy_context()
    outcome = train(method, toy_profile(EPOCHS), images, context)
    assert len(outcome.nets) == NETWORKS[method]
    assert list(dict.fromkeys(row["stage"] for row in context.history.rows)) == STAGES[method]
    assert all(math.isfinite(v) for row in context.history.rows for k, v in row.items() if "loss" in k)
    for net in outcome.nets:
        assert all(parameter.isfinite().all() for parameter in net.parameters())
    assert (outcome.neighbors is not None) == ("neighbors" in STAGES[method])
    if method == "scan":
        assert outcome.evidence is None
        return
    evidence = outcome.evidence
    assert evidence is not None
    looks = 2 if "scanmix" in STAGES[method] else 1
    assert evidence.observations == EPOCHS * looks
    for name, values in evidence.state_dict().items():
        assert np.isfinite(values).all(), name
    known = images.known.numpy()
    assert evidence.probability_sum.sum(1) == pytest.approx(EPOCHS * looks, rel=1e-4)
    assert evidence.final_probability.sum(1) == pytest.approx(1.0, rel=1e-4)
    context = toy_context()
    logits = torch.stack([forward_all(net, net, images, context) for net in outcome.nets]).sum(0)
    assert np.allclose(evidence.final_probability, logits.softmax(1).numpy(), atol=1e-6), "logits are summed"
    assert evidence.final_probability[~known].std() > 0, "unlabelled images are predicted too"
    for sums in (evidence.loss_sum, evidence.given_probability_sum, evidence.posterior_sum):
        assert (sums[~known] == 0).all()
        assert (sums[known] > 0).all()


def test_scanmix_logs_the_em_view_and_every_loss() -> None:
    images = toy_images(40)
    truth = np.arange(len(images)) % CLASSES
    context, held_out = toy_context(), toy_images(30, unlabelled=0, seed=7)
    train("scanmix", toy_profile(EPOCHS), images, context, Monitor(held_out, truth))
    rows = [row for row in context.history.rows if row["stage"] == "scanmix"]
    assert [row["epoch"] for row in rows] == [1, 2]
    for row in rows:
        assert {"loss_x", "loss_u", "loss_r", "loss_clustering", *EM_COLUMNS} <= set(row)
        assert {"test_accuracy", "test_accuracy_net1", "clean_precision", "clean_recall"} <= set(row)
        assert all(math.isfinite(value) for name, value in row.items() if name != "stage")
        assert row["em_bound"] == pytest.approx(row["em_expected_log_likelihood"] + row["em_entropy"])
        assert 0 < row["labelled_share"] <= 1
    mined = next(row for row in context.history.rows if row["stage"] == "neighbors")
    assert 0 <= mined["knn_accuracy"] <= 1


def test_truth_and_held_out_images_are_never_fed_back() -> None:
    images = toy_images(32)
    blind, seeing = toy_context(), toy_context()
    train("scanmix", toy_profile(1), images, blind)
    truth = np.arange(len(images)) % CLASSES
    train("scanmix", toy_profile(1), images, seeing, Monitor(toy_images(30, unlabelled=0, seed=7), truth))
    assert blind.history.rows[-1]["loss_x"] == seeing.history.rows[-1]["loss_x"]
    assert torch.equal(blind.generator.get_state(), seeing.generator.get_state())


def test_dividemix_has_no_clustering_and_no_em_view() -> None:
    context = toy_context()
    train("dividemix", shrink(OFFICIAL["cifar10"], 1, 16), toy_images(32), context)
    assert not {"loss_clustering", *EM_COLUMNS} & set(context.history.rows[-1])


def test_given_encoder_skips_pretraining() -> None:
    from scanmix_cli.method.networks import contrastive_net

    context, profile = toy_context(), toy_profile(1)
    METHODS["scanmix"](toy_images(32), profile, Monitor(), context, contrastive_net("small", context))
    assert "simclr" not in {row["stage"] for row in context.history.rows}


def test_methods_say_which_stage_a_profile_lacks() -> None:
    profile = toy_profile(1)
    with pytest.raises(SettingsError, match="no contrastive stage to start from"):
        train("scanmix", replace(profile, contrastive=None), toy_images())
    with pytest.raises(SettingsError, match="no SCAN stage"):
        train("scan", replace(profile, scan=None), toy_images())


def test_wrong_labels_look_wrong_after_a_short_training() -> None:
    images = toy_images(72, unlabelled=0)
    wrong = (images.labels.numpy() != np.arange(72) % CLASSES).nonzero()[0]
    right = np.setdiff1d(np.arange(72), wrong)
    outcome = train("scanmix", toy_profile(4), images)
    assert outcome.evidence is not None
    posterior = outcome.evidence.posterior_sum / outcome.evidence.observations
    assert posterior[right].mean() > posterior[wrong].mean() + 0.3
    assert (outcome.evidence.final_probability.argmax(1) == np.arange(72) % CLASSES).mean() > 0.9


def test_only_mixup_mixes(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    original = supervised.mixup

    def record(*arguments: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shares.append(arguments[3].item())
        return original(*arguments)

    monkeypatch.setattr(supervised, "mixup", record)
    train("cross-entropy", toy_profile(1), toy_images(32))
    assert set(shares) == {1.0}
    shares.clear()
    train("mixup", toy_profile(1), toy_images(32))
    assert all(0.5 <= share < 1 for share in shares)
    assert len(set(shares)) == len(shares) > 0
