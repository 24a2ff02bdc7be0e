"""Figures of a results folder, PNG and SVG: accuracy curves, loss histograms, clean-set precision and recall,
reliability diagrams."""

import csv
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from sklearn.mixture import GaussianMixture

from scanmix_cli.bench import scores
from scanmix_cli.bench.cells import CELLS, shortened
from scanmix_cli.bench.compare import comparable
from scanmix_cli.errors import DataError
from scanmix_cli.files import write_file
from scanmix_cli.report.quiet import quiet

FOLDER = "plots"
CLEAN, NOISY = "#2a7fba", "#d1495b"  # right and wrong labels
COLORS = {  # of the methods, the same in every figure; Okabe and Ito's, which colour-blind readers can tell apart
    "scanmix": "#0072b2",
    "pretrain+dividemix": "#009e73",
    "dividemix": "#e69f00",
    "scan": "#56b4e9",
    "cross-entropy": "#7f7f7f",
    "mixup": "#cc79a7",
    "elr": "#d55e00",
    "cleanlab": "#000000",
}
BINS = 60
FILLED = {"histtype": "stepfilled", "alpha": 0.6}
FULL_MARKER = 9.0  # points: a bin of the reliability diagram that holds all labels

Run = tuple[str, int]  # method and seed: a line of a figure


def draw_all(out: Path, cells: Sequence[dict[str, Any]]) -> list[Path]:
    """Every figure the cells have data for, below `out/plots`."""
    (out / FOLDER).mkdir(parents=True, exist_ok=True)
    paths = []
    for group in comparable(cells):
        first = group[0]
        words = [first["dataset"], first["noise"], "" if first["rate"] is None else f"{first['rate']:g}"]
        readable = "-".join(shortened(w) for w in words if w)
        stem = re.sub(r"[^A-Za-z0-9.+_-]+", "_", readable) + f"-{first['key'][-8:]}"
        title = " ".join(w for w in words if w)
        metrics = {_run(cell): read_metrics(_beside(out, cell, ".metrics.csv")) for cell in group}
        arrays = {_run(cell): read_arrays(_beside(out, cell, ".npz")) for cell in group}
        figures = {
            "accuracy": curves(metrics, {"test_accuracy": "test accuracy, %"}, title),
            "clean-set": curves(
                metrics, {"clean_precision": "precision of the clean set, %", "clean_recall": "its recall, %"}, title
            ),
            "reliability": reliability_diagram(arrays, title),
        }
        for (method, seed), found in arrays.items():
            figures[f"loss-{method}-seed-{seed}"] = loss_histogram(found, f"{title}: {method}, seed {seed}")
        paths += [path for kind, figure in figures.items() if figure for path in _save(out, f"{stem}-{kind}", figure)]
    return paths


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
    try:
        with np.load(path) as archive:
            return {name: archive[name] for name in archive.files}
    except (BadZipFile, ValueError, EOFError) as error:
        raise DataError(
            f"{path} is damaged ({error}): remove it and {path.stem}.json, and the cell is run again"
        ) from error


def curves(metrics: dict[Run, list[dict[str, str]]], columns: dict[str, str], title: str) -> Any:
    """A panel for each column (name to axis label), in percent over the epochs that have it, a line for each run and a
    colour for each method; None without any value."""
    figure, panels = _figure(title, columns=len(columns))
    drawn = False
    for axes, (column, label) in zip(panels, columns.items(), strict=True):
        for (method, _), rows in metrics.items():
            values = [100 * float(row[column]) for row in rows if row.get(column)]
            if values:
                axes.plot(range(1, len(values) + 1), values, **_style(method), markevery=[-1])
                drawn = True
        axes.set(xlabel="epoch with labels", ylabel=label, ylim=(0, 101))
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    if not drawn:
        return None
    _legend(panels[-1])
    return figure


