"""One generator draws everything: nobody else's random state moves, and a seed decides the outcome."""

import random

import numpy as np
import pytest
import torch
from toy_runs import evidence_bytes, shrink, toy_context, toy_images, toy_profile, train

from scanmix_cli.method.methods import METHODS
from scanmix_cli.profiles.official import OFFICIAL


@pytest.mark.parametrize("method", METHODS)
def test_global_random_states_are_left_alone(method: str) -> None:
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002 - the legacy state is what is watched
    random.seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # type: ignore[index] # noqa: NPY002
    train(method, toy_profile(1), toy_images(32))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # type: ignore[index] # noqa: NPY002
    assert random.getstate() == before[2]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    images, profile = toy_images(32), toy_profile(1)
    torch.manual_seed(1)
    first = evidence_bytes(train("scanmix", profile, images, toy_context(seed=3)))
    torch.manual_seed(2)
    assert evidence_bytes(train("scanmix", profile, images, toy_context(seed=3))) == first
    assert evidence_bytes(train("scanmix", profile, images, toy_context(seed=4))) != first


@pytest.mark.parametrize("method", ["mixup", "elr", "dividemix"])
def test_other_methods_repeat_themselves_too(method: str) -> None:
    images, profile = toy_images(32), toy_profile(1)
    runs = {evidence_bytes(train(method, profile, images)) for _ in range(2)}
    assert len(runs) == 1


def test_moco_and_a_random_subset_repeat_themselves() -> None:
    images, profile = toy_images(32), shrink(OFFICIAL["clothing1m"], 1, 16)
    runs = {evidence_bytes(train("scanmix", profile, images)) for _ in range(2)}
    assert len(runs) == 1
