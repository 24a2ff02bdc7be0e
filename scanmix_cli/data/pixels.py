"""Decoded pixels of a Samples table, at training resolution."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from scanmix_cli.data.cache import CacheWriter, Entry, Place, find_earlier, load_entry, remove_outdated
from scanmix_cli.data.decode import VALID
from scanmix_cli.data.decode_many import Decoder
from scanmix_cli.data.identity import file_states
from scanmix_cli.data.records import Records
from scanmix_cli.data.samples import Samples
from scanmix_cli.data.wording import counted, shown
from scanmix_cli.errors import RunError
from scanmix_cli.files import shortage

SCAN_SIZE = 32  # enough to find damage, exact copies and the images' own sizes; `check` and `train` share the cache
SKIP, USE = "skip", "use"
TRUNCATED = (SKIP, USE)  # what may become of files cut short


@dataclass(frozen=True)
class Pixels:
    """Readable images and what became of every row.

    `images` uint8 (readable, 3, size, size); `rows` int64 (readable,) the row of each image in the Samples table,
    ascending; `error_codes` and `messages` text (rows of the table,), "VALID" and "" where readable.
    `warnings` says what the image libraries complained about and how often; `kinds` counts the readable images of each
    file format and pixel mode; `prints` uint8 (readable, prints.LENGTH) tells copies, None where nobody made them.
    """

    images: np.ndarray
    rows: np.ndarray
    error_codes: np.ndarray
    messages: np.ndarray
    source_sizes: np.ndarray  # int32 (rows of the table, 2): original width and height, 0 where unreadable
    warnings: tuple[str, ...] = ()
    kinds: dict[str, int] = field(default_factory=dict)
    prints: np.ndarray | None = None


def let_go(images: np.ndarray) -> None:
    """Take the pages of images mapped from a cache file out of this process's memory; whoever reads them has them back.

    They may stay in the system's. Images that lie in no file are left alone.
    """
    source: object = images
    while isinstance(source, np.ndarray):
        source = source.base
    can_tell = hasattr(mmap, "MADV_DONTNEED")  # not on Windows
    if isinstance(source, mmap.mmap) and not images.flags.writeable and can_tell:
        source.madvise(mmap.MADV_DONTNEED)


def load_pixels(
    samples: Samples,
    size: int,
    *,
    workers: int,
    cache_dir: Path | None,
    on_progress: Callable[[int, int], None] | None = None,
    truncated: str = SKIP,
    rescan: bool = False,
) -> Pixels:
    """Decode every row at `size`; files that an earlier call left in `cache_dir` are decoded again only if changed, and
    a call that was stopped is gone on with.

    A file that cannot be read costs its own row only. `on_progress` is called with rows done and rows in all.
    `truncated` says what becomes of files cut short: "skip" makes bad rows of them, "use" takes what is there of the
    picture. `rescan` decodes every file, changed or not. Raises RunError where the cache cannot be written to its end,
    and where the machine is too short of files, processes or memory to read on.
    """
    paths = list(samples.table["path"])
    decoder = Decoder(paths, size, workers, truncated == USE, on_progress)
    if cache_dir is None:
        return _in_memory(decoder)
    place = Place(cache_dir, size, truncated, file_states(paths))
    entry = None if rescan else load_entry(place.folder)
    if entry is None:
        try:
            writer = CacheWriter(place, fresh=rescan)
        except OSError:  # a home that cannot be written to is no reason not to train
            return _in_memory(decoder)
        try:
            made = _fill(writer, decoder, place, rescan)
        except OSError as error:
            if told := shortage(error):
                raise RunError(f"the pixel cache in {cache_dir} cannot be written: {told}") from None
            raise RunError(
                f"the pixel cache in {cache_dir} cannot be written ({error.strerror}); "
                f"make room or set XDG_CACHE_HOME to a folder on another disk"
            ) from None
        if isinstance(made, Records):
            return _pixels(np.empty((0, 3, size, size), np.uint8), made)
        entry = made
    return _pixels(entry.images, entry.records)


def require_same_rows(samples: Samples, before: np.ndarray, now: np.ndarray) -> None:
    """RunError where a second look finds other rows, int64 (n,), of the table readable than the first did."""
    changed = np.setxor1d(before, now)
    if len(changed):
        name, verb = shown(samples.table["filename"].iloc[changed[0]]), "has" if len(changed) == 1 else "have"
        raise RunError(
            f"{counted(len(changed), 'image file')} {verb} vanished or changed while pixels were read, such as {name}; "
            "put them back and run the command again"
        )


def _fill(writer: CacheWriter, decoder: Decoder, place: Place, rescan: bool) -> Entry | Records:
    """The new entry, or the records alone where no file can be read, which is not kept."""
    with writer:
        earlier = None if rescan else find_earlier(place)
        records = replace(decoder, earlier=earlier, begun=writer.records).run(writer.append, writer.note)
        if len(records.bad) == len(records):
            return records
        writer.finish(records, replace=rescan)
    remove_outdated(place)
    entry = load_entry(place.folder)
    if entry is None:
        raise RunError(f"the pixel cache in {place.cache_dir} cannot be read back; set XDG_CACHE_HOME elsewhere")
    return entry


def _pixels(images: np.ndarray, records: Records) -> Pixels:
    codes = np.full(len(records), VALID, dtype=object)
    messages = np.full(len(records), "", dtype=object)
    for row, (code, message) in records.bad.items():
        codes[row], messages[row] = code, message
    warned = tuple(
        f"{text} ({times} {'time' if times == 1 else 'times'})" for text, times in records.complaints().items()
    )
    rows = np.flatnonzero(records.is_readable()).astype(np.int64)
    prints = records.prints if len(rows) == len(records) else records.prints[rows]
    return Pixels(images, rows, codes, messages, records.source_sizes, warned, records.kind_counts(), prints)


def _in_memory(decoder: Decoder) -> Pixels:
    images = np.empty((len(decoder.paths), 3, decoder.size, decoder.size), np.uint8)
    slots = iter(images)
    records = decoder.run(lambda image: np.copyto(next(slots), image))
    return _pixels(images[: len(images) - len(records.bad)], records)
