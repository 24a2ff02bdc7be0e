"""How much faster a run is on several GPUs of one machine than on one, stage by stage and from end to end.

    python benchmarks/scaling.py --data-dir DIR-WITH-CIFAR-10 --out docs/results/scaling.json    (two GPUs, 8 minutes)
    python benchmarks/scaling.py --sections 32 --out docs/results/scaling.json                   (replaces this section)
    python benchmarks/scaling.py --device cpu --toy --out toy.json                               (tries this script out)

Every figure comes from whole runs of ScanMix with few epochs a stage, started as a user starts them: alone, and by
torchrun. The global batch, the schedule and the images are the same. The first epoch of a stage compiles and records
and is not counted; `end_to_end` is the sum of the others' median times the epochs that the profile plans. Sections run
on random smooth pictures, `accuracy` on CIFAR-10 with half of the labels drawn anew. `at_most` compares the run alone
with one that has half of the images and half of every batch: what two GPUs that share batches would reach if their
messages and all that they do not share cost nothing (neighbours, which grow with the square, look better in it than
they could be). `32-large` is section 32 in batches four times as large: the same images, a quarter of the steps;
nothing is said of the accuracy. `apart` is section 32 on two GPUs without synchronised batch norm: a bound on what that
costs. What does not fit `--limit` is left out.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scanmix_cli.models.norm_sync import statistics_per_process
from stopwatch import smooth_pictures

from scanmix_cli.bench.cifar import load_cifar
from scanmix_cli.bench.noise import symmetric
from scanmix_cli.engine.checkpoints import Stateful
from scanmix_cli.engine.context import Context, Epoch
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.engine.launch import processes
from scanmix_cli.engine.parallel import is_writer, joined, world
from scanmix_cli.files import write_text
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.methods import METHODS
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles import fast
from scanmix_cli.workflow.outlook import device_name

SECTIONS = ("32", "224", "accuracy", "32-large", "apart")
EPOCHS = 3  # of a stage; the first one is not counted
CLASSES = 10
COUNTS = {"32": 50_000, "32-large": 50_000, "224": 4096}  # pictures of a section
TOY_COUNT = 192
LARGER = 4  # times the batch
LEAST_SECONDS = 20.0  # a run is not started with less time left
WAIT_FOR_END = 40.0  # seconds that torchrun may take to end its processes


class ShortContext(Context):
    """A context whose stages end after a few epochs, and which notes how many were planned."""

    planned: dict[str, int]

    def epochs(self, stage: str, planned: int, **stateful: Stateful) -> Iterator[Epoch]:
        self.planned = {**getattr(self, "planned", {}), stage: planned}
        yield from super().epochs(stage, min(planned, EPOCHS), **stateful)


def profile_of(section: str, toy: bool) -> Profile:
    """The fast profile at 32 pixels, or that for large pictures."""
    if toy:
        size = 24 if section == "224" else 16
        small = replace(fast.CPU, image_size=size, stored_size=size)
        profile = (
            small if small.contrastive is None else replace(small, contrastive=replace(small.contrastive, epochs=3))
        )
    else:
        profile = fast.LARGE if section == "224" else fast.GPU
    return with_batches(profile, LARGER) if section == "32-large" else profile


def with_batches(profile: Profile, times: float) -> Profile:
    """The profile with batches so many times as large; steps an epoch, where they are counted, stay as many."""

    def changed(stage: Any) -> Any:
        return stage and replace(stage, batch_size=int(stage.batch_size * times))

    stages = ("contrastive", "scan", "warmup", "mixmatch", "clustering", "beliefs")
    return replace(profile, **{name: changed(getattr(profile, name)) for name in stages})


def pictures(count: int, profile: Profile, device: torch.device) -> ImageSet:
    """Random smooth pictures of the profile's size, with labels that have nothing to do with them."""
    pixels = smooth_pictures(count, device, profile.stored_size)
    labels = torch.arange(count, device=device) % CLASSES
    return ImageSet(pixels, labels, CLASSES, profile.image_size, profile.mean, profile.std)


def speed_run(section: str, toy: bool, device: str, half: bool) -> dict:
    """Median seconds of an epoch of every stage, images a second, and the planned schedule's sum; `half`: of half the
    images in half the batches."""
    profile, compute = profile_of(section, toy), choose_compute(device)
    count = TOY_COUNT if toy else COUNTS[section]
    if half:
        profile, count = with_batches(profile, 0.5), count // 2
    images = pictures(count, profile, compute.device)
    context = ShortContext(compute, 0)
    began = time.perf_counter()
    METHODS["scanmix"](images, profile, Monitor(), context, None)
    seconds = stage_seconds(context)
    rows = {
        name: {"epoch_s": value, "images_per_s": len(images) / value, "planned_epochs": context.planned[name]}
        for name, value in seconds.items()
    }
    whole = sum(row["epoch_s"] * row["planned_epochs"] for row in rows.values())
    return {"stages": rows, "end_to_end_s": whole, "wall_s": time.perf_counter() - began}


def stage_seconds(context: Context) -> dict[str, float]:
    """Median seconds of an epoch, the first one left out where there are more."""
    seconds: dict[str, list[float]] = {}
    for row in context.history.rows:
        seconds.setdefault(row["stage"], []).append(row["seconds"])
    return {name: statistics.median(values[1:] or values) for name, values in seconds.items()}


