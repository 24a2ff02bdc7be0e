"""Published rows stand in the data file to the digit, each with its source."""

import pytest

from scanmix_cli.bench.datasets import DATASETS
from scanmix_cli.bench.published import published_rows, rows_for
from scanmix_cli.bench.request import NOISES, OWN_NOISE

CELLS = [
    ("cifar10", "sym", 0.9, "ScanMix", 91.0, 90.3),
    ("cifar10", "sym", 0.2, "ScanMix", 96.0, 95.7),
    ("cifar10", "sym", 0.9, "DivideMix", 76.0, None),
    ("cifar10", "asym", 0.49, "ScanMix", 88.7, 87.1),
    ("cifar10", "sym", 0.8, "pretrain+dividemix", 93.7, None),
    ("cifar10", "sym", 0.9, "C2D DivideMix, ResNet-18", 93.57, 93.42),
    ("cifar10", "human-worst", None, "ProMix", 96.3, None),
    ("cifar10", "semantic-densenet", None, "ScanMix", 89.70, None),
    ("cifar10", "semantic-resnet", None, "DivideMix", 81.61, None),
    ("cifar100", "semantic-vgg", None, "ScanMix", 67.34, None),
    ("cifar100", "sym", 0.9, "ScanMix", 58.5, 58.2),
    ("cifar100", "sym", 0.5, "DivideMix", 74.6, None),
    ("red-mini-imagenet", "red", 0.8, "ScanMix", 40.00, None),
    ("red-mini-imagenet", "red", 0.2, "DivideMix", 50.96, None),
    ("clothing1m", "web", None, "ScanMix", 74.35, None),
]


@pytest.mark.parametrize(("dataset", "noise", "rate", "method", "best", "last"), CELLS)
def test_cells_match_the_tables(
    dataset: str, noise: str, rate: float | None, method: str, best: float, last: float | None
) -> None:
    found = [row for row in rows_for(dataset, noise, rate) if row.method == method and row.best is not None]
    assert [(row.best, row.last) for row in found] == [(best, last)]


def test_webvision_has_two_tests_and_two_metrics() -> None:
    found = {(r.test, r.metric): r.best for r in rows_for("webvision", "web", None) if r.method == "ScanMix"}
    assert found == {
        ("webvision val", "top1"): 80.04,
        ("webvision val", "top5"): 93.04,
        ("ilsvrc12", "top1"): 75.76,
        ("ilsvrc12", "top5"): 92.60,
    }


def test_detection_rows_of_human_worst() -> None:
    found = {row.method: row for row in rows_for("cifar10", "human-worst", None) if row.best is None}
    joint = found["cleanlab's confident joint, 5-fold ImageNet-pretrained ResNet-18"]
    assert (joint.f1, joint.best_f1, joint.auroc) == (0.77, 0.885, 0.968)
    assert found["ProMix, two networks"].f1 == 0.961


def test_every_row_can_be_met_and_names_its_source() -> None:
    known = {(name, noise) for name in DATASETS for noise in OWN_NOISE.get(name, NOISES)}
    for row in published_rows():
        assert (row.dataset, row.noise) in known
        assert row.source
        assert row.table
        assert row.best is not None or row.auroc is not None or row.f1 is not None
