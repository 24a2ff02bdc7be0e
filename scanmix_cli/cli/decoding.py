"""A progress bar for decoding, on a terminal only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress


@contextmanager
def decoding_progress() -> Iterator[Callable[[int, int], None] | None]:
    """What `load_pixels` takes as `on_progress`; None where standard error is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("reading images")
        yield lambda done, total: progress.update(task, completed=done, total=total)
