"""`official` against the constants of the release (Clothing1M: paper and DivideMix), benchmark by benchmark."""

import pytest

from scanmix_cli.method.settings import ClusteringSettings, ContrastiveSettings, Profile, ScanSettings
from scanmix_cli.profiles.official import OFFICIAL

ROWS = ["cifar10", "cifar100", "red-mini-imagenet", "webvision", "clothing1m"]
CIFAR, SMALL, LARGE = ROWS[:2], ROWS[:3], ROWS[3:]


def parts(row: str) -> tuple[Profile, ContrastiveSettings, ScanSettings, ClusteringSettings]:
    profile = OFFICIAL[row]
    assert profile.contrastive is not None
    assert profile.scan is not None
    assert profile.clustering is not None
    return profile, profile.contrastive, profile.scan, profile.clustering


def test_the_benchmarks_of_the_paper_are_there() -> None:
    assert list(OFFICIAL) == ROWS
    assert {profile.name for profile in OFFICIAL.values()} == {"official"}


@pytest.mark.parametrize(
    ("row", "backbone", "size", "stored"),
    [
        ("cifar10", "resnet18-cifar", 32, 32),
        ("cifar100", "resnet18-cifar", 32, 32),
        ("red-mini-imagenet", "resnet18-cifar", 32, 32),
        ("webvision", "inception-resnet-v2", 227, 256),
        ("clothing1m", "resnet50", 224, 256),
    ],
)
def test_network_and_image_size(row: str, backbone: str, size: int, stored: int) -> None:
    profile = OFFICIAL[row]
    assert (profile.backbone, profile.image_size, profile.stored_size) == (backbone, size, stored)


