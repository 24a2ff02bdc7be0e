"""`scanmix train` as a function: data in, run folder out."""

import hashlib
import platform
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from scanmix_cli.data.audit import require_readable
from scanmix_cli.data.cache import default_cache_dir
from scanmix_cli.data.copies import CopySets, copy_sets
from scanmix_cli.data.cores import usable_cores
from scanmix_cli.data.near_by_embedding import joined_by_embedding
from scanmix_cli.data.overview import before_training, overview
from scanmix_cli.data.pixels import SCAN_SIZE, Pixels, let_go, load_pixels, require_same_rows
from scanmix_cli.data.samples import Samples
from scanmix_cli.engine.budget import Budget
from scanmix_cli.engine.checkpoints import Checkpoints
from scanmix_cli.engine.config import to_table
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute, choose_compute
from scanmix_cli.engine.identity import check_same, fingerprint, flat, remember
from scanmix_cli.engine.parallel import from_writer, is_writer, require_same, world, writer_first
from scanmix_cli.engine.progress import Logged, Reporter, Silent
from scanmix_cli.engine.run_folder import check_free, disk_told, opened_folder, point_latest
from scanmix_cli.errors import RunError
from scanmix_cli.evidence.store import EVIDENCE, save_evidence
from scanmix_cli.evidence.verdicts import judge
from scanmix_cli.files import write_toml
from scanmix_cli.method.settings import Profile
from scanmix_cli.report.decided import apply_decisions
from scanmix_cli.report.files import write_run_tables
from scanmix_cli.report.page.pictures import Sources
from scanmix_cli.report.page.run_data import read_run
from scanmix_cli.report.table import build_report
from scanmix_cli.report.terminal import closing_panel
from scanmix_cli.report.thumbnails import from_pixels, from_run
from scanmix_cli.version import __version__
from scanmix_cli.workflow.classifier import Classifier, save_classifier
from scanmix_cli.workflow.facts import facts_of
from scanmix_cli.workflow.finished import finished_summary, identity_digest
from scanmix_cli.workflow.learning import Trained, learn
from scanmix_cli.workflow.measured import decide_weights
from scanmix_cli.workflow.outlook import describe_plan, device_name
from scanmix_cli.workflow.plan import Plan, check_names, make_plan
from scanmix_cli.workflow.request import Given, Request
from scanmix_cli.workflow.reviewed import TrainingLabels, given_labels, read_reviewed
from scanmix_cli.workflow.shortage import memory_told, smaller
from scanmix_cli.workflow.still import RowsOf
from scanmix_cli.workflow.weights import choose_outside, load_encoder, weights_digest

OTHER_SHARE = 0.03  # of a time budget: pixels, verdicts and files after training


@dataclass(frozen=True)
class Run:
    """A finished run and the content of its summary.json."""

    folder: Path
    summary: dict[str, Any]


@dataclass(frozen=True)
class Destination:
    """Where a run goes, how it treats what is there, and what it leaves."""

    path: Path
    overwrite: bool = False
    resume: bool = False
    keep_checkpoints: bool = True
    html: bool = True
    temporary: bool = False  # nobody comes back to it: no pixel cache, and it is not named as the newest run
    numbered: bool = False  # the name is ours: where another run takes it meanwhile, the next number serves


