"""What a benchmark does to a profile."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from scanmix_cli.bench.protocol import bench_profile, check_stages, shares
from scanmix_cli.bench.request import BenchRequest
from scanmix_cli.engine.device import Compute
from scanmix_cli.errors import SettingsError
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles.paper import PAPER
from scanmix_cli.workflow.facts import DataFacts

FACTS = DataFacts(50_000, 10, 32)


def profile(**options: Any) -> Profile:
    request = BenchRequest(**{"target": "cifar10", "out": Path(), "data_dir": Path(), **options})
    return bench_profile(request, FACTS, Compute(torch.device("cpu"), "fp32"))


@pytest.mark.parametrize(
    ("target", "noise", "rate", "weight"),
    [
        ("cifar10", "sym", 0.2, 0.0),
        ("cifar10", "sym", 0.5, 25.0),
        ("cifar10", "sym", 0.9, 50.0),
        ("cifar10", "asym", 0.4, 0.0),
        ("cifar100", "sym", 0.2, 25.0),
        ("cifar100", "sym", 0.9, 150.0),
    ],
)
def test_paper_takes_lambda_u_of_dividemix(target: str, noise: str, rate: float, weight: float) -> None:
    assert profile(target=target, profile="paper", noise=noise, rate=rate).mixmatch.lambda_u == weight


@pytest.mark.parametrize("name", ["webvision", "clothing1m"])
def test_a_large_sets_own_name_is_its_row_of_the_paper(name: str) -> None:
    assert profile(target=name, profile=name) == profile(target=name, profile="paper") == PAPER[name]


def test_published_profiles_know_the_noise() -> None:
    assert profile(profile="official", noise="asym", rate=0.4).warmup.confidence_penalty
    assert profile(profile="official", noise="semantic-vgg").warmup.confidence_penalty
    assert not profile(profile="official", noise="sym", rate=0.8).warmup.confidence_penalty
    assert profile(profile="official", noise="sym", rate=0.9).split.history == 5
    assert profile(profile="official", noise="sym", rate=0.8).split.history == 1


def test_our_profiles_know_nothing_of_the_noise() -> None:
    kinds = [("sym", 0.2), ("sym", 0.9), ("asym", 0.4), ("human-worst", None), ("semantic-vgg", None), ("none", None)]
    assert len({profile(profile="fast", noise=noise, rate=rate) for noise, rate in kinds}) == 1


def test_toy_schedules() -> None:
    short = profile(profile="official", epochs=30, pretrain_epochs=7)
    assert (short.mixmatch.epochs, short.supervised.epochs, short.warmup.epochs) == (30, 30, 1)
    assert short.contrastive is not None
    assert short.contrastive.epochs == 7
    longer = profile(profile="official", epochs=30)
    assert longer.contrastive is not None
    assert longer.contrastive.epochs == 500


def test_budget_is_shared_over_the_stages_that_a_method_has() -> None:
    on_beliefs = profile(profile="fast")
    fast = replace(on_beliefs, beliefs=None)
    assert set(shares("scanmix", fast, FACTS)) == {"scan", "warmup", "scanmix"}
    assert set(shares("scan", fast, FACTS)) == {"scan"}
    assert set(shares("scanmix", on_beliefs, FACTS)) == {"scanmix"}
    assert shares("dividemix", on_beliefs, FACTS) == shares("dividemix", fast, FACTS)
    assert set(shares("dividemix", fast, FACTS)) == {"warmup", "scanmix"}
    assert shares("cross-entropy", fast, FACTS) == {}
    # without the clustering step the main loop is cheaper
    assert shares("pretrain+dividemix", fast, FACTS)["scanmix"] < shares("scanmix", fast, FACTS)["scanmix"]
    official = profile(profile="official")
    assert shares("dividemix", official, FACTS)["warmup"] > shares("scanmix", official, FACTS)["warmup"]


def test_a_stage_that_is_missing_is_named() -> None:
    bare = replace(profile(profile="fast"), contrastive=None, scan=None)
    with pytest.raises(SettingsError, match="profile fast has no contrastive stage, which scanmix starts from"):
        check_stages("scanmix", bare)
    check_stages("dividemix", bare)
