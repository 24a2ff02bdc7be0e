"""How time and memory of every stage grow with the number of images.

    python benchmarks/growth.py --out docs/results/growth.json
    python benchmarks/growth.py --sizes 192 384 --toy --device cpu --out toy.json     (tries out this script)

One whole epoch of each stage of the published CIFAR-10 schedule and of the belief loop of `fast` on random smooth
pictures of 32 x 32 pixels, 5,000 to 200,000 of them, after a first epoch that records and compiles. Prints one Markdown
table; the exponent is the slope of log(seconds) over log(images), 1 where the cost is linear.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import torch
from speed import HIGH_NOISE, beliefs, em_loop, rounded, scan, simclr, warmup
from stopwatch import Bench
from torch.nn.functional import normalize

from scanmix_cli.evidence.verdicts import judge
from scanmix_cli.files import write_text
from scanmix_cli.method.neighbors import mine_neighbors

SIZES = (5_000, 20_000, 50_000, 200_000)
FEATURES, NEIGHBORS = 512, 20  # those of a ResNet-18, which the belief loop searches
SEMI, PAIRS = 64, 128  # the published batch sizes of the EM loop
LABELLED = 5  # one image in five is in the clean set, as at sym 90


def epochs(bench: Bench) -> Iterator[tuple[str, Callable[[], float]]]:
    """Stages in their order, each with what returns the seconds of an epoch of `bench.count` images."""
    for name, section in (("SimCLR", simclr), ("SCAN", scan)):
        yield name, lambda s=section: next(iter(s(bench).values()))["epoch_s"]
    features = normalize(torch.randn(bench.count, FEATURES, device=bench.compute.device), dim=1)
    yield "neighbours", lambda: once(bench, lambda: mine_neighbors(features, NEIGHBORS, True))
    yield "belief loop", lambda: beliefs(bench)["epoch_s"]
    yield "warm-up", lambda: warmup(bench)["epoch_s"]
    semi, pairs = (8, 8) if bench.toy else (SEMI, PAIRS)
    loop = em_loop(bench, HIGH_NOISE, bench.compute, semi, pairs)
    posterior = torch.full((bench.count,), 0.5, device=bench.compute.device)
    clean, few = bench.everything[: bench.count // LABELLED], 8 * max(semi, pairs)

    def mixmatch(rows: torch.Tensor) -> None:
        for step in loop.semi_steps:
            step.epoch(rows, bench.everything, posterior, 9.0)

    def clustering(rows: torch.Tensor) -> None:
        loop.clustering[0].epoch(rows, [bench.images.labels] * 2)

    yield "MixMatch", lambda: once(bench, lambda: mixmatch(clean), lambda: mixmatch(clean[:few]))
    yield "clustering", lambda: once(bench, lambda: clustering(bench.everything), lambda: clustering(clean[:few]))
    yield "evaluation", lambda: once(bench, loop.look)
    outlooks, rows = loop.look(), loop.epoch_rows()
    yield "split and evidence", lambda: once(bench, lambda: loop.divide(outlooks, rows))
    neighbors = bench.neighbors.cpu().numpy()
    yield "verdicts", lambda: once(bench, lambda: judge(loop.evidence, loop.labels, neighbors), lambda: None)


def once(bench: Bench, work: Callable[[], object], prepare: Callable[[], object] | None = None) -> float:
    """Seconds of `work` after `prepare`, or after a first `work` where there is none."""
    (prepare or work)()
    bench.sync()
    began = time.perf_counter()
    work()
    bench.sync()
    return time.perf_counter() - began


def measure(bench: Bench) -> dict[str, dict[str, float]]:
    """Seconds of each stage and the device's peak memory in GB; the host's peak so far under "process"."""
    rows = {}
    on_gpu = bench.compute.device.type == "cuda"
    for name, seconds in epochs(bench):
        if on_gpu:
            torch.compiler.reset()
            torch.cuda.reset_peak_memory_stats()
        rows[name] = {"seconds": seconds(), "device_gb": torch.cuda.max_memory_allocated() / 1e9 if on_gpu else 0.0}
        print(f"{bench.count:,} images, {name}: {rows[name]['seconds']:.3f} s", file=sys.stderr, flush=True)
    rows["process"] = {"host_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}
    return rows


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Slope of log(seconds) over log(images)."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def table(found: dict[int, dict[str, dict[str, float]]]) -> str:
    """Stages in rows, sizes in columns; seconds and peak memory of the device."""
    sizes = list(found)
    lines = [
        "| stage, seconds | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |",
        "| --- |" + " --- |" * (len(sizes) + 1),
    ]
    for name in (name for name in found[sizes[0]] if name != "process"):
        seconds = [found[size][name]["seconds"] for size in sizes]
        cells = " | ".join(f"{value:.3g}" for value in seconds)
        lines.append(f"| {name} | {cells} | {exponent(sizes, seconds):.2f} |")
    peaks = [max(row.get("device_gb", 0.0) for row in found[size].values()) for size in sizes]
    lines.append("| peak of the device, GB | " + " | ".join(f"{peak:.2f}" for peak in peaks) + " | |")
    hosts = " | ".join(f"{found[size]['process']['host_gb']:.2f}" for size in sizes)
    return "\n".join([*lines, f"| peak of the process so far, GB | {hosts} | |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--toy", action="store_true", help="a small network and tiny batches")
    options = parser.parse_args()
    found: dict[int, dict] = {}
    for size in sorted(options.sizes):
        bench = Bench(options.device, options.toy, seconds=0.0, workers=1, count=size)
        found[size] = measure(bench)
        names = [name for name in found[size] if name != "process" and len(found) > 1]
        record = {
            "device": torch.cuda.get_device_name() if bench.compute.device.type == "cuda" else "cpu",
            "torch": torch.__version__,
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            "command": "python " + " ".join(sys.argv),
            "exponents": {n: exponent(list(found), [found[s][n]["seconds"] for s in found]) for n in names},
            "sizes": found,
        }
        write_text(options.out, json.dumps(rounded(record), indent=1) + "\n")  # at once: a cut call keeps its sizes
    print(table(found))


if __name__ == "__main__":
    main()
