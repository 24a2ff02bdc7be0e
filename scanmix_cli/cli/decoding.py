"""Progress while files are listed and images are read: a bar on a terminal, a plain line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

PLAIN_SECONDS = 5.0  # plain lines come at most this often
_DRAW_SECONDS = 0.1  # more often nobody sees


@contextmanager
def decoding_progress() -> Iterator[Callable[[int, int], None]]:
    """What `load_pixels` takes as `on_progress`; until its first call, "listing files" is shown."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("listing files", total=None)
        last = 0.0

        def show(done: int, total: int) -> None:
            nonlocal last
            if (now := time.monotonic()) - last >= _DRAW_SECONDS or done == total:
                last = now
                progress.update(task, description="reading images", completed=done, total=total)

        yield show


def _plain(console: Console) -> Callable[[int, int], None]:
    last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= PLAIN_SECONDS:
            last = now
            console.print(f"reading images {done}/{total}", highlight=False, soft_wrap=True)

    return show
