"""`scanmix bench` as a function: methods side by side on the same images, labels, seed and budget.

Every finished method is one file in `cells/` and is not run again, so an interruption loses at most one of them, and
several processes can share a results folder: each takes up what the others finished.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scanmix_cli.bench import noise
from scanmix_cli.bench.cells import CellKey, CellStore, settings_digest
from scanmix_cli.bench.cleanlab_method import require_cleanlab
from scanmix_cli.bench.compare import DIGEST
from scanmix_cli.bench.encoder import Encoder, shared_encoder
from scanmix_cli.bench.injected import NoisyLabels, clean_labels, noisy_labels
from scanmix_cli.bench.method_run import MethodRun, image_set, run_method
from scanmix_cli.bench.plots import draw_all
from scanmix_cli.bench.protocol import bench_profile, check_stages
from scanmix_cli.bench.request import CLEANLAB, PRETRAINED, BenchRequest
from scanmix_cli.bench.results import write_results
from scanmix_cli.bench.setup import BenchSet, load_set, read_data
from scanmix_cli.bench.sharing import alone
from scanmix_cli.engine.device import Compute, choose_compute
from scanmix_cli.engine.progress import Reporter
from scanmix_cli.errors import RunError
from scanmix_cli.files import write_file
from scanmix_cli.method.settings import Profile
from scanmix_cli.workflow.shortage import memory_told

LABELS = "labels"
CEILING = "cross-entropy"  # the method that `--clean-ceiling` trains on the clean labels


@dataclass(frozen=True)
class Bench:
    """Everything that the cells of one call share."""

    request: BenchRequest
    data: BenchSet
    profile: Profile
    compute: Compute
    reporter: Reporter
    store: CellStore


def run_bench(request: BenchRequest, reporter: Reporter) -> list[dict[str, Any]]:
    """Run what is not finished yet; returns all cells of the results folder after writing `results.*`."""
    bench = open_bench(request, reporter)
    for seed in request.seeds:
        data = bench.data
        given = noisy_labels(request, data.classes, data.train.labels, data.given, seed, data.images)
        save_labels(bench, given)
        if request.clean_ceiling and bench.data.clean_known:
            clean = clean_labels(bench.data.train.labels)
            save_labels(bench, clean)
            run_cell(bench, clean, CEILING, seed)
        for method in request.methods:
            run_cell(bench, given, method, seed)
    cells = publish(bench)
    draw_all(request.out, cells)
    return cells


def publish(bench: Bench) -> list[dict[str, Any]]:
    """`results.*` of all finished cells, those of other processes too; one process at a time, so that the last word
    has every cell."""
    with alone(bench.request.out, "results", bench.reporter.message):
        return write_results(bench.request.out, bench.store.all())


def open_bench(request: BenchRequest, reporter: Reporter) -> Bench:
    """Read the data and choose the profile; nothing is written yet."""
    compute = choose_compute(request.device)
    data, profile = load_set(request, read_data(request), lambda facts: bench_profile(request, facts, compute))
    for method in request.methods:
        check_stages(method, profile)
        if method == CLEANLAB:
            require_cleanlab()
    for note in data.notes:
        reporter.message(note)
    reporter.message(f"images: {data.files}; data fingerprint {data.fingerprint}")
    return Bench(request, data, profile, compute, reporter, CellStore(request.out))


def save_labels(bench: Bench, given: NoisyLabels) -> Path:
    """`labels/<noise>-<rate>-<recipe>-seed<k>.npy` in the results folder, made here; says the rates and the hash."""
    clean, out = bench.data.train.labels if bench.data.clean_known else None, bench.request.out
    try:
        (out / LABELS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{out} cannot be made ({error.strerror}); name another folder with --out") from None
    with alone(out, LABELS, bench.reporter.message):
        path = label_path(bench, given)
        write_file(path, lambda file: np.save(file, given.labels))
    nominal = "none" if given.rate is None else f"{given.rate:g}"
    realised = "unknown" if clean is None else f"{noise.realised_rate(clean, given.labels):.4f}"
    bench.reporter.message(
        f"labels {path.name}: {given.source}; nominal rate {nominal}, realised {realised}, "
        f"hash {noise.label_hash(given.labels)}"
    )
    return path


def label_path(bench: Bench, given: NoisyLabels) -> Path:
    """Where labels are kept; with their hash in the name where other labels have the plain one."""
    stem = given.stem(bench.data.train.labels if bench.data.clean_known else None)
    path = bench.request.out / LABELS / f"{stem}.npy"
    try:
        taken = path.is_file() and not np.array_equal(np.load(path, allow_pickle=False), given.labels)
    except (ValueError, EOFError):  # damaged: written anew
        taken = False
    return path.with_name(f"{stem}-{noise.label_hash(given.labels)}.npy") if taken else path


def run_cell(bench: Bench, given: NoisyLabels, method: str, seed: int) -> dict[str, Any]:
    """A finished cell from its file, or run now; where another process is at it, this one waits for it."""
    data, request = bench.data, bench.request
    clean = data.train.labels if data.clean_known else None
    digest = settings_digest(bench.profile, request.time_budget, data.fingerprint, noise.label_hash(given.labels))
    key = CellKey(data.name, given.stem(clean), method, seed, digest)
    with alone(request.out, key.name, bench.reporter.message):
        if (finished := bench.store.load(key)) is not None:
            bench.reporter.message(f"{method}, seed {seed}: finished on {finished['date']}, not run again")
            return finished
        bench.reporter.message(f"{method}, seed {seed}, on {given.stem(clean)}")
        run = MethodRun(data, given, bench.profile, method, seed, request.time_budget, bench.compute, bench.reporter)
        go_on = "finished cells are kept: go on with the same command on another --device or without this method"
        with memory_told(bench.compute.device, lambda: f"at {method}, seed {seed}; {go_on}"):
            cell = run_method(run, _encoder(bench, method, seed), bench.store, key)
        cell |= {"profile": bench.profile.name, "command": request.command, "images": data.files}
        cell["label_file"] = f"{LABELS}/{label_path(bench, given).name}"
        cell[DIGEST] = settings_digest(bench.profile)
        bench.store.save(key, cell)
    publish(bench)
    return cell


def _encoder(bench: Bench, method: str, seed: int) -> Encoder | None:
    if method not in PRETRAINED:
        return None
    images = image_set(bench.data, bench.data.train, None, bench.profile, bench.compute)
    return shared_encoder(
        bench.request.out, images, bench.data.fingerprint, bench.profile, seed, bench.compute, bench.reporter
    )
