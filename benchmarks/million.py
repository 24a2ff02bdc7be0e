"""One million images through the whole of `scanmix train`: seconds and peak memory of every part, and how they grow.

    python benchmarks/million.py --out docs/results/million.json                         (10,000, 100,000 and 1,000,000)
    python benchmarks/million.py --most 0 --device cuda --out docs/results/million-gpu.json              (whole epochs)
    python benchmarks/million.py --sizes 300 600 --toy --out toy.json                          (tries out this script)

A folder of JPEG files of 32 x 32 pixels, smooth random pictures with a tint of their class, a fifth of the labels
drawn anew, and a table of paths and labels. Every size is a process of its own that does what `scanmix train TABLE`
does: read the table, decode into the cache, look for copies, one epoch of each stage of `fast`, neighbours, verdicts,
tables, page, plots. With `--most`, an epoch trains on so many images and a network looks at so many; what it says of
them, with a little noise, stands for all others, and the seconds of the whole are reckoned from the part. All else is
done in full.
Peak memory is the process's resident set, files mapped into memory included. The exponent is the slope of log(seconds)
over log(images), 1 where the cost is linear; of processor time it is the seconds of the parts as they ran.
"""

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from growth import exponent
from PIL import Image
from speed import rounded

from scanmix_cli.files import write_text

SIZES = (10_000, 100_000, 1_000_000)
WRONG, SIDE, BLOCK = 0.2, 32, 2_000
CLEAN = 0.7  # share of labels in the clean set, for whole epochs of MixMatch that are reckoned
NOISE, BATCH = 0.1, 32  # noise on copied outputs, in standard deviations; MixMatch's batch on a CPU
STAGES = ("simclr", "scan", "warmup", "scanmix")  # those of them that the profile has
# what `workflow.train` calls outside of the stages, in the order of a run
PARTS = (
    *("load_pixels", "overview", "judge", "save_evidence", "save_classifier", "copy_sets"),
    *("build_report", "write_run_tables", "read_run"),
)
LOOP = ("look", "divide", "train_semi_supervised", "train_clustering")  # of an epoch of the EM loop


def write_images(folder: Path, count: int, classes: int) -> Path:
    """`count` JPEG files in folders of BLOCK, and the table of their paths and labels, whose path is returned."""
    rng = np.random.default_rng(0)
    tints = rng.normal(0, 25, (classes, 1, 1, 3))
    table = folder / f"{count}.csv"
    with table.open("w", encoding="utf-8") as file:
        file.write("file_name,label\n")
        for start in range(0, count, BLOCK):
            n = min(BLOCK, count - start)
            truth = rng.integers(0, classes, n)
            given = np.where(rng.random(n) < WRONG, rng.integers(0, classes, n), truth)
            coarse = (128 + tints[truth] + rng.normal(0, 40, (n, 8, 8, 3))).clip(0, 255).astype(np.uint8)
            place = folder / f"{start // BLOCK:05d}"
            place.mkdir(exist_ok=True)
            for k in range(n):
                name = f"{place.name}/{start + k:07d}.jpg"
                file.write(f"{name},class {given[k]:04d}\n")
                if not (folder / name).exists():  # smaller sizes are the first files of larger ones
                    (folder / name).write_bytes(as_jpeg(coarse[k]))
    return table


def as_jpeg(coarse: np.ndarray) -> bytes:
    """A picture of SIDE pixels out of uint8 (8, 8, 3)."""
    stream = io.BytesIO()
    Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BILINEAR).save(stream, "JPEG", quality=90)
    return stream.getvalue()


class Clock:
    """Seconds and peak memory in GB of each named part; a part within another counts for both."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, float]] = {}

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function itself, its calls added up under `name`."""

        def call(*arguments: Any, **options: Any) -> Any:
            forget_peak()
            began, busy = time.perf_counter(), processor_seconds()
            result = function(*arguments, **options)
            self.note(name, time.perf_counter() - began, peak_gb(), processor_seconds() - busy)
            return result

        return call

    def note(self, name: str, seconds: float, peak: float = 0.0, busy: float = 0.0) -> None:
        part = self.parts.setdefault(name, {"seconds": 0.0, "processor_seconds": 0.0, "peak_gb": 0.0})
        part["seconds"] += seconds
        part["processor_seconds"] += busy
        part["peak_gb"] = max(part["peak_gb"], peak)
        text = f"{name}: {seconds:.1f} s, {busy:.1f} s of processor time, peak {peak:.2f} GB"
        print(text, file=sys.stderr, flush=True)


def processor_seconds() -> float:
    """Of this process and its children that have ended: hardly longer where other programs want the cores too."""
    return sum(os.times()[:4])


def forget_peak() -> None:
    """Let Linux count the peak of the resident set anew."""
    if os.access("/proc/self/clear_refs", os.W_OK):
        Path("/proc/self/clear_refs").write_text("5")


