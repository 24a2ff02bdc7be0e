"""Batch norm, addition and ReLU in one call: the plain path, and statistics per group."""

import copy
import importlib.util

import pytest
import torch
from scanmix_cli.models import build_backbone
from scanmix_cli.models.norm_act import forward_groups, norm_relu, statistics_per_group, triton_works
from torch import nn
from torch.nn import functional as F


def values(seed: int, batch: int = 6) -> torch.Tensor:
    noise = torch.randn(batch, 8, 4, 4, generator=torch.Generator().manual_seed(seed))
    return noise.contiguous(memory_format=torch.channels_last)


def test_on_a_cpu_it_is_exactly_the_written_out_operations() -> None:
    x, other = values(0), values(1)
    norms = [nn.BatchNorm2d(8) for _ in range(2)]
    first, second = copy.deepcopy(norms)
    assert torch.equal(norm_relu(x, norms[0]), F.relu(first(x)))
    assert torch.equal(norm_relu(x, norms[0], other), F.relu(first(x) + other))
    assert torch.equal(norm_relu(x, norms[0], other, norms[1]), F.relu(first(x) + second(other)))
    assert norms[0].num_batches_tracked == 3
    assert torch.equal(norms[0].running_var, first.running_var)


@pytest.mark.parametrize("name", ["resnet18-cifar", "preact-resnet18-cifar"])
def test_statistics_per_group_make_one_pass_of_several(name: str) -> None:
    """Every norm of the backbones that say `norms_in_groups` must follow, or the whole batch would leak into it."""
    torch.manual_seed(0)
    net = build_backbone(name)
    twin = copy.deepcopy(net)
    x = torch.rand(6, 3, 8, 8) * torch.tensor([1.0, 1, 5, 5, 9, 9]).view(6, 1, 1, 1)
    with statistics_per_group(3):
        merged = net(x)
    torch.testing.assert_close(merged, forward_groups(twin, twin, x, 3), rtol=1e-4, atol=1e-5)
    for (key, one), other in zip(net.state_dict().items(), twin.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, msg=key)
    assert net.norms_in_groups
    assert not torch.allclose(merged, twin(x), rtol=1e-2), "statistics of the whole batch are different"


def test_groups_mean_nothing_in_evaluation_mode() -> None:
    x, norm = values(0), nn.BatchNorm2d(8).eval()
    with statistics_per_group(4):  # does not even divide the batch
        assert torch.equal(norm_relu(x, norm), F.relu(norm(x)))


def test_on_a_cpu_groups_are_separate_passes() -> None:
    seen = []

    def function(part: torch.Tensor) -> torch.Tensor:
        seen.append(len(part))
        return part * 2

    x = values(0)
    assert torch.equal(forward_groups(function, build_backbone("resnet18-cifar"), x, 3), x * 2)
    assert seen == [2, 2, 2]


def test_a_machine_that_cannot_compile_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no usable GPU, the trial itself fails; so it would without a C compiler."""
    if importlib.util.find_spec("triton") is None or torch.cuda.is_available():
        pytest.skip("needs triton and no GPU")
    triton_works.cache_clear()
    with pytest.warns(UserWarning, match="batch norm is not fused and slower"):
        assert not triton_works()
    assert not triton_works()
    triton_works.cache_clear()
