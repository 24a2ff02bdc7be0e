"""The plots of a run, drawn by matplotlib; `plots/` of the run folder holds them as PNG and SVG."""

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.mixture import GaussianMixture

from scanmix_cli.files import write_bytes
from scanmix_cli.legible import legible
from scanmix_cli.report.economics import expected_errors
from scanmix_cli.report.page.embedding import map_rows
from scanmix_cli.report.page.run_data import RunData, is_issue
from scanmix_cli.report.page.sections import SHOWN_CLASSES, class_bars, known_matrix, off_diagonal
from scanmix_cli.report.quiet import quiet

with quiet("matplotlib"):  # it tells of a cache folder that cannot be written and of fonts that it lists
    from matplotlib import rc_context
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
    from matplotlib.ticker import FixedLocator, MaxNLocator

FOLDER = "plots"
BINS = 48
STYLE: Any = {
    "svg.fonttype": "none",
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "text.parse_math": False,  # a class may be named `$x$`
}
STAGES = {"simclr": "SimCLR", "moco": "MoCo", "scan": "SCAN", "warmup": "warm-up", "scanmix": "ScanMix"}


@dataclass(frozen=True)
class Palette:
    ink: str
    soft: str
    line: str
    fine: str  # what is in order
    accent: str  # what is suspect


PRINT = Palette("#1c1c1a", "#5f5f5a", "#d9d8d2", "#b3b2ab", "#b8401f")


def save_plots(run_dir: Path, run: RunData) -> list[Path]:
    """Every plot the run has data for, as PNG and SVG below `run_dir/plots`."""
    (run_dir / FOLDER).mkdir(exist_ok=True)
    figures = {
        "expected_errors": expected_errors_curve(run, PRINT),
        "noise_matrix": noise_heatmap(run, PRINT),
        "classes": class_chart(run, PRINT),
        "losses": loss_histogram(run, PRINT),
        "learning_curves": learning_curves(run, PRINT),
        "embedding": embedding_chart(run, PRINT),
    }
    paths = []
    for name, figure in figures.items():
        if figure is not None:
            png = png_bytes(figure)
            figure.set_layout_engine(None)  # it is arranged already; any engine, "none" too, costs another drawing
            for kind, content in (("png", png), ("svg", svg_bytes(figure, name))):
                paths.append(run_dir / FOLDER / f"{name}.{kind}")
                write_bytes(paths[-1], content)
    return paths


def png_bytes(figure: Figure) -> bytes:
    return _saved(figure, {}, format="png", dpi=150, facecolor="white", metadata={"Software": None})


def svg_bytes(figure: Figure, name: str) -> bytes:
    """The same bytes for the same figure and name."""
    return _saved(figure, {"svg.hashsalt": name}, format="svg", transparent=True, metadata={"Date": None})