@pytest.mark.parametrize(
    ("row", "mean", "std"),
    [
        ("cifar10", (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
        ("cifar100", (0.507, 0.487, 0.441), (0.267, 0.256, 0.276)),
        ("red-mini-imagenet", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ("webvision", (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ("clothing1m", (0.6959, 0.6537, 0.6371), (0.3113, 0.3192, 0.3214)),
    ],
)
def test_normalisation(row: str, mean: tuple, std: tuple) -> None:
    assert OFFICIAL[row].mean == mean
    assert OFFICIAL[row].std == std


@pytest.mark.parametrize(
    ("row", "objective", "epochs", "batch", "rate", "final_rate", "temperature"),
    [
        ("cifar10", "simclr", 500, 512, 0.4, 4e-4, 0.1),
        ("cifar100", "simclr", 500, 512, 0.4, 4e-4, 0.1),
        ("red-mini-imagenet", "simclr", 500, 128, 0.4, 4e-4, 0.07),
        ("webvision", "moco", 100, 128, 0.015, 0.0, 0.2),
        ("clothing1m", "moco", 100, 128, 0.015, 0.0, 0.2),
    ],
)
def test_contrastive_stage(
    row: str, objective: str, epochs: int, batch: int, rate: float, final_rate: float, temperature: float
) -> None:
    _, contrastive, _, _ = parts(row)
    assert (contrastive.objective, contrastive.view) == (objective, objective)
    assert (contrastive.epochs, contrastive.batch_size, contrastive.temperature) == (epochs, batch, temperature)
    assert contrastive.learning_rate == rate
    assert contrastive.learning_rate * contrastive.final_rate_share == pytest.approx(final_rate)
    assert (contrastive.momentum, contrastive.weight_decay) == (0.9, 1e-4)
    assert contrastive.rising_steps == 0, "no warm-up of the rate"
    assert not contrastive.symmetric
    assert (contrastive.queue_size, contrastive.key_momentum) == (65536, 0.999)
    assert contrastive.max_images == (100_000 if row == "clothing1m" else 0)


@pytest.mark.parametrize("row", ROWS)
def test_twenty_neighbors_and_the_image_itself(row: str) -> None:
    neighbors = OFFICIAL[row].neighbors
    assert (neighbors.count, neighbors.include_self) == (20, True)
    assert neighbors.features == ("backbone" if row == "webvision" else "projection")


@pytest.mark.parametrize(
    ("row", "epochs", "batch", "view"),
    [
        ("cifar10", 50, 128, "strong"),
        ("cifar100", 100, 1024, "strong"),
        ("red-mini-imagenet", 100, 256, "simclr"),
        ("webvision", 100, 256, "simclr"),
        ("clothing1m", 100, 256, "simclr"),
    ],
)
def test_scan_stage(row: str, epochs: int, batch: int, view: str) -> None:
    _, _, scan, _ = parts(row)
    assert (scan.epochs, scan.batch_size, scan.view) == (epochs, batch, view)
    assert (scan.learning_rate, scan.weight_decay, scan.entropy_weight) == (1e-4, 1e-4, 5.0)


@pytest.mark.parametrize(
    ("row", "epochs", "view"),
    [
        ("cifar10", 10, "strong"),
        ("cifar100", 30, "strong"),
        ("red-mini-imagenet", 1, "weak-red"),
        ("webvision", 1, "weak-web"),
        ("clothing1m", 1, "weak-web"),
    ],
)
def test_warm_up_of_the_head(row: str, epochs: int, view: str) -> None:
    profile = OFFICIAL[row]
    warmup = profile.warmup
    assert (warmup.epochs, warmup.view, warmup.scope, warmup.clip_norm) == (epochs, view, "head", 0.0)
    assert warmup.batch_size == 2 * profile.mixmatch.batch_size
    assert warmup.learning_rate == profile.mixmatch.learning_rate
    assert warmup.confidence_penalty == (row == "clothing1m"), "on CIFAR it depends on the noise"


def test_gate_of_the_cifar_script() -> None:
    for row in CIFAR:
        gate = OFFICIAL[row].gate
        assert gate is not None
        assert (gate.threshold, gate.low_rate, gate.high_rate) == (0.6, 1e-5, 1e-3)
        assert (gate.low_view, gate.high_view, gate.switch_views) == ("weak", "strong", True)
    assert all(OFFICIAL[row].gate is None for row in ROWS[2:])


@pytest.mark.parametrize("row", ROWS)
def test_loss_mixture(row: str) -> None:
    split = OFFICIAL[row].split
    assert (split.threshold, split.max_iter, split.tol) == (0.5, 10, 1e-2)
    assert split.reg_covar == (1e-3 if row == "red-mini-imagenet" else 5e-4)
    assert (split.history, split.clip_percentile) == (1, 0.0)


@pytest.mark.parametrize(
    ("row", "total", "drops"),
    [
        ("cifar10", 301, [150]),
        ("cifar100", 301, [150]),
        ("red-mini-imagenet", 300, [200, 250]),
        ("webvision", 101, [50]),
        ("clothing1m", 80, [40]),
    ],
)
def test_main_loop_and_warm_up_together_have_the_released_epochs(row: str, total: int, drops: list[int]) -> None:
    profile = OFFICIAL[row]
    assert profile.warmup.epochs + profile.mixmatch.epochs == total
    assert [profile.warmup.epochs + drop for drop in profile.mixmatch.rate_drops] == drops


@pytest.mark.parametrize(
    ("row", "batch", "rate", "decay", "alpha", "lambda_u", "mixed", "view"),
    [
        ("cifar10", 64, 0.02, 5e-4, 4.0, 25.0, True, "weak"),
        ("cifar100", 64, 0.02, 5e-4, 4.0, 25.0, True, "weak"),
        ("red-mini-imagenet", 64, 0.02, 5e-4, 0.5, 0.0, False, "weak-red"),
        ("webvision", 64, 0.02, 5e-4, 0.5, 0.0, False, "weak-web"),
        ("clothing1m", 32, 0.002, 1e-3, 0.5, 0.0, False, "weak-web"),
    ],
)
def test_semi_supervised_step(
    row: str, batch: int, rate: float, decay: float, alpha: float, lambda_u: float, mixed: bool, view: str
) -> None:
    semi = OFFICIAL[row].mixmatch
    assert (semi.batch_size, semi.learning_rate, semi.momentum, semi.weight_decay) == (batch, rate, 0.9, decay)
    assert (semi.alpha, semi.lambda_u, semi.mix_unlabelled, semi.view) == (alpha, lambda_u, mixed, view)
    assert (semi.temperature, semi.rampup, semi.guess_view) == (0.5, 16, "")
    assert (semi.steps, semi.epoch_images) == ((1000, 64_000) if row == "clothing1m" else (0, 0))


@pytest.mark.parametrize("row", ROWS)
def test_clustering_step(row: str) -> None:
    _, _, _, clustering = parts(row)
    assert clustering.entropy_weight == 5.0
    assert clustering.batch_size == (128 if row in SMALL else 64)
    assert (clustering.momentum, clustering.weight_decay) == (0.9, 5e-4)
    assert clustering.shared_momentum == (row in CIFAR)
    assert clustering.legacy_zero_grad == (row in CIFAR), "elsewhere each stage is a child process"
    assert clustering.steps == 0, "one pass over the whole set"
    if row not in CIFAR:  # there the gate decides
        assert clustering.learning_rate == (1e-5 if row in LARGE else 1e-3)
        assert clustering.view == "strong"


@pytest.mark.parametrize("row", ROWS)
def test_order_of_the_two_networks(row: str) -> None:
    assert OFFICIAL[row].order == ("sequential" if row in CIFAR else "parallel")
