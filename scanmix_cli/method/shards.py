"""Pixels that only a disk has room for: shards of neighbouring images are read whole and mixed in a buffer.

Reading single images in random order from a file that the memory cannot hold waits for the disk at every image. The
order here is random among the shards that are in memory together, and so are these among all (the shuffle buffer of
sharded formats, without a format of its own: a shard is a stretch of the pixel cache).
"""

import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

SHARD_BYTES = 8 << 20  # read at once: long enough for a disk that has to seek
BUFFER_SHARE = 0.25  # of the memory; as much again is read ahead


class Shards:
    """Shards of the images of a file: `image_bytes` each, from `offset` on; `buffer` images are mixed at a time."""

    def __init__(self, path: Path, offset: int, image_bytes: int, buffer: int) -> None:
        self.path, self.offset, self.image_bytes = path, offset, image_bytes
        self.images = max(SHARD_BYTES // image_bytes, 1)  # of a shard
        self.together = max(buffer // self.images, 1)  # shards of a buffer

    def order(self, places: Tensor, generator: torch.Generator) -> Tensor:
        """int64 (n,): a random order of the images at `places`, int64 (n,), a buffer of shards after another."""
        shard = places // self.images
        device = generator.device
        rank = torch.randperm(int(shard.max()) + 1, generator=generator, device=device).cpu()
        within = torch.rand(len(places), generator=generator, device=device, dtype=torch.float64).cpu()
        return (rank[shard] // self.together + within).argsort()

    def reader(self, places: Tensor) -> "Reader":
        """What reads ahead while the images at `places`, int64 (n,), are asked for one after another."""
        return Reader(self, places)


class Reader:
    """Tells the system which shards will be asked for; those that an order only touches now and then are left out."""

    def __init__(self, shards: Shards, places: Tensor) -> None:
        self.shards, self.ahead = shards, shards.together * shards.images
        shard = (places // shards.images).numpy()
        numbers, first = np.unique(shard, return_index=True)
        last = len(shard) - 1 - np.unique(shard[::-1], return_index=True)[1]
        order = np.argsort(first)
        order = order[(last - first)[order] <= 2 * self.ahead]
        self.numbers, self.first, self.told = numbers[order].tolist(), first[order].tolist(), 0

    def read_to(self, position: int) -> None:
        """Have all shards on their way that begin within a buffer after this place in the order."""
        begun = self.told
        while self.told < len(self.numbers) and self.first[self.told] <= position + self.ahead:
            self.told += 1
        if self.told == begun or not hasattr(os, "posix_fadvise"):  # not on macOS and Windows
            return
        length = self.shards.images * self.shards.image_bytes
        with self.shards.path.open("rb") as file:
            for number in self.numbers[begun : self.told]:
                start = self.shards.offset + number * length
                os.posix_fadvise(file.fileno(), start, length, os.POSIX_FADV_WILLNEED)


def shards_of(images: np.ndarray, memory: float) -> Shards | None:
    """Shards of mapped images (N, 3, H, W) that are too many for `memory`, bytes; None where there is no need."""
    if not isinstance(images, np.memmap) or images.nbytes <= 2 * BUFFER_SHARE * memory:
        return None
    image_bytes = images.nbytes // len(images)
    return Shards(Path(str(images.filename)), images.offset, image_bytes, int(BUFFER_SHARE * memory) // image_bytes)


def host_memory() -> float:
    """Bytes of memory that this machine has, or that the container leaves to it."""
    found = [float("inf")]
    if hasattr(os, "sysconf"):  # not on Windows
        found.append(float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES"))
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = Path(limit).read_text().strip() if Path(limit).exists() else ""
        found += [float(text)] if text.isdigit() else []
    return min(found)
