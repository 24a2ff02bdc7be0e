"""How long `scanmix train` takes from its start to its first epoch, with a cold and a warm pixel cache.

    python benchmarks/startup.py                                           (5,000, 20,000, 50,000 and 200,000 images)
    python benchmarks/startup.py --sizes 300 600 --side 64 --device cpu    (tries out this script)

Every size is a folder of JPEG files, smooth pictures in ten classes, and three runs of the command as a user types it:
one in a cache of its own that is empty, and two that find the pixels there, of which the faster counts. A run is
interrupted when its log says that the first stage starts. Prints one Markdown table: seconds by the clock and peak
memory. The exponent is the slope of log(seconds) over log(images). The files are in the page cache; how many of them a
core decodes is for `decode.py` to say.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from growth import exponent
from PIL import Image

SIZES = (5_000, 20_000, 50_000, 200_000)
CLASSES, DIFFERENT = 10, 500  # so many different pictures; the others are the same under other names
STARTED = re.compile(r"^\S+ \S+ \w+ starts, ", re.MULTILINE)
WAIT = 0.02


@dataclass(frozen=True)
class Start:
    """A run up to its first epoch: seconds by the clock, and peak memory in GiB."""

    seconds: float
    peak: float


def write_images(folder: Path, count: int, side: int) -> Path:
    """`count` JPEG files in class folders below `folder / "images"`, which is returned."""
    rng = np.random.default_rng(0)
    for k in range(count):
        place = folder / "images" / f"class{k % CLASSES}"
        path = place / f"{k}.jpg"
        if k < CLASSES:
            place.mkdir(parents=True)
        if k < DIFFERENT:
            coarse = Image.fromarray(rng.integers(0, 256, (5, 5, 3), dtype=np.uint8))
            coarse.resize((side, side), Image.Resampling.BICUBIC).save(path, quality=90)
        else:
            path.write_bytes((folder / "images" / f"class{k % CLASSES}" / f"{k % DIFFERENT}.jpg").read_bytes())
    return folder / "images"


def start(data: Path, work: Path, device: str) -> Start:
    """Train on `data` until the first stage starts; the pixel cache is in `work`."""
    out = work / "run"
    command = [sys.executable, "-m", "scanmix_cli", "train", str(data), "--out", str(out), "--overwrite", "-q"]
    command += ["--weights", "none", "--device", device]
    (out / "log.txt").unlink(missing_ok=True)
    began = time.perf_counter()
    process = subprocess.Popen(command, env=os.environ | {"XDG_CACHE_HOME": str(work)}, stderr=subprocess.DEVNULL)
    while not has_started(out / "log.txt"):
        if process.poll() is not None:
            raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode} before its first stage")
        time.sleep(WAIT)
    seconds = time.perf_counter() - began
    process.send_signal(signal.SIGINT)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 130
    return Start(seconds, used.ru_maxrss / 2**20)


def has_started(log: Path) -> bool:
    """Whether a run's log says that a stage has started."""
    return log.exists() and STARTED.search(log.read_text(encoding="utf-8")) is not None


def table(found: dict[int, tuple[Start, Start]]) -> str:
    """Cold and warm starts; sizes in columns."""
    sizes = list(found)
    rows = {
        "start, cold cache, s": [cold.seconds for cold, _ in found.values()],
        "start, warm cache, s": [warm.seconds for _, warm in found.values()],
    }
    lines = [
        "| | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |",
        "| --- |" + " --- |" * (len(sizes) + 1),
        *(
            f"| {name} | " + " | ".join(f"{value:.1f}" for value in row) + f" | {exponent(sizes, row):.2f} |"
            for name, row in rows.items()
        ),
    ]
    for number, name in enumerate(("cold", "warm")):
        peaks = " | ".join(f"{starts[number].peak:.2f}" for starts in found.values())
        lines.append(f"| peak memory, {name}, GiB | {peaks} | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--side", type=int, default=32, help="pixels of a side")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    found = {}
    for size in sorted(options.sizes):
        with tempfile.TemporaryDirectory() as work:
            data = write_images(Path(work), size, options.side)
            cold, *warm = (start(data, Path(work), options.device) for _ in range(3))
            found[size] = (cold, min(warm, key=lambda one: one.seconds))
    print(f"{datetime.now(timezone.utc):%Y-%m-%d}, {os.cpu_count()} processor cores, JPEG of {options.side} pixels\n")
    print(table(found))


if __name__ == "__main__":
    main()
