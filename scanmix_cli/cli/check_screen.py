"""How `scanmix check` shows what it found."""

import textwrap
from collections.abc import Iterator
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scanmix_cli.cli.screen import screen
from scanmix_cli.data.copies import Copies
from scanmix_cli.data.overview import ClassCount, Overview, Spread
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.wording import counted, printable
from scanmix_cli.report.terminal import is_wide

BAR_WIDTH = 30
ALL_CLASSES = 40  # up to so many classes all are shown, else the largest and the smallest
SOME_CLASSES = 15
_KINDS = 8  # of formats and of ignored files the commonest so many are named
_INDENT = 12  # values stand below each other behind their names


def show(found: Overview, plan: dict[str, Any] | None) -> None:
    """Print on standard output: counts, classes, sizes, bad files, copies, warnings, what `train` would do."""
    console = screen()
    for name, value in _head(found):
        _print(console, name, value)
    console.print(_classes(found.classes, console))
    for name, value in _facts(found):
        _print(console, name, value)
    for name, copies in (("copies", found.copies), ("near copies", found.near_copies)):
        for part, value in _copies(name, copies):
            _print(console, part, value, "yellow" if copies.conflicts or copies.leaks else "")
    if found.ignored:
        kinds = _kinds(found.ignored)
        _print(console, "ignored", f"{sum(found.ignored.values())}, since no images of a class: {kinds}")
    for warning in found.warnings:
        _print(console, "warning", warning, "yellow")
    if plan is not None:
        _print(console, "train", plan["description"])


def _print(console: Console, name: str, value: str, style: str = "") -> None:
    """One fact, its name in front; on a terminal long ones are broken between words."""
    lines = [printable(value, console.encoding)]
    if console.is_terminal:
        width = max(console.width - _INDENT, 20)
        lines = textwrap.wrap(lines[0], width, break_on_hyphens=False, break_long_words=False)
    text = f"\n{'':{_INDENT}}".join(lines)
    console.print(Text(f"{name:{_INDENT}}{text}", style=style), soft_wrap=True)


def _head(found: Overview) -> Iterator[tuple[str, str]]:
    splits = ", ".join(f"{name} {count}" for name, count in sorted(found.splits.items(), key=_train_first))
    bad = found.rows - found.readable
    readable = f"{bad} unreadable" if bad else "all readable"
    yield "data", f"{found.name}: {counted(found.rows, 'image')} in {len(found.classes)} classes, {readable}"
    yield "splits", splits
    if found.unlabelled:
        yield "unlabelled", f"{counted(found.unlabelled, 'image')}: no label needed, each gets a prediction"


def _train_first(split: tuple[str, int]) -> tuple[bool, str]:
    return split[0] != TRAIN, split[0]


def _classes(classes: tuple[ClassCount, ...], console: Console) -> Table:
    """One line a class: name, readable training images with a bar where there is room for it, held-out images."""
    held_out, wide = any(count.held_out for count in classes), is_wide(console)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("class", overflow="fold")
    table.add_column("train", justify="right", no_wrap=True)
    if wide:
        table.add_column("", no_wrap=True)
    if held_out:
        table.add_column("held out", justify="right", no_wrap=True)
    most = max((count.train for count in classes), default=0)
    mark = "█" if console.encoding.lower().startswith("utf") else "#"
    for count in _shown(classes):
        if count is None:
            table.add_row(f"({len(classes) - 2 * SOME_CLASSES} more)")
            continue
        bar = mark * -(-BAR_WIDTH * count.train // max(1, most))
        name = Text(printable(count.name, console.encoding))
        held = str(count.held_out) if held_out else ""
        table.add_row(name, str(count.train), *([bar] if wide else []), *([held] if held_out else []))
    return table


def _shown(classes: tuple[ClassCount, ...]) -> list[ClassCount | None]:
    """All in class order, or the largest, None for a gap, and the smallest."""
    if len(classes) <= ALL_CLASSES:
        return list(classes)
    ranked = sorted(classes, key=lambda count: -count.train)
    return [*ranked[:SOME_CLASSES], None, *ranked[-SOME_CLASSES:]]


def _facts(found: Overview) -> Iterator[tuple[str, str]]:
    """What is said below the classes: name and value."""
    if found.width is not None and found.height is not None:
        yield "sizes", f"width {_range(found.width)}, height {_range(found.height)} pixels"
        yield "formats", _kinds(found.formats)
    if found.bad_files:
        yield "unreadable", f"{counted(sum(found.bad_files.values()), 'file')}; --out bad_files.csv names them all"
        for file in found.bad_examples:
            name = file.filename or "(blank)"
            yield "", f"{file.error_code} {found.bad_files[file.error_code]}, such as {name}: {file.message}"


def _range(spread: Spread) -> str:
    if spread.min == spread.max:
        return str(spread.min)
    return f"{spread.min} to {spread.max} (median {spread.median})"


def _kinds(counts: dict[str, int]) -> str:
    named = [f"{name} {count}" for name, count in list(counts.items())[:_KINDS]]
    rest = sum(list(counts.values())[_KINDS:])
    return ", ".join([*named, f"others {rest}"] if rest else named)


def _copies(name: str, copies: Copies) -> Iterator[tuple[str, str]]:
    """How many, and examples: those with more than one label if there are any."""
    if not copies.sets:
        yield name, "none"
        return
    parts = [f"{counted(copies.images, 'image')} in {counted(copies.sets, 'set')}"]
    if copies.conflicts:
        parts.append(f"{counted(copies.conflicts, 'set')} with more than one label")
    if copies.leaks:
        parts.append(f"{counted(copies.leaks, 'held-out image')} also in the training part")
    yield name, "; ".join(parts)
    for names in copies.examples:
        yield "", " = ".join(names)
