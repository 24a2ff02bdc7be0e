"""`paper`: what the text says, for each benchmark of the paper.

Differs from `official`: PreAct-ResNet-18, entropy weight 2, the gate sets only the clustering learning rate and views
stay weak, 20 neighbours without the image itself, each step has its own optimiser, one epoch less, symmetric NT-Xent,
lambda_u per noise as in DivideMix (`dividemix_lambda_u`), which the benchmark command fills in.
"""

from dataclasses import replace

from scanmix_cli.method.settings import ClusteringSettings, GateSettings, NeighborSettings, Profile
from scanmix_cli.profiles.official import OFFICIAL

_WEAK_GATE = GateSettings(switch_views=False)
_NEIGHBORS = NeighborSettings(include_self=False)

# DivideMix, appendix table 7: lambda_u by data set, noise and nominal rate in percent
LAMBDA_U = {
    ("cifar10", "sym"): {20: 0.0, 50: 25.0, 80: 25.0, 90: 50.0},
    ("cifar10", "asym"): {40: 0.0},
    ("cifar100", "sym"): {20: 25.0, 50: 150.0, 80: 150.0, 90: 150.0},
}


def dividemix_lambda_u(row: str, noise: str, rate: float) -> float:
    """lambda_u that DivideMix uses for a benchmark, noise type and nominal rate 0..1; the nearest listed rate counts,
    0 where the table has no such row."""
    table = LAMBDA_U.get((row, noise), {0: 0.0})
    return table[min(table, key=lambda listed: abs(listed - 100 * rate))]


def _textual(official: Profile, clustering: ClusteringSettings) -> Profile:
    contrastive = official.contrastive
    return replace(
        official,
        name="paper",
        contrastive=None if contrastive is None else replace(contrastive, symmetric=True),
        neighbors=_NEIGHBORS,
        clustering=clustering,
        gate=_WEAK_GATE,
    )


def _cifar(official: Profile) -> Profile:
    profile = _textual(official, ClusteringSettings(entropy_weight=2.0))
    return replace(
        profile,
        backbone="preact-resnet18-cifar",
        mixmatch=replace(official.mixmatch, epochs=official.mixmatch.epochs - 1),
    )


CIFAR10 = _cifar(OFFICIAL["cifar10"])
CIFAR100 = _cifar(OFFICIAL["cifar100"])
RED_MINI_IMAGENET = replace(
    _textual(OFFICIAL["red-mini-imagenet"], ClusteringSettings(entropy_weight=2.0)),
    backbone="preact-resnet18-cifar",
    gate=None,
    order="sequential",
)
WEBVISION = replace(
    _textual(OFFICIAL["webvision"], ClusteringSettings(batch_size=64, entropy_weight=2.0, view="weak-web")),
    mixmatch=replace(OFFICIAL["webvision"].mixmatch, alpha=4.0, epochs=99),
    order="sequential",
)
CLOTHING1M = replace(
    _textual(OFFICIAL["clothing1m"], ClusteringSettings(batch_size=64, entropy_weight=2.0, view="weak-web")),
    order="sequential",
)

PAPER = {
    "cifar10": CIFAR10,
    "cifar100": CIFAR100,
    "red-mini-imagenet": RED_MINI_IMAGENET,
    "webvision": WEBVISION,
    "clothing1m": CLOTHING1M,
}
