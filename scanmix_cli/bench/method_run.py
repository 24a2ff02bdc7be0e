"""One method from networks to scores: the inside of a benchmark cell."""

import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np
import torch

from scanmix_cli.bench import machine, noise, scores
from scanmix_cli.bench.brief import images_an_epoch
from scanmix_cli.bench.cells import CellKey, CellStore
from scanmix_cli.bench.cleanlab_method import TRAININGS, learn_with_cleanlab
from scanmix_cli.bench.encoder import Encoder
from scanmix_cli.bench.injected import NoisyLabels
from scanmix_cli.bench.opinion import SCORES, Opinion, opinion_of
from scanmix_cli.bench.path_reader import Part
from scanmix_cli.bench.protocol import shares
from scanmix_cli.bench.request import CLEANLAB
from scanmix_cli.bench.setup import BenchSet
from scanmix_cli.engine.budget import Budget
from scanmix_cli.engine.checkpoints import Checkpoints
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.progress import Reporter
from scanmix_cli.files import write_file
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.method.methods import METHODS, Outcome
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.settings import Profile
from scanmix_cli.workflow.facts import DataFacts
from scanmix_cli.workflow.plan import seconds_per_image
from scanmix_cli.workflow.schedule import in_parts
from scanmix_cli.workflow.sets import place_pixels
from scanmix_cli.workflow.train import device_name

TOP, TOP_CLASSES = 5, 50  # the second accuracy that WebVision and Mini-ImageNet tables print, and their least classes


@dataclass(frozen=True)
class MethodRun:
    """What a cell is run with."""

    data: BenchSet
    given: NoisyLabels
    profile: Profile
    method: str
    seed: int
    time_budget: float
    compute: Compute
    reporter: Reporter