def loss_histogram(arrays: dict[str, np.ndarray], title: str) -> Any:
    """Mean loss of right and wrong labels, and the two Gaussians fitted to all of them without knowing which is which;
    None where the losses or the truth are not known."""
    if "mean_loss" not in arrays or "clean" not in arrays:
        return None
    losses, wrong = arrays["mean_loss"].astype(np.float64), arrays["clean"] != arrays["given"]
    figure, (axes,) = _figure(title)
    edges = np.linspace(losses.min(), losses.max() + 1e-9, BINS + 1)
    kinds = (losses[~wrong], f"right labels ({(~wrong).sum():,})"), (losses[wrong], f"wrong labels ({wrong.sum():,})")
    for (values, label), color in zip(kinds, (CLEAN, NOISY), strict=True):
        axes.hist(values, edges, color=color, label=label, **FILLED)
    mixture = GaussianMixture(2, reg_covar=1e-6, random_state=0).fit(losses[:, None])
    x = np.linspace(edges[0], edges[-1], 400)
    scale = len(losses) * (edges[1] - edges[0])
    for order, color, label in zip(np.argsort(mixture.means_[:, 0]), (CLEAN, NOISY), ("clean", "noisy"), strict=True):
        mean, variance = mixture.means_[order, 0], mixture.covariances_[order, 0, 0]
        density = np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        axes.plot(x, scale * mixture.weights_[order] * density, color=color, label=f"{label}, fitted")
    axes.set(xlabel="cross-entropy of the given label, mean over epochs", ylabel="images")
    axes.legend(fontsize="small", frameon=False)
    return figure


def reliability_diagram(arrays: dict[Run, dict[str, np.ndarray]], title: str) -> Any:
    """Share of wrong labels over the stated probability, a line for each run and a colour for each method; the area of
    a marker is the share of labels in its bin. None where nothing can be drawn."""
    figure, (axes,) = _figure(title, width=4.6, height=4.8)
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":", label="calibrated")
    drawn = False
    for (method, _), found in arrays.items():
        if "clean" in found:
            wrong = found["clean"] != found["given"]
            predicted, observed, counts = scores.reliability(wrong, found["p_mislabeled"])
            filled = counts > 0
            style = _style(method) | {"marker": None}
            axes.plot(predicted[filled], observed[filled], **style, alpha=0.7)
            area = (FULL_MARKER**2 * counts[filled] / counts.sum()).clip(4)
            axes.scatter(predicted[filled], observed[filled], area, color=style["color"])
            drawn = True
    if not drawn:
        return None
    axes.set(xlabel="stated probability of a wrong label", ylabel="share of wrong labels", aspect="equal")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    _legend(axes)
    return figure


def _style(method: str) -> dict[str, Any]:
    return {"color": COLORS[method], "label": method, "marker": "o", "markersize": 3, "linewidth": 1.3}


def _legend(axes: Any) -> None:
    """Every method once, however many seeds it has."""
    once = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    axes.legend(once.values(), once.keys(), fontsize="small", frameon=False)


def _figure(title: str, width: float = 6.0, height: float = 4.0, columns: int = 1) -> tuple[Any, list[Any]]:
    """A figure and its panels side by side."""
    with quiet("matplotlib"):
        from matplotlib.figure import Figure  # slow to import; without pyplot there is no global state

    figure = Figure(figsize=(width if columns == 1 else 4.5 * columns, height), layout="constrained")
    figure.suptitle(title, fontsize="medium")
    panels = [figure.add_subplot(1, columns, k + 1) for k in range(columns)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    return figure, panels


def _save(out: Path, stem: str, figure: Any) -> list[Path]:
    paths = [out / FOLDER / f"{stem}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        write_file(path, partial(figure.savefig, format=path.suffix[1:], dpi=150))
    return paths


def _run(cell: dict[str, Any]) -> Run:
    return cell["method"], cell["seed"]


def _beside(out: Path, cell: dict[str, Any], suffix: str) -> Path:
    return out / CELLS / f"{cell['key']}{suffix}"
