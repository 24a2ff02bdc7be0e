"""How fast every stage trains, against a plain loop and against the arithmetic limit of the device.

    python benchmarks/speed.py --out docs/results/performance.json
    python benchmarks/speed.py --sections limit simclr --seconds 5 --out part.json     (fits into a short call)
    python benchmarks/speed.py --device cpu --toy --out toy.json                       (tries out this script)

Sections run on random smooth pictures, 50,000 of 32 x 32 pixels, through the functions that train a user's network:
whole epochs where a stage has epochs, and whole steps. A file that exists is kept and only the sections run are
replaced; `summary` is made from all sections in the file. Ratios need `limit` and `plain` of the same call.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import torch
from plain_loop import views_per_second
from scanmix_cli.models.norm_act import plain_norms
from speed_summary import summary
from stopwatch import CLASSES, Bench, Stopwatch
from torch.utils.flop_counter import FlopCounterMode

from scanmix_cli.engine.device import Compute
from scanmix_cli.files import write_text
from scanmix_cli.method.belief_loop import run_belief_loop
from scanmix_cli.method.gate import apply_gate
from scanmix_cli.method.learner import look, make_learner
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import contrastive_net, scanmix_net
from scanmix_cli.method.scan import train_scan
from scanmix_cli.method.scanmix import EMLoop
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.method.simclr import train_simclr
from scanmix_cli.method.student import make_student
from scanmix_cli.method.warmup import warm_up
from scanmix_cli.profiles import fast

LOW_NOISE, HIGH_NOISE = 0.2, 0.9


def limit(bench: Bench) -> dict:
    """Operations a second of a large matrix product in the training precision; operations of a forward pass."""
    size, device = (256 if bench.toy else 8192), bench.compute.device
    dtype = torch.float32 if bench.compute.precision == "fp32" else torch.bfloat16
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))

    def product() -> None:
        for _ in range(10):
            left @ right

    rate = 10 * 2 * size**3 / bench.time(product)
    net = scanmix_net(bench.profile.backbone, CLASSES, bench.context()).eval()
    with FlopCounterMode(display=False) as counter, plain_norms(), torch.no_grad():
        net(torch.zeros(1, 3, 32, 32, device=device))
    return {"matmul_flops_per_s": rate, "forward_flops_per_image": counter.get_total_flops()}


def plain(bench: Bench) -> dict:
    """The plain loop: SimCLR in fp32, batch 64, Pillow in DataLoader workers."""
    net = contrastive_net(bench.profile.backbone, bench.context())
    rate = views_per_second(net, bench.images.pixels, bench.compute.device, bench.workers, bench.seconds)
    return {"views_per_s": rate, "workers": bench.workers}


def simclr(bench: Bench) -> dict:
    """Epochs of SimCLR; the published batch is 512 images, two views each."""
    assert bench.profile.contrastive is not None
    rows = {}
    for batch in bench.batches(512, 1024, 2048):
        context = bench.context()
        net = contrastive_net(bench.profile.backbone, context)
        train_simclr(net, bench.images, replace(bench.profile.contrastive, batch_size=batch), context)
        steps = bench.count // batch
        rows[str(batch)] = per_step(context.epoch_seconds / steps, 2 * batch, 3 * 2 * batch)
        rows[str(batch)]["epoch_s"] = context.epoch_seconds
    return rows


def fast_simclr(bench: Bench) -> dict:
    """Epochs of SimCLR as `fast` has it, on smaller views."""
    assert bench.profile.contrastive is not None
    assert fast.GPU.contrastive is not None
    (batch,) = bench.batches(fast.GPU.contrastive.batch_size)
    settings = replace(fast.GPU.contrastive, epochs=bench.profile.contrastive.epochs, batch_size=batch)
    context = bench.context()
    train_simclr(contrastive_net(bench.profile.backbone, context), bench.images, settings, context)
    return {"epoch_s": context.epoch_seconds, "images_per_s": settings.views * bench.count / context.epoch_seconds}


def scan(bench: Bench) -> dict:
    """Epochs of SCAN, its choice of the best epoch included; the published batch is 128 pairs."""
    assert bench.profile.scan is not None
    rows = {}
    for batch in bench.batches(128, 512):
        context = bench.context()
        net = scanmix_net(bench.profile.backbone, CLASSES, context)
        train_scan(net, bench.images, bench.neighbors, replace(bench.profile.scan, batch_size=batch), context)
        steps = int(bench.count * (1 - bench.profile.scan.held_out_share)) // batch
        rows[str(batch)] = per_step(context.epoch_seconds / steps, 2 * batch, 3 * 2 * batch)
        rows[str(batch)]["epoch_s"] = context.epoch_seconds
    return rows


def warmup(bench: Bench) -> dict:
    """Epochs of the head-only warm-up of both networks, batch 128."""
    context = bench.context()
    nets = [scanmix_net(bench.profile.backbone, CLASSES, context, k) for k in (1, 2)]
    learners = [make_learner(net, bench.profile, context) for net in nets]
    warm_up(learners, bench.images, bench.profile.warmup, Monitor(), context)
    return {"epoch_s": context.epoch_seconds}


def em_loop(bench: Bench, noise: float, compute: Compute, semi: int, clustering: int) -> EMLoop:
    """A loop with batches of semi + semi images and of `clustering` pairs, on the gate's branch for `noise`."""
    profile, context = apply_gate(bench.profile, noise), Stopwatch(compute, 0)
    assert profile.clustering is not None
    profile = replace(
        profile,
        mixmatch=replace(profile.mixmatch, batch_size=semi),
        clustering=replace(profile.clustering, batch_size=clustering),
    )
    nets = [scanmix_net(profile.backbone, CLASSES, context, k) for k in (1, 2)]
    return EMLoop(
        [make_learner(net, profile, context) for net in nets], bench.images, bench.neighbors, profile, context
    )


