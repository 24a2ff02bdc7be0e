"""The map of the images: where each lies, what it is called, and small pictures to hover over."""

from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.legible import legible
from scanmix_cli.report.page.pictures import SHEET, sheets
from scanmix_cli.report.page.run_data import RunData
from scanmix_cli.report.thumbnails import ImageOf

GRID = 1000  # positions are whole numbers from 0 to GRID


def embedding_map(run: RunData, suspects: pd.DataFrame, image_of: ImageOf) -> dict[str, Any] | None:
    """Columns over the M images of the map, and the sheets with their pictures; None where the run kept no map.

    suspects: as shown on the page; `suspect` is the place among them, -1 for the other images.
    """
    places = map_rows(run)
    if places is None:
        return None
    rows, positions = places
    number = {name: at for at, name in enumerate(run.classes)}
    found = {int(row): at for at, row in enumerate(suspects.index)}
    report = run.report.loc[rows]
    return {
        "x": positions[:, 0].tolist(),
        "y": positions[:, 1].tolist(),
        "given": [number.get(label, -1) for label in report["given_label"]],
        "predicted": [number.get(label, -1) for label in report["predicted_label"]],
        "file": [legible(name) for name in report["filename"]],
        "suspect": [found.get(int(row), -1) for row in rows],
        "sheet": SHEET,
        "sheets": sheets(rows.tolist(), image_of),
    }


def map_rows(run: RunData) -> tuple[np.ndarray, np.ndarray] | None:
    """int64 (M,) rows of the report and int64 (M, 2) positions in 0..GRID, one scale for both axes, centred."""
    evidence = run.evidence
    if "embedding" not in evidence or not len(evidence["embedding"]):
        return None
    positions = evidence["embedding"].astype(np.float64)
    low, high = positions.min(axis=0), positions.max(axis=0)
    span = (high - low).max()
    if not np.isfinite(span) or span <= 0:
        return None
    scaled = GRID / 2 + (positions - (low + high) / 2) / span * GRID
    return evidence["rows"][evidence["embedding_rows"]], np.rint(scaled).astype(np.int64)
