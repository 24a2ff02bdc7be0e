"""Figures of a results folder, PNG and SVG: accuracy curves, loss histograms, clean-set precision and recall,
reliability diagrams. Needs matplotlib, which is an extra."""

import csv
import re
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.mixture import GaussianMixture

from scanmix_cli.bench import scores
from scanmix_cli.bench.cells import CELLS
from scanmix_cli.bench.compare import comparable
from scanmix_cli.files import write_file

FOLDER = "plots"
MISSING = "no plots: matplotlib is not installed; pip install scanmix-cli[bench]"
CLEAN, NOISY = "#2a7fba", "#d1495b"  # right and wrong labels
BINS = 60
FILLED = {"histtype": "stepfilled", "alpha": 0.6}


def draw_all(out: Path, cells: Sequence[dict[str, Any]]) -> list[Path]:
    """Every figure the cells have data for, below `out/plots`; nothing without matplotlib (`can_draw`)."""
    (out / FOLDER).mkdir(parents=True, exist_ok=True)
    paths = []
    for group in comparable(cells):
        first = group[0]
        words = (first["dataset"], first["noise"], "" if first["rate"] is None else f"{first['rate']:g}")
        stem = re.sub(r"[^A-Za-z0-9.+_-]+", "_", "-".join(w for w in words if w)) + f"-{first['key'][-8:]}"
        metrics = {_name(cell): read_metrics(_beside(out, cell, ".metrics.csv")) for cell in group}
        arrays = {_name(cell): read_arrays(_beside(out, cell, ".npz")) for cell in group}
        figures = {
            "accuracy": curves(metrics, {"test_accuracy": "-"}, "test accuracy"),
            "clean-set": curves(metrics, {"clean_precision": "-", "clean_recall": "--"}, "clean set"),
            "reliability": reliability_diagram(arrays),
            **{f"loss-{name.replace(' ', '-')}": loss_histogram(found, name) for name, found in arrays.items()},
        }
        paths += [path for kind, figure in figures.items() if figure for path in _save(out, f"{stem}-{kind}", figure)]
    return paths


def can_draw() -> bool:
    """matplotlib is there."""
    return find_spec("matplotlib") is not None


def read_metrics(path: Path) -> list[dict[str, str]]:
    """Rows of a cell's `metrics.csv`, none where it is missing."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Arrays of a cell, none where it has no opinion on the labels."""
    if not path.is_file():
        return {}
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


def curves(metrics: dict[str, list[dict[str, str]]], columns: dict[str, str], label: str) -> Any:
    """Columns (name to line style) over the epochs of all stages, a colour for each cell; None without any value."""
    figure, axes = _figure("epoch, all stages", label)
    drawn = False
    for number, (name, rows) in enumerate(metrics.items()):
        for column, style in columns.items():
            values = [float(row[column]) for row in rows if row.get(column)]
            if values:
                words = f"{name}, {column.split('_')[1]}" if len(columns) > 1 else name
                axes.plot(range(1, len(values) + 1), values, style, color=f"C{number}", label=words, marker=".")
                drawn = True
    if not drawn:
        return None
    axes.set_ylim(0, 1)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(fontsize="small")
    return figure


def loss_histogram(arrays: dict[str, np.ndarray], name: str) -> Any:
    """Mean loss of right and wrong labels, and the two Gaussians fitted to all of them without knowing which is which;
    None where the losses or the truth are not known."""
    if "mean_loss" not in arrays or "clean" not in arrays:
        return None
    losses, wrong = arrays["mean_loss"].astype(np.float64), arrays["clean"] != arrays["given"]
    figure, axes = _figure("mean loss of the given label", "images")
    edges = np.linspace(losses.min(), losses.max() + 1e-9, BINS + 1)
    axes.hist(
        [losses[~wrong], losses[wrong]], edges, color=[CLEAN, NOISY], label=["right labels", "wrong labels"], **FILLED
    )
    mixture = GaussianMixture(2, reg_covar=1e-6, random_state=0).fit(losses[:, None])
    x = np.linspace(edges[0], edges[-1], 400)
    scale = len(losses) * (edges[1] - edges[0])
    for order, color, label in zip(np.argsort(mixture.means_[:, 0]), (CLEAN, NOISY), ("clean", "noisy"), strict=True):
        mean, variance = mixture.means_[order, 0], mixture.covariances_[order, 0, 0]
        density = np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        axes.plot(x, scale * mixture.weights_[order] * density, color=color, label=f"{label}, fitted")
    axes.legend(fontsize="small")
    axes.set_title(name, fontsize="medium")
    return figure


def reliability_diagram(arrays: dict[str, dict[str, np.ndarray]]) -> Any:
    """Share of wrong labels over the stated probability, a line for each cell; None where nothing can be drawn."""
    figure, axes = _figure("stated probability of a wrong label", "share of wrong labels")
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    drawn = False
    for name, found in arrays.items():
        if "clean" in found:
            wrong = found["clean"] != found["given"]
            predicted, observed, counts = scores.reliability(wrong, found["p_mislabeled"])
            axes.plot(predicted[counts > 0], observed[counts > 0], marker=".", label=name)
            drawn = True
    if not drawn:
        return None
    axes.legend(fontsize="small")
    return figure


def _figure(x: str, y: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure  # an extra; without pyplot there is no global state

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return figure, axes


def _save(out: Path, stem: str, figure: Any) -> list[Path]:
    paths = [out / FOLDER / f"{stem}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        write_file(path, partial(figure.savefig, format=path.suffix[1:], dpi=150))
    return paths


def _name(cell: dict[str, Any]) -> str:
    return f"{cell['method']} seed {cell['seed']}"


def _beside(out: Path, cell: dict[str, Any], suffix: str) -> Path:
    return out / CELLS / f"{cell['key']}{suffix}"
