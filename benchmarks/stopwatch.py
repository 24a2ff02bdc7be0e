"""What `speed.py` and `growth.py` measure with: clocks around epochs and calls, on random smooth pictures."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch.nn import functional as F

from scanmix_cli.engine.checkpoints import Stateful
from scanmix_cli.engine.context import Context, Epoch
from scanmix_cli.engine.device import Compute, choose_compute
from scanmix_cli.method.images import ImageSet
from scanmix_cli.profiles.official import CIFAR10

CLASSES = 10
IMAGES, TOY_IMAGES = 50_000, 192


class Stopwatch(Context):
    """A context whose stages train for `limit` seconds after a first epoch, and which notes the seconds an epoch."""

    def __init__(self, compute: Compute, limit: float) -> None:
        super().__init__(compute, seed=0)
        self.limit, self.epoch_seconds = limit, 0.0

    def epochs(self, stage: str, planned: int, **stateful: Stateful) -> Iterator[Epoch]:
        """Stages read their loss back at the end of an epoch, so that the clock sees finished work."""
        seconds: list[float] = []
        yield Epoch(0, planned, planned)  # records graphs, compiles
        while sum(seconds) < self.limit or not seconds:
            began = time.perf_counter()
            yield Epoch(0, planned, planned)
            seconds.append(time.perf_counter() - began)
        self.epoch_seconds = statistics.median(seconds)


class Bench:
    """Data, sizes and device of all sections."""

    def __init__(self, device_name: str, toy: bool, seconds: float, workers: int, count: int = IMAGES) -> None:
        self.compute = choose_compute(device_name)
        self.toy, self.seconds, self.workers = toy, seconds, workers
        self.count = TOY_IMAGES if toy and count == IMAGES else count
        self.profile = replace(CIFAR10, backbone="small") if toy else CIFAR10
        device = self.compute.device
        self.everything = torch.arange(self.count, device=device)
        pixels = smooth_pictures(self.count, device)
        self.images = ImageSet(pixels, self.everything % CLASSES, CLASSES, 32, CIFAR10.mean, CIFAR10.std)
        generator = torch.Generator(device).manual_seed(1)
        self.neighbors = torch.randint(self.count, (self.count, 21), device=device, generator=generator)

    def batches(self, *sizes: int) -> tuple[int, ...]:
        """The batch sizes to measure; one small one where this is a try-out."""
        return (16,) if self.toy else sizes

    def context(self) -> Stopwatch:
        return Stopwatch(self.compute, self.seconds)

    def sync(self) -> None:
        if self.compute.device.type == "cuda":
            torch.cuda.synchronize()

    def time(self, function: Callable[[], object]) -> float:
        """Seconds of a call, median over the calls of `seconds`; the first call is not counted."""
        seconds: list[float] = []
        function()
        while sum(seconds) < self.seconds or not seconds:
            self.sync()
            began = time.perf_counter()
            function()
            self.sync()
            seconds.append(time.perf_counter() - began)
        return statistics.median(seconds)


def smooth_pictures(count: int, device: torch.device, side: int = 32) -> torch.Tensor:
    """uint8 (count, 3, side, side): views of one picture resemble each other, so that losses have gradients."""
    generator = torch.Generator(device).manual_seed(0)
    parts = []
    for start in range(0, count, 5000):
        size = min(5000, count - start)
        coarse = torch.rand(size, 3, 5, 5, generator=generator, device=device)
        noise = torch.randn(size, 3, side, side, generator=generator, device=device)
        parts.append(((F.interpolate(coarse, size=side, mode="bicubic") + 0.1 * noise) * 255).clamp(0, 255).byte())
    return torch.cat(parts)
