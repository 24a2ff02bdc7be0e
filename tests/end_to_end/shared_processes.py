"""As a script: all of `shared_parts` in one process, and with what the processes of a run agree about in two and in
four.

What each of them found goes to FOLDER/<processes>/<rank>.pt.
"""

import multiprocessing
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from shared_parts import DONE, IMAGES, Asked, begin, everything, go_on, still_features
from torch import nn
from toy_runs import toy_context

from scanmix_cli.engine import parallel
from scanmix_cli.errors import ScanmixError, SettingsError
from scanmix_cli.method import shards
from scanmix_cli.method.teams import each_apart
from scanmix_cli.workflow import sets


def trained_apart() -> dict[str, list[int]]:
    """Which of two networks this process trains, and by how many processes each network is trained."""
    trained: list[int] = []

    def work(k: int) -> int:
        trained.append(k)
        return parallel.world()

    return {"processes": each_apart(work, [nn.Linear(1, 1), nn.Linear(1, 1)], toy_context()), "trained": trained}


def looked_at() -> int:
    """Images of which this process works out the features of a still encoder."""
    asked = Asked(np.zeros((38, 3, 32, 32), np.uint8))
    still_features(asked)
    return asked.count


def order_of_a_large_file() -> list[int]:
    """The order in which images come from a file, where the processes have less and less memory and only the first has
    room for it on its device."""
    memory, room = 1e6 / (1 + parallel.rank()), 0.0 if parallel.rank() else 1e9
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        np.save(Path(folder) / "images.npy", np.zeros((1000, 3, 16, 16), np.uint8))
        images = np.load(Path(folder) / "images.npy", mmap_mode="r")
        patch.setattr(shards, "SHARD_BYTES", 4 * images[0].nbytes)
        patch.setattr(sets, "host_memory", lambda: memory)
        patch.setattr(sets, "room_for_pixels", lambda device: room)
        pixels = sets.place_pixels(images, np.arange(1000), torch.device("cpu"))
        return replace(IMAGES, pixels=pixels).shuffled(torch.arange(1000), toy_context()).tolist()


def messages() -> list[str]:
    """The sentences with which a process leaves off, when it alone finds something wrong."""

    def wrong() -> None:
        raise SettingsError("the writer found a mistake")

    found = [
        sentence(lambda: parallel.from_writer(wrong)),
        sentence(lambda: parallel.writer_first(wrong)),
        sentence(lambda: parallel.require_same(f"set {parallel.rank() // 2}", "data")),
        sentence(lambda: parallel.divisible(1)),
    ]
    return [text for text in found if text]


def sentence(failing: Callable[[], object]) -> str:
    try:
        failing()
    except ScanmixError as error:
        return str(error)
    return ""


def work(rank: int, count: int, port: int, folder: Path) -> None:
    """One of `count` processes."""
    place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in place.items()})
    DONE.clear()  # of the process that has started this one
    with parallel.joined("cpu"):
        own = {"parts": everything(), "messages": messages(), "apart": trained_apart(), "looked at": looked_at()}
        own |= {"done": dict(DONE)}
        own |= {"order": order_of_a_large_file(), "resumed": go_on(folder.parent / f"begun by {count // 2}")}
        begin(folder.parent / f"begun by {count}")
        torch.save(own, folder / f"{rank}.pt")


def run_together(count: int, folder: Path) -> None:
    """Fork: what takes longest in a process, importing, is done already."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir()
    context = multiprocessing.get_context("fork")
    started = [context.Process(target=work, args=(rank, count, port, folder)) for rank in range(count)]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert not any(process.exitcode for process in started)


if __name__ == "__main__":
    torch.set_num_threads(1)
    (Path(sys.argv[1]) / "1").mkdir()
    torch.save({"parts": everything(), "done": dict(DONE)}, Path(sys.argv[1]) / "1" / "0.pt")
    begin(Path(sys.argv[1]) / "begun by 1")
    for processes in (2, 4):
        run_together(processes, Path(sys.argv[1]) / str(processes))