def train(
    samples: Samples,
    request: Request,
    destination: Destination,
    reporter: Reporter,
    given: Given | None = None,
) -> Run:
    """Train on `samples` and write the run folder. Raises a ScanmixError for everything a user can mend.

    Whatever ends the run early, the last finished epoch is saved first where that can be done.
    Called in every process that shares the run (`parallel.joined`) it trains with all of them; one of them writes.
    """
    began = time.monotonic()
    check_names(request, given)
    compute = choose_compute(request.device, request.precision)
    record = Logged(reporter)
    log: Reporter = record if is_writer() else Silent()
    if compute.is_slow:
        log.message(f"warning: a CPU is many times slower in {compute.precision} than in fp32; use --precision fp32")
    require_same(samples.fingerprint(), "data")
    require_same(
        f"{device_name(compute.device)}, torch {torch.__version__}, scanmix {__version__}", "device or versions"
    )
    asked = (destination.path, destination.overwrite, destination.resume)
    if not destination.numbered:
        from_writer(lambda: check_free(*asked))
    load = partial(
        load_pixels,
        samples,
        workers=request.workers or usable_cores(),
        cache_dir=None if destination.temporary else default_cache_dir(),
        on_progress=log.decoding,
        truncated=request.truncated,
    )
    labels = given_labels(samples)
    if request.reviewed:
        samples, labels = read_reviewed(Path(request.reviewed), samples)
        for warning in labels.warnings:
            log.message(f"warning: {warning}")
    less = smaller(compute.device)
    with memory_told(compute.device, lambda: f"before training began; {less}"):
        pixels = writer_first(lambda: load(SCAN_SIZE))
        require_readable(samples, pixels)
        facts = facts_of(samples, pixels)
        if given is None:
            request, measured = decide_weights(request, samples, pixels, facts, compute, log)
            if measured:
                log.message(measured)
        spent = time.monotonic() - began
        plan = from_writer(lambda: make_plan(request, facts, compute, given, destination.resume, spent))
        if plan.profile.weights:  # what is wrong with them is said before there is a folder
            writer_first(lambda: load_encoder(choose_outside(plan.profile.weights, plan.profile.backbone)))
    identity = identity_of(samples, labels, pixels, plan.profile, request.seed, compute)
    kept = destination.path / "checkpoints"
    if destination.resume:
        from_writer(lambda: check_same(kept, identity))
        done = finished_summary(destination.path, fingerprint(identity))
        if done is not None:
            log.message(f"{destination.path} has finished already with these data and settings; nothing to do")
            return noted(Run(destination.path, done), destination, reporter)
        if not kept.exists():
            log.message(f"warning: {destination.path} has no checkpoints, so it is trained from the beginning")
    open_it = partial(opened_folder, *asked, destination.numbered)
    with open_it() if is_writer() else nullcontext(destination.path) as opened, disk_told(opened):
        path = from_writer(lambda: opened)
        destination, kept = replace(destination, path=path), path / "checkpoints"
        if is_writer():
            write_toml(path / "config.toml", {"run": to_table(request), "profile": to_table(plan.profile)})
            remember(kept, identity)
            record.open(path / "log.txt")
        sets = copy_sets(pixels)
        for warning in before_training(overview(samples, pixels, sets)):
            log.message(f"warning: {warning}")
        log.message(describe_plan(plan))
        if plan.profile.stored_size != SCAN_SIZE:
            with memory_told(compute.device, lambda: f"while images were read; {less}, with --overwrite"):
                larger = writer_first(lambda: load(plan.profile.stored_size))
            require_same_rows(samples, pixels.rows, larger.rows)
            pixels = larger
        decoding = time.monotonic() - began
        left = request.time_budget * (1 - OTHER_SHARE) - decoding
        context = Context(
            compute,
            request.seed,
            log,
            Checkpoints(kept, fingerprint(identity), destination.resume, log.message),
            Budget(max(left, 1.0) if request.time_budget else None, plan.seconds, least=plan.least),
            path / "metrics.csv" if is_writer() else None,
            plan.profile.epoch_images,
        )
        told = memory_told(compute.device, lambda: f"in {context.place}; {less}, with --overwrite")
        with told, _kept_at_the_end(context), closing(log):
            trained = learn(samples, labels, pixels, plan.profile, context)
            seconds = {"decoding": decoding, **context.seconds, "total": time.monotonic() - began}
            timings = {stage: round(value, 3) for stage, value in seconds.items()}
            run = from_writer(lambda: conclude(samples, pixels, sets, plan, trained, destination, timings, context))
            if is_writer():
                record.note(closing_panel(run.summary))
        return noted(run, destination, reporter)


def noted(run: Run, destination: Destination, reporter: Reporter) -> Run:
    """The run, named as the newest one unless nobody comes back to it; where that cannot be, a warning says so."""
    if not destination.temporary and is_writer():
        try:
            point_latest(run.folder)
        except RunError as error:
            reporter.message(f"warning: the newest run is not noted, so name this one with --run {run.folder}; {error}")
    return run


