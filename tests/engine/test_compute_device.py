"""Choosing device and precision, and building networks from a seed."""

import pytest
import torch

from scanmix_cli.engine.device import choose_compute, seeded
from scanmix_cli.errors import SettingsError


def test_cpu_runs_in_full_precision_unless_told_otherwise() -> None:
    compute = choose_compute("cpu")
    assert (compute.device.type, compute.precision, compute.accelerated) == ("cpu", "fp32", False)
    product = torch.ones(2, 2)
    with compute.autocast():
        assert (product @ product).dtype == torch.float32
    with choose_compute("cpu", "bf16").autocast():
        assert (product @ product).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("device", "precision", "sentence"),
    [
        ("gpu", "auto", "unknown device 'gpu'; choose one of auto, cpu, cuda, cuda:N, mps"),
        ("cpu", "fp8", "unknown precision 'fp8'; choose one of auto, fp32, bf16, fp16"),
    ],
)
def test_unknown_names_list_the_known_ones(device: str, precision: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        choose_compute(device, precision)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(SettingsError, match=f"device '{device}' was asked for but .* use --device cpu or auto"):
        choose_compute(device)
    assert choose_compute("auto").device.type == "cpu"


def test_seeded_weights_do_not_touch_the_global_state() -> None:
    before = torch.get_rng_state()
    with seeded(4):
        first = torch.nn.Linear(3, 3).weight
    with seeded(4):
        again = torch.nn.Linear(3, 3).weight
    with seeded(5):
        other = torch.nn.Linear(3, 3).weight
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_small_gradients_survive_half_precision() -> None:
    weight = torch.nn.Parameter(torch.tensor([2.0]))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    gradients = {}
    for precision in ("fp32", "fp16"):
        optimizer.zero_grad()
        choose_compute("cpu", precision).backward(1e-8 * weight.half().float().sum(), optimizer)
        assert weight.grad is not None
        gradients[precision] = weight.grad.item()
    assert gradients["fp32"] == 0.0, "what happens without scaling: too small for half precision"
    assert gradients["fp16"] == pytest.approx(1e-8, rel=0.01)
