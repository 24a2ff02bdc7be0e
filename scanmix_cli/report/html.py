"""The page of a run: one self-contained file that opens from disk with no network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.files import write_bytes
from scanmix_cli.report.thumbnails import ImageOf, data_uri

SHOWN = 200  # suspects with a picture: about 2 MB of page
SHOWN_CLASSES = 30  # more bars are no longer read, and a larger matrix gives way to the list of confusions
CONFUSIONS = 10
BINS = 20


def write_html(
    path: Path,
    report: pd.DataFrame,
    *,
    classes: Sequence[str],
    noise_matrix: np.ndarray,
    summary: dict[str, Any],
    settings: dict[str, Any],
    image_of: ImageOf,
    suspects: pd.DataFrame | None = None,
) -> None:
    """Write the page.

    report: the whole report (its index the row number), for the plots. suspects: the rows to show with pictures, in
    that order, by default all label issues; at most SHOWN of them. summary: as `write_run_tables` returns it. settings:
    the nested table of config.toml.
    """
    if suspects is None:
        suspects = ranked_issues(report)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("scanmix_cli.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("report.html.j2").render(
        summary=summary,
        counts=summary["counts"],
        rate=summary["noise_rate"],
        cards=[_card(row, image_of) for row in suspects.head(SHOWN).itertuples()],
        found=len(suspects),
        bars=_class_bars(report, classes),
        histogram=_histogram(report),
        matrix=_matrix(noise_matrix, classes),
        confusions=_confusions(noise_matrix, classes),
        settings=_flat(settings),
    )
    # a file name that is no UTF-8 cannot stand in a page: show its bytes
    write_bytes(path, page.encode("utf-8", "backslashreplace"))


def ranked_issues(report: pd.DataFrame) -> pd.DataFrame:
    """Rows with a label issue, most suspect first."""
    return report[report["is_label_issue"].fillna(False).astype(bool)].sort_values("rank", kind="stable")


def _flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings with dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _card(row: Any, image_of: ImageOf) -> dict[str, Any]:
    image = image_of(row.Index)
    return {
        "rank": None if pd.isna(row.rank) else int(row.rank),
        "file": row.filename,
        "given": row.given_label,
        "suggested": row.suggested_label,
        "p": None if pd.isna(row.p_mislabeled) else float(row.p_mislabeled),
        "p_suggested": None if pd.isna(row.p_suggested) else float(row.p_suggested),
        "action": row.suggested_action,
        "picture": None if image is None else data_uri(image),
    }


def _class_bars(report: pd.DataFrame, classes: Sequence[str]) -> list[dict[str, Any]]:
    """Per class: images labelled so, suspects among them, and both as percentages of the largest class.

    In class order; of many classes those with the most suspects.
    """
    train = report[(report["split"] == TRAIN) & (report["error_code"] == VALID)]
    given = train["given_label"].value_counts()
    wrong = train.loc[train["is_label_issue"].fillna(False).astype(bool), "given_label"].value_counts()
    largest = max((int(given.get(name, 0)) for name in classes), default=0) or 1
    bars = []
    most = sorted(classes, key=lambda name: -int(wrong.get(name, 0)))[:SHOWN_CLASSES]
    for name in sorted(most):
        total, suspect = int(given.get(name, 0)), int(wrong.get(name, 0))
        bars.append(
            {
                "name": name,
                "total": total,
                "suspect": suspect,
                "fine_width": 100 * (total - suspect) / largest,
                "suspect_width": 100 * suspect / largest,
                "share": 100 * suspect / total if total else 0.0,
            }
        )
    return bars


def _histogram(report: pd.DataFrame) -> list[dict[str, Any]]:
    """Labelled images by p_mislabeled; heights on a square-root scale, or the few suspects would not be seen."""
    values = report["p_mislabeled"].dropna().to_numpy()
    heights, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    top = np.sqrt(max(heights.max(), 1))
    return [
        {"low": edges[k], "high": edges[k + 1], "count": int(heights[k]), "height": 100 * np.sqrt(heights[k]) / top}
        for k in range(BINS)
    ]


def _matrix(matrix: np.ndarray, classes: Sequence[str]) -> list[dict[str, Any]] | None:
    if len(classes) > SHOWN_CLASSES:
        return None
    heat = np.sqrt(matrix - np.diag(np.diag(matrix)))  # only what is wrong is coloured, the root shows small shares
    return [
        {"name": name, "cells": [(float(p), float(h)) for p, h in zip(matrix[k], heat[k], strict=True)]}
        for k, name in enumerate(classes)
    ]


def _confusions(matrix: np.ndarray, classes: Sequence[str]) -> list[dict[str, Any]]:
    """The largest entries off the diagonal that show as more than 0.0 %."""
    off = matrix - np.diag(np.diag(matrix))
    order = np.argsort(-off, axis=None, kind="stable")[:CONFUSIONS]
    pairs = [divmod(int(at), len(classes)) for at in order]
    return [{"true": classes[t], "given": classes[g], "p": float(off[t, g])} for t, g in pairs if off[t, g] >= 0.0005]