def mixmatch(bench: Bench) -> dict:
    """Steps of batch + batch images, two views each: 4 batch are trained on, 6 batch guessed by a forward pass."""
    rows: dict[str, dict] = {}
    posterior = torch.full((bench.count,), 0.5, device=bench.compute.device)

    def seconds_a_step(loop: EMLoop, batch: int) -> float:
        labelled = bench.everything[: (2 if bench.toy else 40) * batch]
        step = loop.semi_steps[0]
        return bench.time(lambda: step.epoch(labelled, bench.everything, posterior, 9.0)) * batch / len(labelled)

    for batch in bench.batches(64, 128):
        for noise, view in ((LOW_NOISE, "weak"), (HIGH_NOISE, "strong")):
            seconds = seconds_a_step(em_loop(bench, noise, bench.compute, batch, 2), batch)
            rows[f"{batch} {view}"] = per_step(seconds, 4 * batch, (3 * 4 + 6) * batch)
        rows[f"{batch} weak"]["plain_ms"] = 1e3 * plainly(
            bench, batch, 2, lambda loop, b=batch: seconds_a_step(loop, b)
        )
    return rows


def clustering(bench: Bench) -> dict:
    """Steps of batch anchors with a neighbour each; half of what a step of both networks takes."""
    rows: dict[str, dict] = {}

    def seconds_a_step(loop: EMLoop, batch: int) -> float:
        anchors = bench.everything[: (2 if bench.toy else 40) * batch]
        predictions = [bench.images.labels] * 2
        (both,) = loop.clustering
        return bench.time(lambda: both.epoch(anchors, predictions)) * batch / len(anchors) / 2

    for batch in bench.batches(128, 512):
        for noise, view in ((LOW_NOISE, "weak"), (HIGH_NOISE, "strong")):
            seconds = seconds_a_step(em_loop(bench, noise, bench.compute, 2, batch), batch)
            rows[f"{batch} {view}"] = per_step(seconds, 2 * batch, 3 * 2 * batch)
        rows[f"{batch} weak"]["plain_ms"] = 1e3 * plainly(
            bench, 2, batch, lambda loop, b=batch: seconds_a_step(loop, b)
        )
    return rows


