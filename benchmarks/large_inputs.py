"""Time and peak memory of reading large inputs: a table of a million rows, a folder of 200,000 images.

    python benchmarks/large_inputs.py                     # both, in a temporary folder, about five minutes
    python benchmarks/large_inputs.py --rows 10000 --files 2000

prints one Markdown table. Every line is a process of its own, started as a user would start it.
"""

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = 20
READ_TABLE = (
    "import sys; from pathlib import Path\n"
    "from scanmix_cli.data.sources import read_samples\n"
    "print(len(read_samples(Path(sys.argv[1]))))"
)
CHECK = ("-m", "scanmix_cli", "check")


@dataclass(frozen=True)
class Measured:
    """One finished process: wall seconds, peak resident memory in MiB (as Linux counts it), lines on standard error."""

    seconds: float
    peak: float
    lines: int


def write_table(path: Path, rows: int) -> None:
    """A table of paths, labels, a split and a further column; the files do not exist."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["file_name", "label", "split", "photographer"])
        for k in range(rows):
            writer.writerow([f"images/{k:07d}.jpg", f"class {k % CLASSES}", "val" if k % 10 == 0 else "train", f"p{k}"])


def write_folder(folder: Path, files: int) -> None:
    """Different 8 x 8 pictures in class folders."""
    rng = np.random.default_rng(0)
    for number in range(CLASSES):
        (folder / f"class{number:02d}").mkdir(parents=True)
    for k in range(files):
        buffer = io.BytesIO()
        pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(buffer, "PNG", compress_level=0)
        (folder / f"class{k % CLASSES:02d}" / f"{k:07d}.png").write_bytes(buffer.getvalue())


def measure(*arguments: object, cache: Path) -> Measured:
    """Run Python with the arguments; raises CalledProcessError where it fails."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, *map(str, arguments)]
    began = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        lines = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=lines)
    return Measured(seconds, usage.ru_maxrss / 1024, len(lines.splitlines()))


def steps(folder: Path, rows: int, files: int) -> Iterator[tuple[str, Measured]]:
    """What is measured, one after the other."""
    cache = folder / "cache"
    table, images = folder / "table.csv", folder / "images"
    write_table(table, rows)
    yield f"read a table of {rows:,} rows", measure("-c", READ_TABLE, table, cache=cache)
    write_folder(images, files)
    yield f"check of {files:,} files, first time", measure(*CHECK, images, cache=cache)
    yield "check again, nothing changed", measure(*CHECK, images, cache=cache)
    os.utime(next(images.glob("class00/*.png")), (1, 1))
    yield "check again, one file changed", measure(*CHECK, images, cache=cache)
    yield "check --rescan", measure(*CHECK, images, "--rescan", cache=cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=200_000)
    options = parser.parse_args()
    print(f"{datetime.now(timezone.utc):%Y-%m-%d}, {os.cpu_count()} processor cores\n")
    print("| step | seconds | peak memory, MiB | lines of progress |\n| --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for step, found in steps(Path(folder), options.rows, options.files):
            print(f"| {step} | {found.seconds:.1f} | {found.peak:.0f} | {found.lines} |", flush=True)


if __name__ == "__main__":
    main()
