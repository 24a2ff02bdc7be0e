"""What a person sees while a run goes on: a rich progress line on a terminal, plain lines elsewhere, or nothing."""

import time
from pathlib import Path
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from scanmix_cli.legible import legible

HEADLINES = ("loss", "loss_x", "noise_estimate", "test_accuracy")  # what a person wants to see; log.txt has all
PLAIN_SECONDS = 5.0  # plain lines come at most this often within a stage


class Screen(Console):
    """Standard error. Where whoever read it is gone, the run goes on unseen: Rich would end it."""

    def __init__(self) -> None:
        super().__init__(stderr=True)

    def on_broken_pipe(self) -> None:
        self.quiet = True


class Reporter(Protocol):
    """Told of images read, of every stage and every finished epoch of it, and of what a person should read."""

    def decoding(self, done: int, total: int) -> None: ...

    def stage(self, name: str, total: int) -> None: ...

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None: ...

    def message(self, text: str) -> None: ...

    def close(self) -> None: ...


def describe(values: dict[str, float]) -> str:
    """`loss 1.234 · noise 0.21`: the values of an epoch in a line."""
    return " · ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in values.items())


def headlines(values: dict[str, float]) -> str:
    """`describe` of the few values that fit a line."""
    return describe({name: values[name] for name in HEADLINES if name in values})


class Silent:
    """Says nothing."""

    def decoding(self, done: int, total: int) -> None: ...

    def stage(self, name: str, total: int) -> None: ...

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None: ...

    def message(self, text: str) -> None: ...

    def close(self) -> None: ...


class Plain(Silent):
    """Lines of text, for logs and pipes: headlines at most every few seconds, or all of every epoch when verbose."""

    def __init__(self, console: Console, verbose: bool = False) -> None:
        self.console, self.verbose, self.last = console, verbose, 0.0

    def decoding(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last >= PLAIN_SECONDS:
            if self.last:
                self.message(f"reading images {done}/{total}")
            self.last = now

    def stage(self, name: str, total: int) -> None:
        self.last = 0.0

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
        now = time.monotonic()
        if finished < total and now - self.last < PLAIN_SECONDS and not self.verbose:
            return
        self.last = now
        told = describe(values) if self.verbose else headlines(values)
        self.message(" · ".join(filter(None, (f"{name} {finished}/{total}", told))))

    def message(self, text: str) -> None:
        self.console.print(legible(text), highlight=False, markup=False, soft_wrap=True)


class Live:
    """A progress bar a stage: epoch, values, time left."""

    def __init__(self, console: Console) -> None:
        self.progress = Progress(
            TextColumn("{task.description}", table_column=Column(min_width=9, no_wrap=True)),
            BarColumn(bar_width=10, table_column=Column(min_width=10)),
            MofNCompleteColumn(table_column=Column(min_width=7, no_wrap=True)),
            TimeRemainingColumn(compact=True, table_column=Column(min_width=5, no_wrap=True)),
            TextColumn("{task.fields[values]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            console=console,
            expand=True,
        )
        self.task: TaskID | None = None
        self.reading: TaskID | None = None

    def decoding(self, done: int, total: int) -> None:
        self.progress.start()
        if self.reading is None:
            self.reading = self.progress.add_task("images", total=total, values="reading")
        self.progress.update(self.reading, completed=done, total=total)

    def stage(self, name: str, total: int) -> None:
        self.progress.start()
        self.task = self.progress.add_task(name, total=total, values="")

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
        if self.task is not None:
            self.progress.update(self.task, completed=finished, total=total, values=headlines(values))

    def message(self, text: str) -> None:
        self.progress.console.print(legible(text), highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        self.progress.stop()


class Logged:
    """Passes everything on and writes the plain form, with times, to `log.txt`; what comes before `open` waits."""

    def __init__(self, inner: Reporter) -> None:
        self.inner = inner
        self.file: TextIO | None = None
        self.waiting = ""  # lines of the time before there was a file

    def open(self, path: Path) -> None:
        """Write to the end of this file from now on."""
        self.file = path.open("a", encoding="utf-8", errors="backslashreplace")
        self.file.write(self.waiting)
        self.file.flush()

    def decoding(self, done: int, total: int) -> None:
        self.inner.decoding(done, total)

    def stage(self, name: str, total: int) -> None:
        self._write(f"{name} starts, {total} epochs")
        self.inner.stage(name, total)

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
        self._write(f"{name} {finished}/{total} · {describe(values)}")
        self.inner.epoch(name, finished, total, values)

    def message(self, text: str) -> None:
        self._write(text)
        self.inner.message(text)

    def note(self, text: str) -> None:
        """Write lines that the terminal gets in another way."""
        for line in text.splitlines():
            self._write(line)

    def close(self) -> None:
        self.inner.close()
        if self.file is not None:
            self.file.close()

    def _write(self, text: str) -> None:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {legible(text)}\n"
        if self.file is None:
            self.waiting += line
        else:
            self.file.write(line)
            self.file.flush()


def make_reporter(quiet: bool, verbose: bool = False) -> Reporter:
    """On stderr: a live bar on a terminal, plain lines elsewhere, a line for every epoch when verbose, or nothing."""
    if quiet:
        return Silent()
    console = Screen()
    if verbose:
        return Plain(console, verbose=True)
    return Live(console) if console.is_terminal else Plain(console)
