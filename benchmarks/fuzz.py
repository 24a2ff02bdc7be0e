"""Thousands of damaged pictures and tables through the reader: every one is read, or refused with a code or a sentence.

    python benchmarks/fuzz.py                                  # 8,000 pictures and 4,000 tables, about ten minutes
    python benchmarks/fuzz.py --pictures 500 --tables 200      # for a first look

Hypothesis makes the damage: bytes changed, cut out, doubled, cut off, numbers at their limits, two files in one. Prints
what came out how often, the slowest one, and memory at every quarter; the first failure is shrunk, shown and ends it.
The same examples every time. Hypothesis keeps what it has tried, so half as many pictures again are damaged at random
without it: their memory shows whether the reader leaks.
"""

import argparse
import io
import random
import resource
import signal
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from scanmix_cli.data.decode import DecodeError
from scanmix_cli.data.isolated import Isolation
from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import DataError

CHANGES = ("set", "limit", "cut", "double", "end", "splice")
SECONDS = 30  # for one example; longer counts as stuck
LIMITS = (
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\0\1",
    b"\x80\0",
    b'"',
    b"\n",
    b"\0",
)

edits = st.lists(
    st.tuples(
        st.sampled_from(CHANGES),
        st.floats(0, 1),  # where, as a share of the length; most of what matters is at the start
        st.integers(0, 255),
    ),
    max_size=6,
)


