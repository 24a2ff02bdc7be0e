"""`paper` against the text of the paper, and DivideMix's weights of the unlabelled loss."""

import pytest

from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.profiles.paper import PAPER, dividemix_lambda_u

ROWS = ["cifar10", "cifar100", "red-mini-imagenet", "webvision", "clothing1m"]
SMALL = ROWS[:3]


def test_the_benchmarks_of_the_paper_are_there() -> None:
    assert list(PAPER) == ROWS
    assert {profile.name for profile in PAPER.values()} == {"paper"}


@pytest.mark.parametrize("row", ROWS)
def test_what_the_text_says_of_every_benchmark(row: str) -> None:
    profile = PAPER[row]
    assert profile.contrastive is not None
    assert profile.clustering is not None
    assert profile.backbone == ("preact-resnet18-cifar" if row in SMALL else OFFICIAL[row].backbone)
    assert (profile.neighbors.count, profile.neighbors.include_self) == (20, False)
    assert profile.neighbors.features == "projection"
    assert profile.clustering.entropy_weight == 2.0
    assert profile.clustering.batch_size == (128 if row in SMALL else 64)
    assert (profile.clustering.momentum, profile.clustering.weight_decay) == (0.9, 5e-4)
    assert not profile.clustering.shared_momentum
    assert not profile.clustering.legacy_zero_grad
    assert profile.clustering.steps == 0
    assert "strong" not in (profile.clustering.view, profile.mixmatch.view)
    assert profile.contrastive.symmetric
    assert profile.split.threshold == 0.5
    assert profile.mixmatch.temperature == 0.5
    assert profile.order == "sequential"


@pytest.mark.parametrize(
    ("row", "epochs", "batch", "rate"),
    [
        ("cifar10", 500, 512, 0.4),
        ("cifar100", 500, 512, 0.4),
        ("red-mini-imagenet", 500, 128, 0.4),
        ("webvision", 100, 128, 0.015),
        ("clothing1m", 100, 128, 0.015),
    ],
)
def test_contrastive_stage(row: str, epochs: int, batch: int, rate: float) -> None:
    contrastive = PAPER[row].contrastive
    assert contrastive is not None
    assert (contrastive.epochs, contrastive.batch_size, contrastive.learning_rate) == (epochs, batch, rate)
    assert (contrastive.momentum, contrastive.weight_decay) == (0.9, 1e-4)
    assert contrastive.max_images == (100_000 if row == "clothing1m" else 0)


@pytest.mark.parametrize("row", ROWS)
def test_gate_sets_the_clustering_rate_and_no_view(row: str) -> None:
    gate, clustering = PAPER[row].gate, PAPER[row].clustering
    assert clustering is not None
    if row == "red-mini-imagenet":
        assert gate is None
        assert clustering.learning_rate == 1e-3
        return
    assert gate is not None
    assert (gate.threshold, gate.low_rate, gate.high_rate, gate.switch_views) == (0.6, 1e-5, 1e-3, False)


@pytest.mark.parametrize(
    ("row", "warmup", "total", "drops"),
    [
        ("cifar10", 10, 300, [150]),
        ("cifar100", 30, 300, [150]),
        ("red-mini-imagenet", 1, 300, [200, 250]),
        ("webvision", 1, 100, [50]),
        ("clothing1m", 1, 80, [40]),
    ],
)
def test_epochs_with_warm_up_counted_in(row: str, warmup: int, total: int, drops: list[int]) -> None:
    profile = PAPER[row]
    assert profile.warmup.epochs == warmup
    assert warmup + profile.mixmatch.epochs == total
    assert [warmup + drop for drop in profile.mixmatch.rate_drops] == drops


@pytest.mark.parametrize(
    ("row", "alpha", "mixed"),
    [
        ("cifar10", 4.0, True),
        ("cifar100", 4.0, True),
        ("red-mini-imagenet", 0.5, False),
        ("webvision", 4.0, False),
        ("clothing1m", 0.5, False),
    ],
)
def test_mixing(row: str, alpha: float, mixed: bool) -> None:
    semi = PAPER[row].mixmatch
    assert (semi.alpha, semi.mix_unlabelled) == (alpha, mixed)
    assert semi.epoch_images == (64_000 if row == "clothing1m" else 0)


@pytest.mark.parametrize(
    ("row", "noise", "rate", "weight"),
    [
        ("cifar10", "sym", 0.2, 0),
        ("cifar10", "sym", 0.5, 25),
        ("cifar10", "sym", 0.8, 25),
        ("cifar10", "sym", 0.9, 50),
        ("cifar10", "asym", 0.4, 0),
        ("cifar10", "asym", 0.49, 0),
        ("cifar100", "sym", 0.2, 25),
        ("cifar100", "sym", 0.5, 150),
        ("cifar100", "sym", 0.8, 150),
        ("cifar100", "sym", 0.9, 150),
        ("cifar10", "sym", 0.1, 0),
        ("cifar10", "sym", 0.95, 50),
        ("webvision", "web", 0.0, 0),
        ("cifar10", "semantic-vgg", 0.4, 0),
    ],
)
def test_weight_of_the_unlabelled_loss(row: str, noise: str, rate: float, weight: float) -> None:
    assert dividemix_lambda_u(row, noise, rate) == weight


@pytest.mark.parametrize("profile", [fast.GPU, fast.CPU], ids=["GPU", "CPU"])
def test_our_own_profiles_have_the_guards_and_none_of_the_accidents(profile: fast.Profile) -> None:
    assert profile.name == "fast"
    assert profile.clustering is not None
    assert not profile.clustering.shared_momentum
    assert not profile.clustering.legacy_zero_grad
    assert profile.split.clip_percentile == 99.9
    assert profile.mixmatch.guess_view == "weak", "whatever view the gate chooses to train on"
    assert all(drop < profile.mixmatch.epochs for drop in profile.mixmatch.rate_drops)
    assert profile.mixmatch.rampup < profile.mixmatch.epochs
