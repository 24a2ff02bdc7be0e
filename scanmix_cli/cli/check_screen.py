"""How `scanmix check` shows what it found."""

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scanmix_cli.data.overview import ClassCount, Copies, Overview, Spread
from scanmix_cli.data.wording import counted
from scanmix_cli.report.terminal import printable

BAR_WIDTH = 30
ALL_CLASSES = 40  # up to so many classes all are shown, else the largest and the smallest
SOME_CLASSES = 15


def show(found: Overview) -> None:
    """Print on standard output: counts, classes, sizes, bad files, copies, warnings."""
    console = Console(highlight=False)
    for line in _head(found):
        _print(console, line)
    console.print(_classes(found.classes, console))
    for line in [*_sizes(found.width, found.height), *_bad(found.bad_files), *_copies(found.copies)]:
        _print(console, line)
    for warning in found.warnings:
        _print(console, f"warning: {warning}", "yellow")


def _print(console: Console, line: str, style: str = "") -> None:
    console.print(Text(printable(line, console.encoding), style=style), soft_wrap=True)


def _head(found: Overview) -> list[str]:
    splits = ", ".join(f"{name} {count}" for name, count in found.splits.items())
    lines = [
        f"{found.name}: {counted(found.rows, 'image')} ({splits}), {found.readable} readable, "
        f"{len(found.classes)} classes",
    ]
    if found.unlabelled:
        lines.append(f"unlabelled: {found.unlabelled}")
    if found.ignored:
        lines.append(f"ignored, since no image of a class: {found.ignored}")
    return lines


def _classes(classes: tuple[ClassCount, ...], console: Console) -> Table:
    """One line a class: name, training images with a bar, held-out images."""
    held_out = any(count.held_out for count in classes)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("class", overflow="fold")
    table.add_column("train", justify="right", no_wrap=True)
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
        table.add_row(name, str(count.train), bar, *([str(count.held_out)] if held_out else []))
    return table


def _shown(classes: tuple[ClassCount, ...]) -> list[ClassCount | None]:
    """All in class order, or the largest, None for a gap, and the smallest."""
    if len(classes) <= ALL_CLASSES:
        return list(classes)
    ranked = sorted(classes, key=lambda count: -count.train)
    return [*ranked[:SOME_CLASSES], None, *ranked[-SOME_CLASSES:]]


def _sizes(width: Spread | None, height: Spread | None) -> list[str]:
    if width is None or height is None:
        return []
    return [
        f"width {width.min} to {width.max} pixels, median {width.median}; "
        f"height {height.min} to {height.max}, median {height.median}"
    ]


def _bad(codes: dict[str, int]) -> list[str]:
    if not codes:
        return ["unreadable files: none"]
    by_code = ", ".join(f"{code} {count}" for code, count in codes.items())
    return [f"unreadable files: {sum(codes.values())} ({by_code}); --out bad_files.csv names them"]


def _copies(copies: Copies) -> list[str]:
    if not copies.sets:
        return ["exact copies: none"]
    lines = [
        f"exact copies: {counted(copies.images, 'image')} in {counted(copies.sets, 'set')}",
        f"  sets with more than one label: {copies.conflicts}",
        f"  held-out images that are in the training part too: {copies.leaks}",
    ]
    return lines + [f"  {' = '.join(names)}" for names in copies.examples]
