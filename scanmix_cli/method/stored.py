"""Pixels that stay in host memory or in a file, where a device has no room for them; batches come over in time."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from scanmix_cli.method.shards import Shards

AHEAD = 3  # batches that are gathered while the device works on an earlier one


class StoredPixels:
    """uint8 (N, 3, H, W): the rows `places`, int64 (N,) on the host, of `source`, usually a file mapped into memory.

    Indexed by rows on the device it gives pixels on the device, as a tensor would. With `shards` the file is larger
    than the memory, and `order` keeps what lies together together.
    """

    def __init__(self, source: Tensor, places: Tensor, device: torch.device, shards: Shards | None = None) -> None:
        self.source, self.places, self.device, self.shards = source, places, device, shards
        self._copies = torch.cuda.Stream(device) if device.type == "cuda" else None

    def __len__(self) -> int:
        return len(self.places)

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self.places), *self.source.shape[1:]))

    def __getitem__(self, rows: Tensor) -> Tensor:
        return self.source[self.places[rows.cpu()]].to(self.device)

    def subset(self, rows: Tensor) -> "StoredPixels":
        """The rows int64 (n,) of these, still where they are."""
        return StoredPixels(self.source, self.places[rows.cpu()], self.device, self.shards)

    def order(self, rows: Tensor, generator: torch.Generator) -> Tensor | None:
        """int64 (n,) on the device: an order of the `rows`, int64 (n,), to read them in; None where any will do."""
        if self.shards is None or not len(rows):
            return None
        return self.shards.order(self.places[rows.cpu()], generator).to(rows.device)

    def batches(self, rows: Tensor, size: int) -> Iterator[Tensor]:
        """Pixels of `size` of the `rows`, int64 (n,), after another; each is good until the next one is asked for.

        A thread gathers them into buffers that the device can copy from by itself; it asks nothing of the device, which
        may be recording a step meanwhile.
        """
        places = self.places[rows.cpu()]
        wanted = places.split(size)
        reader = self.shards.reader(places) if self.shards is not None else None

        def gather(number: int, buffer: Tensor) -> Tensor:
            if reader is not None:
                reader.read_to(number * size)
            return torch.index_select(self.source, 0, wanted[number], out=buffer[: len(wanted[number])])

        with ThreadPoolExecutor(1) as gatherer:
            coming = deque(
                (buffer, gatherer.submit(gather, number, buffer))
                for number, buffer in ((number, self._buffer(size)) for number in range(min(AHEAD, len(wanted))))
            )
            for number in range(len(wanted)):
                buffer, gathered = coming.popleft()
                yield self._arrived(gathered.result())
                if number + AHEAD < len(wanted):
                    if self._copies is not None:
                        self._copies.synchronize()  # the copy out of the buffer, not the work on the device
                    coming.append((buffer, gatherer.submit(gather, number + AHEAD, buffer)))

    def _buffer(self, size: int) -> Tensor:
        shape = (size, *self.source.shape[1:])
        with torch.inference_mode(False):  # another thread writes to it
            return torch.empty(shape, dtype=self.source.dtype, pin_memory=self._copies is not None)

    def _arrived(self, batch: Tensor) -> Tensor:
        if self._copies is None:
            return batch.to(self.device)
        with torch.cuda.stream(self._copies):
            arrived = batch.to(self.device, non_blocking=True)
        now = torch.cuda.current_stream(self.device)
        now.wait_stream(self._copies)
        arrived.record_stream(now)
        return arrived
