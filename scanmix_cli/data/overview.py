"""What a data set holds and what is wrong with it, in numbers."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scanmix_cli.data.audit import size_warnings
from scanmix_cli.data.copies import Copies, CopySets, copy_sets, find_copies
from scanmix_cli.data.decode import VALID
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import UNLABELLED, Samples
from scanmix_cli.data.wording import counted, quoted, shown


@dataclass(frozen=True)
class ClassCount:
    """Readable images of one class."""

    name: str
    train: int
    held_out: int


@dataclass(frozen=True)
class Spread:
    """Smallest, median and largest value, in pixels."""

    min: int
    median: int
    max: int


@dataclass(frozen=True)
class BadFile:
    """A row whose file cannot be read."""

    filename: str
    error_code: str
    message: str


@dataclass(frozen=True)
class Overview:
    """What `scanmix check` shows and, with `--json`, prints; counts are rows unless said otherwise."""

    name: str
    rows: int
    readable: int
    splits: dict[str, int]
    unlabelled: int
    classes: tuple[ClassCount, ...]
    width: Spread | None
    height: Spread | None
    formats: dict[str, int]  # readable images by file format and pixel mode
    bad_files: dict[str, int]
    bad_examples: tuple[BadFile, ...]  # the first row of each code
    copies: Copies
    near_copies: Copies
    ignored: dict[str, int]
    warnings: tuple[str, ...]


def overview(samples: Samples, pixels: Pixels, sets: CopySets | None = None) -> Overview:
    """Count everything once; `warnings` joins what reading and decoding had to say. `sets` are those of `pixels`."""
    readable = np.zeros(len(samples), bool)
    readable[pixels.rows] = True
    ids, train = samples.label_ids(), samples.is_train()
    count = len(samples.classes)
    in_train = np.bincount(ids[readable & train & (ids != UNLABELLED)], minlength=count)
    held_out = np.bincount(ids[readable & ~train & (ids != UNLABELLED)], minlength=count)
    sizes = pixels.source_sizes[pixels.rows]
    copies, near_copies = find_copies(samples, sets or copy_sets(pixels))
    bad = dict(sorted(Counter(code for code in pixels.error_codes if code != VALID).items()))
    return Overview(
        name=samples.name,
        rows=len(samples),
        readable=len(pixels.rows),
        splits=dict(Counter(samples.table["split"])),
        unlabelled=int((ids == UNLABELLED).sum()),
        classes=tuple(map(ClassCount, samples.classes, in_train.tolist(), held_out.tolist())),
        width=_spread(sizes[:, 0]),
        height=_spread(sizes[:, 1]),
        formats=pixels.kinds,
        bad_files=bad,
        bad_examples=tuple(_bad_examples(samples, pixels, tuple(bad))),
        copies=copies,
        near_copies=near_copies,
        ignored=samples.ignored,
        warnings=(
            *_without_readable(samples, in_train + held_out),
            *samples.warnings,
            *size_warnings(dict(zip(samples.classes, in_train.tolist(), strict=True))),
            *pixels.warnings,
        ),
    )


def before_training(found: Overview) -> list[str]:
    """What a person should know before time is spent: unreadable files, contradictions, the warnings."""
    bad = ", ".join(f"{code} {count}" for code, count in found.bad_files.items())
    unreadable = f"{found.rows - found.readable} of {counted(found.rows, 'file')} cannot be read ({bad})."
    return [*([unreadable] if bad else []), *_contradictions(found.copies, found.near_copies), *found.warnings]


def _spread(values: np.ndarray) -> Spread | None:
    if not len(values):
        return None
    return Spread(int(values.min()), int(np.median(values)), int(values.max()))


def _bad_examples(samples: Samples, pixels: Pixels, codes: tuple[str, ...]) -> Iterator[BadFile]:
    names = samples.table["filename"]
    for code in codes:
        row = int(np.flatnonzero(pixels.error_codes == code)[0])
        yield BadFile(names[row], code, pixels.messages[row])


def _without_readable(samples: Samples, counts: np.ndarray) -> list[str]:
    """Classes that have rows, but none that can be read."""
    has_rows = set(samples.table["given_label"])
    lost = [name for name, count in zip(samples.classes, counts, strict=True) if name in has_rows and not count]
    return [f"Classes of which no image can be read: {quoted(lost)}."] if lost else []


def _contradictions(copies: Copies, near_copies: Copies) -> list[str]:
    """What copies say about labels and about the accuracy that will be measured."""
    found = []
    for kind, some in (("copies", copies), ("near copies", near_copies)):
        if some.conflicts:
            found.append(
                f"{counted(some.conflicts, 'set')} of {kind} with more than one label, such as "
                f"{shown(' = '.join(some.examples[0]))}; look at them, since one label at most can be right."
            )
        if some.leaks:
            found.append(
                f"{counted(some.leaks, 'held-out image')} with {kind} in the training part; "
                f"the accuracy measured will be too good."
            )
    return found