def accuracy_run(data_dir: Path, toy: bool, device: str) -> dict:
    """A short run on CIFAR-10, half of the labels drawn anew: curves and the accuracy at the end."""
    compute = choose_compute(device)
    profile = profile_of("32", toy)
    profile = replace(
        profile,
        image_size=32,
        stored_size=32,
        contrastive=profile.contrastive and replace(profile.contrastive, epochs=1 if toy else 12),
        scan=profile.scan and replace(profile.scan, epochs=1 if toy else 2),
        warmup=replace(profile.warmup, epochs=1 if toy else 2),
        mixmatch=replace(profile.mixmatch, epochs=1 if toy else 5, rate_drops=(4,)),
        beliefs=profile.beliefs and replace(profile.beliefs, epochs=1 if toy else 5),
    )
    data = load_cifar("cifar10", data_dir)
    assert data.train_images is not None
    assert data.test_images is not None
    given = symmetric(data.train_labels, CLASSES, 0.5, "dividemix")
    few = slice(TOY_COUNT if toy else None)

    def images(pixels: np.ndarray, labels: np.ndarray) -> ImageSet:
        tensors = (torch.from_numpy(np.ascontiguousarray(part[few])).to(compute.device) for part in (pixels, labels))
        return ImageSet(*tensors, CLASSES, 32, profile.mean, profile.std)

    context = Context(compute, 0)
    monitor = Monitor(images(data.test_images, data.test_labels), data.train_labels[few])
    began = time.perf_counter()
    outcome = METHODS["scanmix"](images(data.train_images, given), profile, monitor, context, None)
    curves: dict[str, list] = {}
    for row in context.history.rows:
        for name in ("loss", "loss_x", "loss_belief", "test_accuracy", "knn_accuracy"):
            if name in row:
                curves.setdefault(f"{row['stage']} {name}", []).append(row[name])
    accuracy = monitor.test(outcome.nets, context)["test_accuracy"]
    return {"test_accuracy": accuracy, "curves": curves, "wall_s": time.perf_counter() - began}


def work(options: argparse.Namespace) -> None:
    """What each process of a run does; the writer leaves the figures."""
    with joined(options.device) if processes() > 1 else nullcontext():
        count = world()
        with statistics_per_process() if options.apart else nullcontext():
            if options.worker == "accuracy":
                found = accuracy_run(options.data_dir, options.toy, options.device)
            else:
                found = speed_run(options.worker, options.toy, options.device, options.half)
        writer = is_writer()
    if writer:
        name = device_name(choose_compute(options.device).device)
        write_text(options.out, json.dumps({"processes": count, "device": name, **found}))


def run(section: str, name: str, options: argparse.Namespace, left: float) -> dict:
    """The row `name` of a section in processes of its own; {"failed": why} if it is not done in `left` seconds."""
    count, apart = 2 if name == "2" else 1, section == "apart"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "part.json"
        program = [sys.executable]
        if count > 1:
            program += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
        program += [__file__, "--worker", "32" if apart else section, "--out", str(out), "--device", options.device]
        program += ["--toy"] * options.toy + ["--apart"] * (apart and count > 1) + ["--half"] * (name == "half")
        if options.data_dir:
            program += ["--data-dir", str(options.data_dir)]
        # The multicast of NVLink is not usable inside every virtual machine.
        process = subprocess.Popen(program, env=os.environ | {"NCCL_NVLS_ENABLE": "0"})
        try:
            code = process.wait(left)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)  # torchrun ends its processes then
            try:
                process.wait(WAIT_FOR_END)
            except subprocess.TimeoutExpired:
                process.kill()
            return {"failed": f"not done in {left:.0f} s"}
        return json.loads(out.read_text(encoding="utf-8")) if code == 0 else {"failed": f"exit code {code}"}


def ratios(one: dict, several: dict) -> dict:
    """How many times as fast, by stage and from end to end."""
    found = {
        name: row["epoch_s"] / several["stages"][name]["epoch_s"]
        for name, row in one["stages"].items()
        if row["epoch_s"] and several["stages"][name]["epoch_s"]
    }
    return {**found, "end_to_end": one["end_to_end_s"] / several["end_to_end_s"]}


def compare(section: str, rows: dict[str, dict]) -> dict:
    """What the runs of a section say together, one process beside two."""
    if any("failed" in rows.get(name, {"failed": "not run"}) for name in ("1", "2")):
        return {}
    if section == "accuracy":
        return {"test_accuracy": [rows[name]["test_accuracy"] for name in ("1", "2")]}
    bound = rows.get("half", {})
    at_most = {"at_most": ratios(rows["1"], bound)} if "stages" in bound else {}
    return {"times_as_fast": ratios(rows["1"], rows["2"]), **at_most}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=[])
    parser.add_argument("--data-dir", type=Path, help="where CIFAR-10 lies; without it no accuracy is measured")
    parser.add_argument("--limit", type=float, default=500.0, help="seconds in all")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to try out this script")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--half", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    end = time.monotonic() + options.limit
    earlier = json.loads(options.out.read_text(encoding="utf-8"))["sections"] if options.out.is_file() else {}
    result: dict = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "torch": torch.__version__,
        "command": " ".join(["python", "benchmarks/scaling.py", *sys.argv[1:]]),
        "sections": earlier,
    }
    for section in options.sections or [name for name in SECTIONS if options.data_dir or name != "accuracy"]:
        rows = dict[str, dict]()
        if section == "apart" and "32" in result["sections"]:
            rows["1"] = result["sections"]["32"]["rows"]["1"]
        for name in ("1", "half", "2") if section in COUNTS else ("1", "2"):
            left = end - time.monotonic()
            if name not in rows:
                found = run(section, name, options, left) if left > LEAST_SECONDS else None
                rows[name] = found or {"failed": "no time left"}
        result["sections"][section] = {"rows": rows, **compare(section, rows)}
        write_text(options.out, json.dumps(result, indent=1) + "\n")
        print(section, json.dumps(compare(section, rows) or rows), flush=True)


if __name__ == "__main__":
    main()