def plainly(bench: Bench, semi: int, clustering: int, measure: Callable[[EMLoop], float]) -> float:
    """`measure` of a loop without what makes steps fast: fp32, plain norms, no recording; pixels stay on the device."""
    loop = em_loop(bench, LOW_NOISE, Compute(bench.compute.device, "fp32"), semi, clustering)
    for step in (*loop.semi_steps, *loop.clustering):
        step.captured = step.step
    with plain_norms():
        return measure(loop)


def evaluation(bench: Bench) -> dict:
    """One network's view of all images, and the split of both networks' labels."""
    loop = em_loop(bench, LOW_NOISE, bench.compute, 2, 2)
    net = loop.learners[0].net
    seconds = bench.time(lambda: look(net, bench.images, loop.context))
    outlooks, rows = loop.look(), loop.epoch_rows()
    return per_step(seconds, bench.count, bench.count) | {"split_s": bench.time(lambda: loop.divide(outlooks, rows))}


def beliefs(bench: Bench) -> dict:
    """Epochs of the belief loop of one network, all of its E-step included, at the batch size of `fast`."""
    context, settings = bench.context(), BeliefSettings(networks=1)
    settings = replace(settings, batch_size=bench.batches(settings.batch_size)[0])
    student = make_student(scanmix_net(bench.profile.backbone, CLASSES, context), settings, context)
    run_belief_loop([student], bench.images, replace(bench.profile, beliefs=settings), Monitor(), context)
    return {"epoch_s": context.epoch_seconds, "images_per_s": 2 * bench.count / context.epoch_seconds}


def per_step(seconds: float, trained: int, forwards: int) -> dict:
    """A step's time, images trained a second, and forward passes' worth of arithmetic a second (a backward is two)."""
    return {"ms": 1e3 * seconds, "images_per_s": trained / seconds, "forwards_per_s": forwards / seconds}


SECTIONS: dict[str, Callable[[Bench], dict]] = {
    f.__name__: f for f in (limit, plain, simclr, fast_simclr, scan, warmup, mixmatch, clustering, evaluation, beliefs)
}


def run_sections(bench: Bench, names: list[str]) -> dict:
    """Rows of every section, the call they are of and peak memory; prints each as it comes."""
    results = {}
    on_gpu = bench.compute.device.type == "cuda"
    call = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name in names:
        if on_gpu:
            torch.compiler.reset()  # a compiled view keeps to a few batch sizes
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        began = time.perf_counter()
        results[name] = {"rows": SECTIONS[name](bench), "call": call}
        if on_gpu:
            results[name]["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
        print(f"{name} ({time.perf_counter() - began:.0f} s)", json.dumps(rounded(results[name])), flush=True)
    return results


def rounded(value: object) -> object:
    """Four significant digits, in nested dictionaries."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--seconds", type=float, default=5.0, help="of training a measured row")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 16), help="of the plain loop")
    parser.add_argument("--toy", action="store_true", help="tiny sizes, to try this script out")
    options = parser.parse_args()
    bench = Bench(options.device, options.toy, options.seconds, options.workers)
    kept = json.loads(options.out.read_text()) if options.out.exists() else {"sections": {}}
    sections = kept["sections"] | run_sections(bench, options.sections)
    on_gpu = bench.compute.device.type == "cuda"
    record = {
        **rounded(summary(sections)),
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "precision": bench.compute.precision,
        "torch": torch.__version__,
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "command": "python " + " ".join(sys.argv),
        "sections": rounded(sections),
    }
    write_text(options.out, json.dumps(record, indent=1) + "\n")
    print(json.dumps({key: value for key, value in record.items() if key != "sections"}, indent=1))


if __name__ == "__main__":
    main()
