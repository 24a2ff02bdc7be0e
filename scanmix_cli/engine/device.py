"""Where to compute and how precisely."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from scanmix_cli.errors import SettingsError

PRECISIONS = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}
LOSS_SCALE = 1024.0  # fp16 only: keeps gradients above its smallest number, 6e-8


@dataclass(frozen=True)
class Compute:
    """A device and the precision of the networks' forward passes; losses are always fp32."""

    device: torch.device
    precision: str

    @property
    def accelerated(self) -> bool:
        return self.device.type != "cpu"

    @property
    def is_slow(self) -> bool:
        """Whether another precision is many times faster: CPUs have no arithmetic for fp16."""
        return self.precision == "fp16" and not self.accelerated

    def autocast(self) -> contextlib.AbstractContextManager:
        """Surrounds a forward pass; does nothing in fp32."""
        dtype = PRECISIONS[self.precision]
        if dtype is None:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=dtype)

    def backward(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Gradients of `loss` for what `optimizer` trains; in fp16 scaled on their way through the network."""
        if self.precision != "fp16":
            loss.backward()
            return
        (loss * LOSS_SCALE).backward()
        trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        torch._foreach_div_([parameter.grad for parameter in trained if parameter.grad is not None], LOSS_SCALE)


def choose_compute(device: str = "auto", precision: str = "auto") -> Compute:
    """Resolve `--device` and `--precision`; raises SettingsError when the device is not there."""
    chosen = _device(device)
    if precision not in (*PRECISIONS, "auto"):
        raise SettingsError(f"unknown precision {precision!r}; choose one of auto, {', '.join(PRECISIONS)}")
    if precision == "auto":
        capable = chosen.type == "cuda" and torch.cuda.is_bf16_supported()
        precision = "bf16" if capable else "fp32"
    if chosen.type == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")
    return Compute(chosen, precision)


def _device(name: str) -> torch.device:
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise SettingsError(f"unknown device {name!r}; choose one of auto, cpu, cuda, cuda:N, mps") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise SettingsError(f"device {name!r} was asked for but no CUDA GPU is usable here; use --device cpu or auto")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise SettingsError("device 'mps' was asked for but is not usable here; use --device cpu or auto")
    if device.type == "cuda" and device.index is not None and device.index >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise SettingsError(f"device {name!r} was asked for but there are only {count} GPUs; use cuda:0..{count - 1}")
    return device


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Build modules from `seed` without touching anyone else's global random state."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