def damaged(data: bytes, changes: list[tuple[str, float, int]], other: bytes) -> bytes:
    """`data` after the changes; `other` is what is spliced in."""
    for kind, share, value in changes:
        at = int(share * share * len(data))
        if kind == "set":
            data = data[:at] + bytes([value]) + data[at + 1 :]
        elif kind == "limit":
            limit = LIMITS[value % len(LIMITS)]
            data = data[:at] + limit + data[at + len(limit) :]
        elif kind == "cut":
            data = data[:at] + data[at + 1 + value :]
        elif kind == "double":
            data = data[:at] + data[at : at + 1 + value] * 3 + data[at + 1 + value :]
        elif kind == "end":
            data = data[: len(data) - int((1 - share) ** 4 * len(data))]
        else:
            data = data[:at] + other[len(other) * value // 256 :]
    return data


def picture_seeds() -> list[bytes]:
    """A small file of every format and of some odd modes."""
    pixels = np.random.default_rng(0).integers(0, 255, (18, 24, 3)).astype(np.uint8)
    image = Image.fromarray(pixels)
    wanted = [("JPEG", "RGB", {}), ("JPEG", "L", {"progressive": True}), ("JPEG", "CMYK", {}), ("PNG", "RGBA", {})]
    wanted += [("PNG", "P", {}), ("PNG", "I;16", {}), ("BMP", "RGB", {}), ("GIF", "P", {}), ("WEBP", "RGBA", {})]
    wanted += [("TIFF", "RGB", {"compression": "tiff_lzw"}), ("TIFF", "L", {"compression": "tiff_adobe_deflate"})]
    wanted += [
        ("TIFF", "RGB", {"compression": "jpeg"}),
        ("PPM", "RGB", {}),
        ("ICO", "RGBA", {}),
        ("JPEG2000", "RGB", {}),
    ]
    wanted += [("WEBP", "RGB", {"save_all": True, "append_images": [image.rotate(90)]}), ("AVIF", "RGB", {})]
    seeds = []
    for kind, mode, options in wanted:
        buffer = io.BytesIO()
        if kind in Image.SAVE:
            converted = image.convert("L").convert("I;16") if mode == "I;16" else image.convert(mode)
            converted.save(buffer, kind, **options)
            seeds.append(buffer.getvalue())
    return seeds


def table_seeds() -> list[tuple[str, bytes]]:
    """File name and content of a table in every dialect that is read."""
    frame = pd.DataFrame({"file_name": [f"im/{k}.jpg" for k in range(12)], "label": ["größe", "01", ""] * 4})
    frame["split"] = ["train", "train", "test"] * 4
    text = frame.to_csv(index=False)
    parquet = io.BytesIO()
    frame.to_parquet(parquet)
    return [
        ("t.csv", text.encode()),
        ("t.csv", frame.to_csv(index=False, sep=";", quoting=1).encode("cp1252")),
        ("t.csv", text.encode("utf-16")),
        ("t.tsv", frame.to_csv(index=False, sep="\t").encode()),
        ("t.jsonl", frame.to_json(orient="records", lines=True).encode()),
        ("t.parquet", parquet.getvalue()),
    ]


def resident(process: int | str = "self") -> int:
    """Memory of a process in MiB."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize() >> 20


def end(isolation: Isolation) -> int:
    """End the worker process; the memory that it had."""
    worker = getattr(isolation._own, "worker", None)
    process = None if worker is None else worker.process
    memory = resident(process.pid) if process is not None and process.poll() is None else 0
    isolation.close()
    return memory


@dataclass
class Tally:
    """What came out, and how long the slowest took."""

    outcomes: Counter = field(default_factory=Counter)
    slowest: float = 0.0
    memory: list[int] = field(default_factory=list)  # resident MiB at every quarter
    worker: int = 0  # resident MiB of the worker process at the end

    def time(self, read: Callable[[], str], total: int) -> None:
        """Count one example; an alarm goes off in one that is stuck."""
        began = time.monotonic()
        signal.alarm(SECONDS)
        try:
            self.outcomes[read()] += 1
        finally:
            signal.alarm(0)
        self.slowest = max(self.slowest, time.monotonic() - began)
        if self.outcomes.total() % max(total // 4, 1) == 0:
            self.memory.append(resident())


def read_picture(isolation: Isolation, data: bytes, salvage: bool) -> str:
    """The error code, or VALID; with its message where the worker process had to be given up."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            isolation.decode(data, 16, salvage=salvage)
    except DecodeError as error:
        own = "breaks down" in error.message or "takes longer" in error.message
        return f"{error.code} ({error.message})" if own else error.code
    return "VALID"


def fuzz_pictures(examples: int) -> Tally:
    """Anything but a picture or a DecodeError is raised, with the shrunk example."""
    seeds, tally, isolation = picture_seeds(), Tally(), Isolation(SECONDS)
    one = st.sampled_from(seeds)

    @_chosen(examples)
    @given(one, edits, one)
    def run(data: bytes, changes: list, other: bytes) -> None:
        content, salvage = damaged(data, changes, other), len(changes) % 2 == 1
        tally.time(partial(read_picture, isolation, content, salvage), examples)

    run()
    tally.worker = end(isolation)
    return tally


def leak_pictures(examples: int) -> Tally:
    """As `fuzz_pictures`, with damage from a plain random generator, which remembers nothing."""
    seeds, tally, isolation, rng = picture_seeds(), Tally(), Isolation(SECONDS), random.Random(0)
    for _ in range(examples):
        changes = [(rng.choice(CHANGES), rng.random(), rng.randrange(256)) for _ in range(rng.randrange(6))]
        data = damaged(rng.choice(seeds), changes, rng.choice(seeds))
        tally.time(partial(read_picture, isolation, data, salvage=len(changes) % 2 == 1), examples)
    tally.worker = end(isolation)
    return tally


def fuzz_tables(examples: int) -> Tally:
    """Anything but a table of samples or a DataError of one line is raised, with the shrunk example."""
    seeds, tally = table_seeds(), Tally()
    one = st.sampled_from(seeds)
    with tempfile.TemporaryDirectory(prefix="scanmix-fuzz-") as folder:

        @_chosen(examples)
        @given(one, edits, one)
        def run(seed: tuple[str, bytes], changes: list, other: tuple[str, bytes]) -> None:
            path = Path(folder) / seed[0]
            path.write_bytes(damaged(seed[1], changes, other[1]))

            def read() -> str:
                try:
                    return "read" if len(read_samples(path)) else "empty"
                except DataError as error:
                    return "refused in a sentence" if "\n" not in str(error) else "refused in several lines"

            tally.time(read, examples)

        run()
    return tally


def _chosen(examples: int) -> settings:
    checks = list(HealthCheck)
    return settings(max_examples=examples, derandomize=True, database=None, deadline=None, suppress_health_check=checks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=8000, metavar="N")
    parser.add_argument("--tables", type=int, default=4000, metavar="N")
    options = parser.parse_args()

    def stuck(*_: object) -> None:
        raise TimeoutError(f"an example takes longer than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, stuck)
    parts: list[tuple[str, Callable[[int], Tally], int]] = [
        ("pictures at random", leak_pictures, options.pictures // 2),
        ("pictures", fuzz_pictures, options.pictures),
        ("tables", fuzz_tables, options.tables),
    ]
    for name, fuzz, count in parts:
        tally = fuzz(count)
        memory = ", ".join(map(str, tally.memory))
        print(f"{tally.outcomes.total()} {name}: slowest {tally.slowest:.2f} s; resident MiB at the quarters {memory}")
        if tally.worker:
            print(f"  worker process: {tally.worker} MiB")
        for outcome, times in tally.outcomes.most_common():
            print(f"  {times:6d}  {outcome}")
    print(f"peak resident memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")


if __name__ == "__main__":
    main()
