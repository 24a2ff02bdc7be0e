"""Decoded pixels of a Samples table, at training resolution."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scanmix_cli.data.cache import CacheWriter, cache_key, load_entry
from scanmix_cli.data.decode import VALID
from scanmix_cli.data.decode_many import Decoder, Outcome
from scanmix_cli.data.samples import Samples
from scanmix_cli.errors import RunError

SCAN_SIZE = 32  # enough to find damage, exact copies and the images' own sizes; `check` and `train` share the cache


@dataclass(frozen=True)
class Pixels:
    """Readable images and what became of every row.

    `images` uint8 (readable, 3, size, size); `rows` int64 (readable,) the row of each image in the Samples table,
    ascending; `error_codes` and `messages` text (rows of the table,), "VALID" and "" where readable.
    `warnings` says what the image libraries complained about and how often.
    """

    images: np.ndarray
    rows: np.ndarray
    error_codes: np.ndarray
    messages: np.ndarray
    source_sizes: np.ndarray  # int32 (rows of the table, 2): original width and height, 0 where unreadable
    warnings: tuple[str, ...] = ()


def load_pixels(
    samples: Samples,
    size: int,
    *,
    workers: int,
    cache_dir: Path | None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Pixels:
    """Decode every row at `size`, or map the result of an earlier call with the same files from `cache_dir`.

    A file that cannot be read costs its own row only. `on_progress` is called with rows done and rows in all.
    Raises RunError where the cache cannot be written to its end.
    """
    paths = list(samples.table["path"])
    decoder = Decoder(paths, size, workers, on_progress)
    if cache_dir is None:
        return _in_memory(decoder)
    key = cache_key(paths, size)
    entry = load_entry(cache_dir, key)
    if entry is None:
        try:
            writer = CacheWriter(cache_dir, key, size)
        except OSError:  # a home that cannot be written to is no reason not to train
            return _in_memory(decoder)
        try:
            with writer:
                outcome = decoder.run(writer.append)
                if len(outcome.bad) == len(paths):
                    return _pixels(np.empty((0, 3, size, size), np.uint8), outcome)
                writer.finish(outcome.source_sizes, outcome.notes())
        except OSError as error:
            raise RunError(
                f"the pixel cache in {cache_dir} cannot be written ({error.strerror}); "
                f"make room or set XDG_CACHE_HOME to a folder on another disk"
            ) from None
        entry = load_entry(cache_dir, key)
        if entry is None:
            raise RunError(f"the pixel cache in {cache_dir} cannot be read back; set XDG_CACHE_HOME to another folder")
    images, source_sizes, notes = entry
    return _pixels(images, Outcome.from_notes(source_sizes, notes))


def _pixels(images: np.ndarray, outcome: Outcome) -> Pixels:
    count = len(outcome.source_sizes)
    codes = np.full(count, VALID, dtype=object)
    messages = np.full(count, "", dtype=object)
    for row, (code, message) in outcome.bad.items():
        codes[row], messages[row] = code, message
    warned = tuple(
        f"{text} ({times} {'time' if times == 1 else 'times'})" for text, times in outcome.complaints.items()
    )
    rows = np.flatnonzero(codes == VALID)
    return Pixels(images, rows.astype(np.int64), codes, messages, outcome.source_sizes, warned)


def _in_memory(decoder: Decoder) -> Pixels:
    images = np.empty((len(decoder.paths), 3, decoder.size, decoder.size), np.uint8)
    slots = iter(images)
    outcome = decoder.run(lambda image: np.copyto(next(slots), image))
    return _pixels(images[: len(images) - len(outcome.bad)], outcome)
