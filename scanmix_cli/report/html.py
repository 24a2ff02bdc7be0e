"""The page of a run: one self-contained file that opens from disk with no network."""

import base64
import hashlib
import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from scanmix_cli.files import write_bytes
from scanmix_cli.legible import legible
from scanmix_cli.report.economics import expected_errors
from scanmix_cli.report.page import sections
from scanmix_cli.report.page.charts import charts
from scanmix_cli.report.page.embedding import embedding_map
from scanmix_cli.report.page.pictures import CHUNK, Gallery, Sources, build_gallery
from scanmix_cli.report.page.run_data import RunData
from scanmix_cli.report.page.suspects import near_rows, suspect_columns
from scanmix_cli.report.page.words import SMALLEST, headline, too_unsure, verdict

SHOWN = 2_000  # suspects on the page: up to 15 MB
KNOTS = 400  # points of the curve of expected errors
LOOKS = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)  # rows of its table
STYLES = ("theme", "elements", "overview", "filters", "cards", "charts", "copies", "detail", "media")
SCRIPTS = ("core", "suspects", "detail", "overview", "map", "start")


def write_html(
    path: Path, run: RunData, pictures: Sources, *, suspects: pd.DataFrame | None = None, most: int = SHOWN
) -> None:
    """Write the page.

    suspects: the rows to show with pictures, in that order, by default all label issues; the first `most` of them.
    Everything else on the page is about the whole run.
    """
    chosen = run.suspects() if suspects is None else suspects
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the image libraries complain about was said when the data was read
        page = _render(run, pictures, chosen, most)
    write_bytes(path, page.encode("utf-8", "backslashreplace"))


def _render(run: RunData, pictures: Sources, chosen: pd.DataFrame, most: int) -> str:
    rows = chosen.head(most)
    neighbors = near_rows(rows, run.evidence)
    gallery = build_gallery(rows.index.tolist(), neighbors, pictures)
    environment = _environment()
    curve = _curve(run)
    script = "\n".join(_asset(environment, f"{name}.js") for name in SCRIPTS)
    return environment.get_template("report.html.j2").render(
        title=f"{legible(run.summary['data']['name'])}: {run.summary['counts']['label_issues']:,} suspect labels",
        name=legible(run.summary["data"]["name"]),
        folder=legible(run.summary["run"]),
        summary=run.summary,
        counts=run.summary["counts"],
        rate=run.summary["noise_rate"],
        accuracy=run.summary.get("accuracy", {}).get("test_accuracy"),
        headline=headline(run.summary),
        verdict=verdict(run.summary),
        unsure=too_unsure(run.summary),
        smallest=SMALLEST,
        curve=curve,
        classes=len(run.classes),
        bars=sections.class_bars(run),
        qualities=sections.class_quality(run.summary),
        matrix=sections.matrix_rows(run, rows),
        columns=[legible(name) for name in run.classes],
        confusions=sections.confusions(run.summary),
        charts={name: Markup(svg) for name, svg in charts(run).items()},
        copies=sections.copies(run.report, pictures.small),
        outliers=sections.outliers(run.report, pictures.small),
        between=sections.between(run, pictures.small),
        bad=sections.bad_files(run),
        settings=sections.flat(run.settings),
        facts=_facts(run.summary),
        found=len(chosen),
        number=len(rows),
        most=most,
        data=_json(_data(run, rows, neighbors, gallery, curve)),
        map=_json(embedding_map(run, rows, pictures.small)),
        gallery=[Markup(chunk) for chunk in gallery.chunks],
        style=Markup("".join(_asset(environment, f"{name}.css") for name in STYLES)),
        script=Markup(script),
        script_hash=_hash(script),
    )


@cache
def _environment() -> jinja2.Environment:
    """The templates, each of them compiled once."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("scanmix_cli.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _data(
    run: RunData, rows: pd.DataFrame, neighbors: list[list[int]], gallery: Gallery, curve: dict[str, Any] | None
) -> dict[str, Any]:
    """What the page's script works on."""
    return {
        "classes": [legible(name) for name in run.names],
        "suspects": suspect_columns(rows, run.names, run.evidence, neighbors),
        "chunk": CHUNK,
        "curve": curve and {"k": curve["k"], "errors": curve["errors"]},
    }


def _curve(run: RunData) -> dict[str, Any] | None:
    """Expected errors among the first k: knots for the plot, a few rows to read; None where not one label is expected
    to be wrong, or none is known."""
    ranked = run.labelled().sort_values("rank", kind="stable")
    if ranked.empty:
        return None
    p_ranked = ranked["p_mislabeled"].to_numpy(np.float64)
    errors = expected_errors(p_ranked)
    if round(errors[-1]) == 0:
        return None
    count = len(ranked)
    knots = np.unique(np.concatenate([np.linspace(0, count, KNOTS).astype(int), np.arange(min(count, 100))]))
    start = max(min(int(run.summary["counts"]["label_issues"]), 100), min(count, 10))
    top = max(float(errors[-1]), 1.0)
    return {
        "k": knots.tolist(),
        "errors": [round(float(errors[k]), 2) for k in knots],
        "count": count,
        "total": float(errors[-1]),
        "start": start,
        "at_start": float(errors[start]),
        "rows": [(k, float(errors[k])) for k in (*[look for look in LOOKS if look < count], count)],
        "path": "M" + " L".join(f"{1000 * k / count:.1f},{300 - 290 * errors[k] / top:.1f}" for k in knots),
        "top": top,
    }


def _facts(summary: dict[str, Any]) -> dict[str, str]:
    """What is worth knowing about how the run was made."""
    versions = summary.get("versions", {})
    seconds = summary.get("seconds", {}).get("total")
    facts = {
        "Run folder": summary["run"],
        "Data": summary["data"]["root"],
        "Profile": summary.get("profile"),
        "Network": summary.get("backbone"),
        "Outside weights": summary.get("weights") or None,
        "Seed": summary.get("seed"),
        "Device": summary.get("device"),
        "Time": None if seconds is None else f"{seconds:,.0f} s",
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()) or None,
        "Fingerprint of the data": summary["data"]["fingerprint"],
    }
    return {name: legible(str(value)) for name, value in facts.items() if value is not None}


def _json(value: Any) -> Markup:
    """JSON that can stand in a <script>: no `<`, `>`, `&` or quote of HTML's."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for mark in "<>&'":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


def _asset(environment: jinja2.Environment, name: str) -> str:
    """A style or script of the package, as it stands."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _hash(script: str) -> str:
    """What the page's security policy knows its only script by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
