"""Several processes that share a run give what one process gives, and end together."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import shared_parts
import shared_processes
import torch
from torch import Tensor

from scanmix_cli.method.shards import BUFFER_SHARE

Found = dict[str, dict[str, Tensor]]
# Sums in another order; a stage multiplies the differences from step to step. The posteriors of the mixtures, which a
# whole run ends with, are steep: an image between the two parts may move by more, so they count in the mean.
TOLERANCE, STAGES = {"gathered": 1e-6, "norms": 1e-5, "whole_run": 2e-2}, 2e-3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the processes left what they found."""
    folder = tmp_path_factory.mktemp("shared")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, shared_processes.__file__, str(folder)], check=True, env=environment)
    return folder


@pytest.fixture(scope="module")
def by_one(folder: Path) -> dict:
    """What one process found, and what it did for that."""
    return torch.load(folder / "1" / "0.pt", weights_only=True)


@pytest.fixture
def alone(by_one: dict) -> Found:
    return by_one["parts"]


@pytest.fixture(params=[2, 4], ids=["two processes", "four processes"])
def shared(request: pytest.FixtureRequest, folder: Path) -> list[dict]:
    count = request.param
    return [torch.load(folder / str(count) / f"{rank}.pt", weights_only=True) for rank in range(count)]


def differences(found: dict[str, Tensor], expected: dict[str, Tensor]) -> dict[str, float]:
    """Largest absolute difference of each tensor, of posteriors the mean one, over the largest value expected or 1."""
    assert set(found) == set(expected)
    apart = {name: (found[name] - value).abs() for name, value in expected.items()}
    summed = {name: one.mean() if name == "posterior" else one.max() for name, one in apart.items()}
    return {name: (one / expected[name].abs().max().clamp_min(1)).item() for name, one in summed.items()}


def too_far(found: dict[str, Tensor], expected: dict[str, Tensor], part: str = "") -> dict[str, float]:
    return {
        name: value for name, value in differences(found, expected).items() if not value <= TOLERANCE.get(part, STAGES)
    }


def test_processes_together_give_what_one_gives(alone: Found, shared: list[dict]) -> None:
    parts = shared_parts.PARTS if len(shared) == 2 else shared_parts.PARTS_OF_MANY
    assert list(shared[0]["parts"]) == [part.__name__ for part in parts]
    for part, tensors in shared[0]["parts"].items():
        assert not too_far(tensors, alone[part], part), part


def test_all_processes_hold_the_same(shared: list[dict]) -> None:
    for part, writer in shared[0]["parts"].items():
        for other in shared[1:]:
            tensors = other["parts"][part]
            assert not [name for name, value in tensors.items() if not torch.equal(value, writer[name])], part


def test_half_of_the_processes_train_one_network_and_half_the_other(shared: list[dict]) -> None:
    half = len(shared) // 2
    assert [own["apart"] for own in shared] == [
        {"processes": [half, half], "trained": [rank // half]} for rank in range(len(shared))
    ]


def test_every_process_does_its_share_and_the_first_one_the_mixtures(by_one: dict, shared: list[dict]) -> None:
    whole, count = by_one["done"], len(shared)
    for rank, own in enumerate(shared):
        done = own["done"]
        assert done["_search_cpu"] == -(-38 // count), "images whose neighbours are searched"
        assert done["to_layout"] == pytest.approx(whole["to_layout"] / count, rel=0.05), "images that a network sees"
        assert done.get("divide", 0) == (0 if rank else whole["divide"]), "mixtures"


def test_the_features_of_a_still_encoder_are_worked_out_in_shares(shared: list[dict]) -> None:
    """38 images, 8 of each process in a turn; the last turn is of 6 images, 3 or 2 of each process."""
    each = {2: 8 + 8 + 3, 4: 8 + 2}[len(shared)]
    assert [own["looked at"] for own in shared] == [each] * len(shared)


def test_a_run_goes_on_with_more_processes_than_began_it(alone: Found, shared: list[dict]) -> None:
    """One began what two ended, two began what four ended."""
    assert not [too_far(own["resumed"], alone["teams"]) for own in shared if too_far(own["resumed"], alone["teams"])]


@pytest.mark.parametrize("count", [2, 4])
def test_a_run_goes_on_with_one_process(alone: Found, folder: Path, count: int) -> None:
    assert not too_far(shared_parts.go_on(folder / f"begun by {count}"), alone["teams"])


def test_images_come_in_one_order_however_much_memory_each_process_has(shared: list[dict]) -> None:
    order = shared[0]["order"]
    assert sorted(order) == list(range(1000))
    assert [own["order"] == order for own in shared] == [True] * len(shared)
    together = int(1e6 / len(shared) * BUFFER_SHARE) // (4 * 3 * 16 * 16) * 4
    assert len({row // 4 for row in order[:together]}) == together // 4, "a buffer that the smallest memory holds"


def test_what_one_process_finds_wrong_is_said_in_all_of_them(shared: list[dict]) -> None:
    count = len(shared)
    other = [f"process 2 of {count} has other data (set 1) than process 0 (set 0); give all of them the same"]
    for own in shared:
        assert own["messages"] == [
            "the writer found a mistake",
            "the writer found a mistake",
            *(other if count > 2 else []),
            f"a batch of 1 images cannot be shared by {count} processes; start fewer",
        ]