def identity_of(
    samples: Samples, labels: TrainingLabels, pixels: Pixels, profile: Profile, seed: int, compute: Compute
) -> dict[str, str]:
    """All that decides what comes out of a run, by names that a person can read."""
    content = b"" if pixels.prints is None else pixels.prints.tobytes()
    facts = {
        "rows": len(samples),
        "readable images": len(pixels.rows),
        "classes": len(samples.classes),
        "names, splits or labels": samples.fingerprint(),
        "pictures": hashlib.sha256(pixels.rows.tobytes() + content).hexdigest(),
        "decisions of the review": hashlib.sha256(labels.fingerprint().encode()).hexdigest(),
        "seed": seed,
        "device": compute.device.type,
        "precision": compute.precision,
        "outside weights": weights_digest(profile.weights),
    }
    return flat({**facts, **to_table(profile)})


@contextmanager
def _kept_at_the_end(context: Context) -> Iterator[None]:
    """Keep what was done so far, whatever ends the run."""
    try:
        yield
    except BaseException:
        with suppress(RunError, OSError):  # a full disk is what the first error tells of
            context.save_progress()
        raise


def conclude(
    samples: Samples,
    pixels: Pixels,
    sets: CopySets,
    plan: Plan,
    trained: Trained,
    destination: Destination,
    timings: dict[str, float],
    context: Context,
) -> Run:
    """Verdicts, classifier, tables and page of a trained run; summary.json comes last of the tables."""
    outcome, path = trained.outcome, destination.path
    context.place = "the verdicts"
    assert outcome.evidence is not None
    neighbors = None if outcome.neighbors is None else outcome.neighbors.cpu().numpy()
    labels = trained.given.ids[trained.rows]
    regression = None if outcome.regression is None else outcome.regression.cpu().numpy()
    open_errors = trained.given.open_errors
    verdicts = judge(outcome.evidence, labels, neighbors, regression=regression, open_errors=open_errors)
    kept = (outcome.evidence, trained.rows, labels, neighbors, trained.consistency, trained.embedding)
    save_evidence(path / EVIDENCE, *kept, verdicts.two_classes)
    note = save_classifier(path / "model", trained.classifier)
    if note.problem:
        context.reporter.message(f"warning: {note.problem}")
    others = _predict_others(pixels, trained.rows, trained.classifier, context)
    near = sets.near if neighbors is None else joined_by_embedding(sets.near, pixels, trained.rows, neighbors, sets.bar)
    let_go(pixels.images)  # copies were looked for in most of them
    report = build_report(samples, pixels, verdicts, trained.rows, others, sets.exact, near)
    report = apply_decisions(report, trained.given.decisions)
    trained.given.carry_on(path)
    own = {
        **trained.given.counts(),
        "profile": plan.profile.name,
        "backbone": plan.profile.backbone,
        "weights": plan.profile.weights,
        "image_size": plan.profile.image_size,
        "accuracy": {name: round(value, 6) for name, value in trained.test.items()},
        "identity": identity_digest(context.checkpoints.fingerprint),
        "seed": context.seed,
        "device": device_name(context.device),
        "precision": context.compute.precision,
        "processes": world(),
        "versions": {"scanmix": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "seconds": timings,
    }
    summary = write_run_tables(path, report, samples, pixels, verdicts, own)
    if destination.html:
        from scanmix_cli.report.html import write_html  # Matplotlib: training starts a second sooner
        from scanmix_cli.report.plots import save_plots

        whole = read_run(path)
        paths = [str(file) for file in samples.table["path"]]
        write_html(path / "report.html", whole, Sources(from_run(paths, pixels), from_pixels(pixels)))
        save_plots(path, whole)
    if not destination.keep_checkpoints:
        context.checkpoints.remove()
    return Run(path, summary)


def _predict_others(
    pixels: Pixels, rows: np.ndarray, classifier: Classifier, context: Context
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and predicted classes of the readable images that were not trained on."""
    others = np.setdiff1d(pixels.rows, rows, assume_unique=True)
    return others, classifier.probabilities(RowsOf(pixels, others), context.compute).argmax(1)