def _saved(figure: Figure, style: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    with rc_context(STYLE | style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # names in any script; an SVG's reader has it
        figure.savefig(stream, **options)
    return stream.getvalue()


def expected_errors_curve(run: RunData, palette: Palette) -> Figure | None:
    """Expected wrong labels among the first k of the ranking, over k."""
    ranked = run.labelled().sort_values("rank", kind="stable")
    if ranked.empty:
        return None
    found = expected_errors(ranked["p_mislabeled"].to_numpy())
    figure, axes = _figure(palette, "images looked at, most suspect first", "expected wrong labels")
    axes.plot(found, color=palette.accent)
    axes.plot([0, found[-1]], [0, found[-1]], color=palette.line, zorder=0)
    axes.set_xlim(0, len(ranked))
    axes.set_ylim(0, max(found[-1] * 1.05, 1))
    return figure


def noise_heatmap(run: RunData, palette: Palette) -> Figure | None:
    """P(given | true); only what is off the diagonal has colour. None for more classes than anyone reads."""
    classes = [_short(name) for name in run.classes]
    if not 1 < len(classes) <= SHOWN_CLASSES:
        return None
    size = 2.2 + 0.34 * len(classes)
    figure, axes = _figure(palette, "given label", "true class", (size + 0.6, size))
    matrix = known_matrix(run)
    off = off_diagonal(matrix)
    colors = LinearSegmentedColormap.from_list("suspect", ["#ffffff", palette.accent])
    axes.imshow(np.sqrt(off), cmap=colors, vmin=0, vmax=max(float(np.sqrt(off.max())), 0.2))
    axes.set_xticks(range(len(classes)), classes, rotation=90 if max(map(len, classes)) > 3 else 0)
    axes.set_yticks(range(len(classes)), classes)
    for true, given in np.argwhere(matrix >= 0.005):
        axes.text(given, true, f"{100 * matrix[true, given]:.0f}", ha="center", va="center", fontsize=7.5)
    return figure


def class_chart(run: RunData, palette: Palette) -> Figure | None:
    """Images per given label, the suspects in colour."""
    bars = class_bars(run)[::-1]
    if not bars:
        return None
    figure, axes = _figure(palette, "images with this label", "", (5.4, 1.2 + 0.28 * len(bars)))
    names = [_short(bar["name"]) for bar in bars]
    fine = [bar["total"] - bar["suspect"] for bar in bars]
    axes.barh(range(len(bars)), fine, color=palette.fine, label="in order")
    axes.barh(range(len(bars)), [bar["suspect"] for bar in bars], left=fine, color=palette.accent, label="suspect")
    axes.set_yticks(range(len(bars)), names)
    _legend(axes, palette)
    return figure


def loss_histogram(run: RunData, palette: Palette) -> Figure | None:
    """Mean loss of the given label, suspects in colour, and the two Gaussians fitted to all of it; None without two
    different losses. Images that a review dropped were not trained on and have none."""
    train = run.labelled()
    train = train[train["mean_loss"].notna()]
    losses, issue = train["mean_loss"].to_numpy(np.float64), is_issue(train).to_numpy()
    if len(losses) < 2 or np.ptp(losses) == 0:
        return None
    figure, axes = _figure(palette, "mean loss of the given label", "images")
    edges = np.linspace(losses.min(), losses.max(), BINS + 1)
    axes.hist(
        [losses[~issue], losses[issue]],
        edges,
        stacked=True,
        color=[palette.fine, palette.accent],
        label=["in order", "suspect"],
    )
    top = axes.get_ylim()[1]
    x = np.linspace(edges[0], edges[-1], 300)
    for density, style in zip(mixture_densities(losses, x), ("-", "--"), strict=True):
        axes.plot(x, density * len(losses) * (edges[1] - edges[0]), style, color=palette.ink, linewidth=1.2)
    axes.plot([], [], "-", color=palette.ink, linewidth=1.2, label="mixture, clean")
    axes.plot([], [], "--", color=palette.ink, linewidth=1.2, label="mixture, noisy")
    # the root shows the few noisy ones beside the many clean ones
    axes.set_yscale("function", functions=(_root, np.square))
    axes.set_ylim(0, top * 1.05)
    axes.yaxis.set_major_locator(FixedLocator(root_ticks(top)))
    _legend(axes, palette)
    return figure


def _root(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(values, 0))


def root_ticks(top: float) -> list[float]:
    """0 and three round numbers, evenly spread on a square-root scale up to `top`."""
    ticks = [0.0]
    for share in (0.1, 0.4, 0.9):
        power = 10.0 ** np.floor(np.log10(max(share * top, 1.0)))
        ticks.append(float(np.floor(max(share * top, 1.0) / power) * power))
    return sorted(set(ticks))


def mixture_densities(values: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted densities at x (n,) of two Gaussians fitted to values (m,), that of the smaller mean first."""
    mixture = GaussianMixture(2, reg_covar=1e-5, random_state=0).fit(values[:, None])
    low, high = np.argsort(mixture.means_[:, 0])

    def density(at: int) -> np.ndarray:
        mean, variance = mixture.means_[at, 0], mixture.covariances_[at, 0, 0]
        return mixture.weights_[at] * np.exp(-((x - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)

    return density(low), density(high)


def learning_curves(run: RunData, palette: Palette) -> Figure | None:
    """A panel per stage with its loss over the epochs, and the accuracy on the held-out part where there is one."""
    panels = _panels(run.metrics)
    if not panels:
        return None
    columns = 2 if len(panels) in (2, 4) else min(len(panels), 3)
    lines = -(-len(panels) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(6.6, 0.2 + 1.9 * lines), layout="constrained")
        for place, (title, epochs, values) in enumerate(panels):
            axes = figure.add_subplot(lines, columns, place + 1)
            _quiet(axes, palette)
            axes.plot(epochs, values, color=palette.accent, linewidth=1.4, marker="." if len(epochs) < 15 else "")
            axes.set_title(title, fontsize=10, color=palette.ink, loc="left")
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            axes.yaxis.set_major_locator(MaxNLocator(4))
    return figure


def _panels(metrics: pd.DataFrame) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Title, epochs and values of every curve that has values."""
    if metrics.empty or "stage" not in metrics:
        return []
    panels = []
    for stage in dict.fromkeys(metrics["stage"]):
        rows = metrics[metrics["stage"] == stage]
        for column, words in (("loss", "loss"), ("loss_x", "loss")):
            if column in rows and rows[column].notna().any():
                known = rows[rows[column].notna()]
                panels.append((f"{_stage(stage)}: {words}", known["epoch"].to_numpy(), known[column].to_numpy()))
    if "test_accuracy" in metrics and metrics["test_accuracy"].notna().any():
        known = metrics[metrics["test_accuracy"].notna()]
        panels.append(("held-out accuracy", np.arange(1, len(known) + 1), known["test_accuracy"].to_numpy()))
    return panels


def _stage(name: Any) -> str:
    return STAGES.get(str(name), _short(str(name)))


def embedding_chart(run: RunData, palette: Palette) -> Figure | None:
    """The map, coloured by given and by predicted label; suspects ringed."""
    places = map_rows(run)
    if places is None:
        return None
    rows, positions = places
    report = run.report.loc[rows]
    issue = is_issue(report).to_numpy()
    colors = dict(zip(run.classes, class_colors(len(run.classes)), strict=True))
    with rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.8), layout="constrained")
        for place, (column, title) in enumerate((("given_label", "given label"), ("predicted_label", "predicted"))):
            axes = figure.add_subplot(1, 2, place + 1)
            shades = [colors.get(label, palette.line) for label in report[column]]
            axes.scatter(positions[:, 0], -positions[:, 1], s=7, c=shades, linewidths=0, rasterized=True)
            ringed = positions[issue]
            axes.scatter(ringed[:, 0], -ringed[:, 1], s=26, facecolors="none", edgecolors=palette.ink, linewidths=0.7)
            axes.set_title(title, fontsize=10, loc="left")
            axes.set_axis_off()
            axes.set_aspect("equal")
        if len(colors) <= SHOWN_CLASSES:
            handles = [Patch(color=color, label=_short(name)) for name, color in colors.items()]
            figure.legend(handles=handles, loc="outside right center", frameon=False, fontsize=8)
    return figure


def class_colors(count: int) -> list[str]:
    """A colour per class, hues spread evenly; the page's script uses the same."""
    from colorsys import hls_to_rgb

    shades = []
    for k in range(count):
        red, green, blue = hls_to_rgb(k / max(count, 1), (0.42, 0.56)[k % 2], 0.55)
        shades.append(f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}")
    return shades


def _figure(palette: Palette, x: str, y: str, size: tuple[float, float] = (5.6, 3.4)) -> tuple[Figure, Any]:
    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
    _quiet(axes, palette)
    axes.set_xlabel(x, color=palette.soft)
    axes.set_ylabel(y, color=palette.soft)
    return figure, axes


def _quiet(axes: Any, palette: Palette) -> None:
    axes.tick_params(color=palette.line, labelcolor=palette.soft)
    for spine in axes.spines.values():
        spine.set_color(palette.line)


def _legend(axes: Any, palette: Palette) -> None:
    axes.legend(frameon=False, fontsize=9, labelcolor=palette.soft)


def _short(name: str, most: int = 24) -> str:
    """A name that leaves room for the plot."""
    legal = legible(name)
    return legal if len(legal) <= most else f"{legal[: most - 1]}…"
