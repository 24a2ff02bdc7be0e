"""A finished run with pictures on disk, made by hand: some of the rows are suspects, whose true class is known."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from scanmix_cli.files import write_text
from scanmix_cli.report.spreadsheet import csv_text
from scanmix_cli.report.table import typed_table

CLASSES = ("<script>hit('class')</script>", "\"quotes\" & 'more'", "🐈 cat", "قطة")
HOSTILE = {
    0: "<script>hit('file')</script>.png",
    1: '"><img src=x onerror=hit(1)>.png',
    2: "🐈/\u202egnp.txt.png",  # a mark that turns the reading direction around
    3: "قطة/صورة.png",
    4: "c/9\udcff.png",  # no UTF-8
}
NEIGHBORS = 7  # kept of every image, itself first


def write_flat_picture(path: Path, row: int) -> None:
    """A picture whose colour tells its row."""
    Image.new("RGB", (40, 30), (row % 256, 40, 200)).save(path, "PNG")


def write_review_run(
    folder: Path,
    rows: int = 60,
    suspects: int = 40,
    classes: Sequence[str] = CLASSES,
    *,
    true: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    picture: Callable[[Path, int], None] = write_flat_picture,
) -> Path:
    """Write `folder/data` and the run `folder/run`; returns the run.

    Rows 0 to suspects - 1 are the suspects in rank order: their given label is the class after the true one, and the
    suggestion is right. true int (rows,): true classes, by default one after the other.
    """
    data, run = folder / "data", folder / "run"
    run.mkdir(parents=True)
    number = np.arange(rows)
    true = number % len(classes) if true is None else true
    suspect = number < suspects
    given = np.where(suspect, (true + 1) % len(classes), true)
    names = [HOSTILE.get(k, f"folder/image_{k:03}.png") for k in range(rows)] if names is None else names
    for row, name in enumerate(names):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        picture(data / name, row)
    labels = np.array(classes, dtype=object)
    p = np.where(suspect, 0.99 - 0.4 * number / max(suspects, 1), 0.02)
    report = typed_table(
        {
            "filename": list(names),
            "split": ["train"] * rows,
            "given_label": labels[given],
            "predicted_label": labels[true],
            "suggested_label": labels[true],
            "suggested_action": np.where(suspect, "relabel", "keep"),
            "is_label_issue": suspect,
            "label_score": 1 - p,
            "p_mislabeled": p,
            "p_suggested": np.where(suspect, 1 - 0.5 * number / max(suspects, 1), 0.98),
            "rank": number + 1,
            "neighbor_agreement": np.where(suspect, 0.1, 0.9),
            "mean_loss": np.where(suspect, 2.5, 0.1),
            "p_clean_gmm": 1 - p,
            "is_outlier_issue": np.zeros(rows, bool),
            "outlier_score": np.full(rows, 0.8),
            "is_exact_duplicate_issue": np.zeros(rows, bool),
            "is_near_duplicate_issue": [None] * rows,
            "duplicate_set": [None] * rows,
            "error_code": ["VALID"] * rows,
        },
        pd.RangeIndex(rows),
    )
    write_text(run / "report.csv", csv_text(report))
    data_entry = {"name": "wardrobe", "root": str(data), "fingerprint": "0" * 64}
    summary = {
        "run": str(run),
        "data": data_entry,
        "classes": list(classes),
        "counts": {"rows": rows, "labelled": rows, "label_issues": suspects},
        "noise_rate": {"estimate": 0.5, "low": 0.4, "high": 0.6},
    }
    (run / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    np.savez_compressed(run / "evidence.npz", **_evidence(true, given, len(classes)))
    return run


def _evidence(true: np.ndarray, given: np.ndarray, classes: int) -> dict[str, np.ndarray]:
    """Neighbours are itself and rightly labelled images of the true class; the networks see the true class."""
    rows = len(true)
    neighbors = np.zeros((rows, NEIGHBORS), np.int32)
    for row in range(rows):
        near = np.flatnonzero((true == true[row]) & (true == given))
        near = np.roll(near[near != row], -row) if len(near) > 1 else np.array([row])
        neighbors[row] = [row, *np.resize(near, NEIGHBORS - 1)]
    seen = np.full((rows, classes), 0.1 / max(classes - 1, 1))
    seen[np.arange(rows), true] = 0.9
    belief = np.where((true != given)[:, None], [0.8, 0.5, 0.25, 0.1, 0.03], [0.5, 0.8, 0.9, 0.95, 0.99])
    return {
        "rows": np.arange(rows),
        "labels": given,
        "epochs": np.array([1, 4, 8, 12, 20]),
        "history": belief.astype(np.float16),
        "final_probability": seen.astype(np.float16),
        "neighbors": neighbors,
    }
