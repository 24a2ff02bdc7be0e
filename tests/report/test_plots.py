"""The plots as files, and as parts of the page."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from page_run import CLASSES, SUSPECTS, make_page_run

from scanmix_cli.report import plots
from scanmix_cli.report.page.charts import charts
from scanmix_cli.report.page.run_data import RunData

NAMES = ("expected_errors", "noise_matrix", "classes", "losses", "learning_curves", "embedding")


def test_every_plot_as_png_and_svg(tmp_path: Path) -> None:
    paths = plots.save_plots(tmp_path, make_page_run())
    assert {path.name for path in paths} == {f"{name}.{kind}" for name in NAMES for kind in ("png", "svg")}
    for path in paths:
        assert path.parent == tmp_path / "plots"
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
        else:
            ElementTree.fromstring(path.read_bytes())
    text = (tmp_path / "plots" / "classes.svg").read_text(encoding="utf-8")
    assert "&lt;script&gt;hit('class')&lt;/" in text


@pytest.mark.parametrize(
    "drawing", ["import scanmix_cli.report.plots", "from scanmix_cli.bench.plots import _figure; _figure('')"]
)
def test_a_cache_folder_that_cannot_be_written_is_no_news(tmp_path: Path, drawing: str) -> None:
    place = tmp_path / "file"
    place.touch()
    environment = {name: value for name, value in os.environ.items() if name != "MPLCONFIGDIR"}
    environment |= {"XDG_CACHE_HOME": str(place), "XDG_CONFIG_HOME": str(place)}
    done = subprocess.run([sys.executable, "-c", drawing], env=environment, check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_same_run_gives_the_same_svg() -> None:
    run = make_page_run()
    first, second = (plots.svg_bytes(plots.class_chart(run, plots.PRINT), "classes") for _ in range(2))
    assert first == second


def test_without_data_there_is_no_plot(tmp_path: Path) -> None:
    run = make_page_run()
    empty = RunData(run.report.head(0), run.summary, run.noise_matrix)
    names = {path.stem for path in plots.save_plots(tmp_path, empty)}
    assert names == {"noise_matrix", "classes"}


def test_the_noise_matrix_is_blank_where_no_label_names_a_class() -> None:
    run = make_page_run()
    matrix = np.full((5, 5), 0.25)
    matrix[:4] = np.eye(5)[:4]
    summary = run.summary | {"classes": [*CLASSES, "unicorn"]}
    (axes,) = plots.noise_heatmap(replace(run, summary=summary, noise_matrix=matrix), plots.PRINT).axes
    assert [text.get_position() for text in axes.texts] == [(k, k) for k in range(4)]
    assert (axes.images[0].get_array() == 0).all()


def test_the_mixture_finds_both_heaps() -> None:
    generator = np.random.default_rng(0)
    values = np.concatenate([generator.normal(0.2, 0.05, 800), generator.normal(2.0, 0.2, 200)])
    x = np.linspace(0, 3, 601)
    clean, noisy = plots.mixture_densities(values, x)
    assert (x[clean.argmax()], x[noisy.argmax()]) == pytest.approx((0.2, 2.0), abs=0.05)
    areas = clean.sum() * (x[1] - x[0]), noisy.sum() * (x[1] - x[0])
    assert areas == pytest.approx((0.8, 0.2), abs=0.02)


def test_the_histogram_counts_suspects_apart() -> None:
    (axes,) = plots.loss_histogram(make_page_run(), plots.PRINT).axes
    fine, suspect = ([bar.get_height() for bar in bars] for bars in axes.containers)
    assert (sum(fine), sum(suspect)) == (300 - SUSPECTS, SUSPECTS)


@pytest.mark.parametrize("top", [3, 40, 523, 12_000])
def test_ticks_of_the_root_scale_are_round_and_within(top: float) -> None:
    ticks = plots.root_ticks(top)
    assert ticks[0] == 0
    assert ticks == sorted(set(ticks))
    assert all(re.fullmatch(r"[0-9]0*", f"{tick:.0f}") for tick in ticks)
    assert ticks[-1] <= top


def test_learning_curves_have_a_panel_per_stage() -> None:
    figure = plots.learning_curves(make_page_run(), plots.PRINT)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "SimCLR: loss",
        "ScanMix: loss",
        "held-out accuracy",
    ]
    assert figure.axes[1].lines[0].get_ydata().tolist() == [1.0, 0.8, 0.7]


def test_charts_of_the_page_take_its_colours_and_fonts() -> None:
    found = charts(make_page_run())
    assert set(found) == {"losses", "learning_curves"}
    for name, svg in found.items():
        ElementTree.fromstring(svg.replace("xlink:", ""))
        assert "var(--accent)" in svg
        assert "var(--font)" in svg
        assert "#01020" not in svg
        assert all(element.startswith(f"{name}-") for element in re.findall(r'\bid="([^"]*)"', svg))


def test_colours_of_classes_differ() -> None:
    assert len(set(plots.class_colors(30))) == 30
    assert plots.embedding_chart(replace(make_page_run(), evidence={}), plots.PRINT) is None
    legend = plots.embedding_chart(make_page_run(), plots.PRINT).legends[0]
    assert len(legend.get_texts()) == len(CLASSES)