def run_method(run: MethodRun, encoder: Encoder | None, store: CellStore, key: CellKey) -> dict[str, Any]:
    """Train, judge, score; writes the cell's `metrics.csv` and arrays beside it and returns the cell itself."""
    machine.start_memory(run.compute.device)
    store.folder.mkdir(parents=True, exist_ok=True)
    context = _context(run, store, key)
    monitor = _monitor(run)
    began = time.monotonic()
    outcome, opinion = _learn(run, encoder, monitor, context)
    wall = time.monotonic() - began
    if opinion is not None:
        clean = {"clean": run.data.train.labels.astype(np.int16)} if run.data.clean_known else {}
        arrays = {**opinion.arrays(), "given": run.given.labels.astype(np.int16), **clean}
        write_file(store.path(key, ".npz"), lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
    cell = {
        **_identity(run, key),
        **_accuracies(run, outcome, monitor, context),
        **_detection(run, opinion),
        **_costs(run, encoder, context, wall),
    }
    context.checkpoints.remove()
    return cell


def image_set(data: BenchSet, part: Part, labels: np.ndarray | None, profile: Profile, compute: Compute) -> ImageSet:
    """A part for the device, with other labels int64 (N,) where given."""
    pixels = place_pixels(part.images, np.arange(len(part.images)), compute.device)
    numbers = torch.from_numpy(part.labels if labels is None else labels).to(compute.device)
    return ImageSet(pixels, numbers, len(data.classes), profile.image_size, profile.mean, profile.std)


def _context(run: MethodRun, store: CellStore, key: CellKey) -> Context:
    """Long cells can be resumed; one with a time budget is short, and starts afresh so that the budget is kept."""
    facts = DataFacts(len(run.data.train.labels), len(run.data.classes), run.profile.image_size)
    most = 0
    if run.time_budget and not run.compute.accelerated:
        seconds = run.time_budget / (TRAININGS if run.method == CLEANLAB else 1)
        most = images_an_epoch(run.method, run.profile, facts, seconds, seconds_per_image(run.profile, run.compute))
        if most:
            run.reporter.message(f"an epoch of all images does not fit {run.time_budget:g} s: epochs of {most} images")
    budget = Budget(run.time_budget or None, shares(run.method, run.profile, facts))
    folder = None if run.time_budget or run.method == CLEANLAB else store.path(key, ".checkpoints")
    checkpoints = Checkpoints(folder, key.name, resume=True, tell=run.reporter.message)
    metrics = store.path(key, ".metrics.csv")
    return Context(run.compute, run.seed, run.reporter, checkpoints, budget, metrics, most=most)


def _monitor(run: MethodRun) -> Monitor:
    data = run.data
    held_out = None if data.test is None else image_set(data, data.test, None, run.profile, run.compute)
    return Monitor(held_out, data.train.labels if data.clean_known else None)


def _learn(
    run: MethodRun, encoder: Encoder | None, monitor: Monitor, context: Context
) -> tuple[Outcome, Opinion | None]:
    images = image_set(run.data, run.data.train, run.given.labels, run.profile, run.compute)
    if run.method == CLEANLAB:
        return learn_with_cleanlab(images, run.profile, run.time_budget, monitor, context)
    loaded = None if encoder is None else encoder.load(run.profile, context)
    outcome = METHODS[run.method](images, in_parts(run.profile, context.most), monitor, context, loaded)
    return outcome, opinion_of(outcome, run.given.labels)


def _identity(run: MethodRun, key: CellKey) -> dict[str, Any]:
    data, given = run.data, run.given
    return {
        "key": key.name,
        "dataset": data.name,
        "noise": given.name,
        "rate": given.rate,
        "realised_rate": noise.realised_rate(data.train.labels, given.labels) if data.clean_known else None,
        "recipe": given.recipe,
        "label_seed": given.seed,
        "label_hash": noise.label_hash(given.labels),
        "method": run.method,
        "seed": run.seed,
        "fingerprint": data.fingerprint,
        "train_images": len(data.train.labels),
        "test_images": 0 if data.test is None else len(data.test.labels),
    }


def _accuracies(run: MethodRun, outcome: Outcome, monitor: Monitor, context: Context) -> dict[str, Any]:
    """Best and last of the ensemble (all networks of the method) and of a single network (mean of the two)."""
    names = ("best", "last", "best_single", "last_single", "top5", "extra_tests")
    cell: dict[str, Any] = dict.fromkeys(names)
    cell["networks"] = len(outcome.nets)
    if monitor.held_out is None or run.data.test is None:
        return cell
    if run.method == "scan":
        logits = forward_all(outcome.nets[0].cluster_logits, outcome.nets[0], monitor.held_out, context)
        clusters = logits.argmax(1).cpu().numpy()
        last = scores.matched_accuracy(clusters, run.data.test.labels, len(run.data.classes))
        return cell | {"best": last, "last": last, "best_single": last, "last_single": last}
    rows = [row for row in context.history.rows if "test_accuracy" in row]
    ensemble = [row["test_accuracy"] for row in rows]
    single = [np.mean([row.get(f"test_accuracy_net{k}", row["test_accuracy"]) for k in (1, 2)]) for row in rows]
    main = sum(row["stage"] == rows[-1]["stage"] for row in rows)  # the last stage alone counts for "last"
    figures = max(ensemble), scores.final_mean(ensemble[-main:]), float(max(single)), scores.final_mean(single[-main:])
    cell |= dict(zip(names, (round(figure, 6) for figure in figures), strict=False))
    if len(run.data.classes) >= TOP_CLASSES:
        cell["top5"] = _final(run, outcome, run.data.test, context)[f"top{TOP}"]
    cell["extra_tests"] = {name: _final(run, outcome, part, context) for name, part in run.data.extra_tests.items()}
    return cell


def _final(run: MethodRun, outcome: Outcome, part: Part, context: Context) -> dict[str, float]:
    """Top-1 and top-5 accuracy of the summed logits after the last epoch."""
    images = image_set(run.data, part, None, run.profile, run.compute)
    logits = torch.stack([forward_all(net, net, images, context) for net in outcome.nets]).sum(0).cpu().numpy()
    return {f"top{k}": scores.top_k_accuracy(logits, part.labels, k) for k in (1, TOP)}


def _detection(run: MethodRun, opinion: Opinion | None) -> dict[str, Any]:
    cell: dict[str, Any] = dict.fromkeys(SCORES)
    if opinion is not None and run.data.clean_known:
        cell |= opinion.scores(run.data.train.labels, run.given.labels)
    elif opinion is not None:
        cell["noise_rate_estimate"] = opinion.noise_rate
    return cell


def _costs(run: MethodRun, encoder: Encoder | None, context: Context, wall: float) -> dict[str, Any]:
    """Seconds per stage, the shared pre-training counted in; `wall` is this process's share without it.

    Epoch rows survive a resume, so they are summed; what lies between the stages is this process's own.
    """
    stages: dict[str, float] = {}
    if encoder is not None and run.profile.contrastive is not None:
        stages[run.profile.contrastive.objective] = encoder.seconds
    epochs = 0
    for row in context.history.rows:
        stages[row["stage"]] = stages.get(row["stage"], 0.0) + row["seconds"]
        epochs += row["stage"] != "neighbors"
    own = sum(row["seconds"] for row in context.history.rows)
    stages["other"] = max(wall - own, 0.0)
    total = sum(stages.values())
    return {
        "seconds": {name: round(value, 3) for name, value in stages.items()},
        "minutes": round(total / 60, 4),
        "images_per_second": round((context.most or len(run.data.train.labels)) * epochs / own, 1) if own else None,
        "peak_memory_mib": machine.peak_memory(run.compute.device),
        "time_budget": run.time_budget,
        "images_an_epoch": context.most or len(run.data.train.labels),
        "epochs": run.profile.loop_epochs,
        "supervised_epochs": run.profile.supervised.epochs,
        "pretrain_epochs": run.profile.contrastive.epochs if run.profile.contrastive and encoder else 0,
        "backbone": run.profile.backbone,
        "device": device_name(run.compute.device),
        "arithmetic": run.compute.precision,
        "pretrain_device": None if encoder is None else encoder.device,
        "versions": machine.versions(),
        "commit": machine.commit(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