def peak_gb() -> float:
    """Peak of the resident set since `forget_peak`, or since the start where Linux does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    found = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return (found[0] if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 2**20


def shorten(most: int) -> None:
    """Let networks look at `most` images only."""
    import torch

    from scanmix_cli.method import images

    def some(count: int, device: torch.device) -> torch.Tensor:
        return torch.arange(min(count, most), device=device)

    def as_many(outputs: torch.Tensor, count: int) -> torch.Tensor:
        copies = outputs.repeat(-(-count // len(outputs)), *[1] * (outputs.dim() - 1))[:count]
        return copies.add_(NOISE * outputs.std() * torch.randn_like(copies))

    vars(images).update(rows_of_this_process=some, gather_rows=as_many)


def whole(images: int, most: int) -> dict[str, float]:
    """By how much longer a whole epoch, or look, is than one of `most` images. MixMatch passes over the clean set."""
    factor = max(images / most, 1.0) if most else 1.0
    parts = dict.fromkeys(("simclr", "scan", "warmup", "look", "train_clustering"), factor)
    return parts | {"train_semi_supervised": max(CLEAN * factor, 1.0)}


def settings(most: int) -> str:
    """config.toml of a run with one epoch of every stage."""
    whole = f"[profile]\nepoch_images = {most}\n"
    tables = [f"[profile.{name}]\nepochs = 1\n" for name in ("contrastive", "scan", "warmup", "mixmatch")]
    return "".join([whole, *tables, f"batch_size = {BATCH}\nsteps = {most // BATCH}\n" if most else "steps = 0\n"])


def work(table: Path, options: argparse.Namespace) -> dict:
    """A whole run on one table, in this process."""
    from scanmix_cli.data.sources import read_samples
    from scanmix_cli.engine.progress import make_reporter
    from scanmix_cli.method import methods, teacher
    from scanmix_cli.method.scanmix import EMLoop
    from scanmix_cli.report import html, plots
    from scanmix_cli.workflow import train
    from scanmix_cli.workflow.request import read_request

    clock, run, config = Clock(), table.with_suffix(".run"), table.with_suffix(".toml")
    if options.most:
        shorten(options.most)
    report = ((html, ("write_html",)), (plots, ("save_plots",)))
    for place, names in (
        (train, PARTS),
        (methods, ("mine_neighbors",)),
        (teacher, ("mine_neighbors",)),
        (EMLoop, LOOP),
        *report,
    ):
        for name in names:
            setattr(place, name, clock.timed(name, getattr(place, name)))
    config.write_text(settings(options.most), encoding="utf-8")
    request, given = read_request(config, {"weights": "none", "device": options.device, "epochs": 1})
    began = time.perf_counter()
    samples = clock.timed("read_samples", read_samples)(table)
    destination = train.Destination(run, overwrite=True, keep_checkpoints=False)
    summary = train.train(samples, request, destination, make_reporter(False, True), given).summary
    total = time.perf_counter() - began
    for stage in STAGES:
        if stage in summary["seconds"]:
            clock.note(stage, summary["seconds"][stage])
    longer = whole(len(samples), options.most)
    for name, part in clock.parts.items():
        part["whole_epoch_seconds"] = part["seconds"] * longer.get(name, 1.0)
    peak = max(peak_gb(), *(part["peak_gb"] for part in clock.parts.values()))
    page = (run / "report.html").stat().st_size / 1e6
    return {
        "parts": clock.parts,
        "seconds": total,
        "peak_gb": peak,
        "page_mb": page,
        "issues": summary["counts"]["label_issues"],
        "device": summary["device"],
    }


def table_of(sizes: dict[int, dict]) -> str:
    """Parts in rows, sizes in columns: seconds of a whole epoch, the exponents, and the largest size's peak memory."""
    counts = list(sizes)
    titles = [*(f"{count:,}" for count in counts), "exponent", "of processor time", "peak, GB"]
    lines = [
        "| part, seconds | " + " | ".join(titles) + " |",
        "| --- |" + " --- |" * (len(counts) + 3),
    ]
    for name, last in sizes[counts[-1]]["parts"].items():
        seconds = [sizes[count]["parts"][name]["whole_epoch_seconds"] for count in counts]
        cells = " | ".join(f"{value:.3g}" for value in seconds)
        slope = exponent(counts, [max(value, 1e-3) for value in seconds])
        busy = [sizes[count]["parts"][name]["processor_seconds"] for count in counts]
        of_busy = f"{exponent(counts, busy):.2f}" if min(busy) else ""
        peak = f"{last['peak_gb']:.2f}" if last["peak_gb"] else ""
        lines.append(f"| {name} | {cells} | {slope:.2f} | {of_busy} | {peak} |")
    for name, key in (("all, as run", "seconds"), ("peak of the process, GB", "peak_gb")):
        lines.append(f"| {name} | " + " | ".join(f"{sizes[count][key]:.3g}" for count in counts) + " | | | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--most", type=int, default=20_000, help="images of an epoch and of a look; 0: all")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--toy", action="store_true", help="two classes and epochs of 64 images")
    parser.add_argument("--folder", type=Path, help="for the images, 8 GB a million; kept (default: a temporary one)")
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)  # of the child process
    options = parser.parse_args()
    if options.toy:
        options.classes, options.most = 2, 64
    if options.table:
        write_text(options.out, json.dumps(work(options.table, options)))
        return
    found: dict[int, dict] = {}
    with tempfile.TemporaryDirectory() if options.folder is None else nullcontext(options.folder) as place:
        folder = Path(place)
        folder.mkdir(parents=True, exist_ok=True)
        for size in sorted(options.sizes):
            table = write_images(folder, size, options.classes)
            answer = table.with_suffix(".json")
            arguments = [sys.executable, __file__, "--table", str(table), "--out", str(answer)]
            arguments += ["--most", str(options.most), "--device", options.device]
            environment = {**os.environ, "XDG_CACHE_HOME": str(folder / f"cache-{size}")}
            subprocess.run(arguments, check=True, env=environment)
            found[size] = json.loads(answer.read_text(encoding="utf-8"))
            print(f"{size:,} images: {found[size]['seconds']:.0f} s", file=sys.stderr, flush=True)
    record = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "command": "python " + " ".join(sys.argv),
        "sizes": found,
    }
    write_text(options.out, json.dumps(rounded(record), indent=1) + "\n")
    print(table_of(found))


if __name__ == "__main__":
    main()
