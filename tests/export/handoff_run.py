"""A finished run made by hand on real files: awkward names, every kind of row, an untrained classifier."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.registry import build_backbone

from scanmix_cli.cli.app import main
from scanmix_cli.files import write_text
from scanmix_cli.report.decisions import read_current
from scanmix_cli.report.spreadsheet import csv_text
from scanmix_cli.report.table import COUNTS, FLAGS, NUMBERS, REPORT_COLUMNS, typed_table
from scanmix_cli.workflow.classifier import Classifier, save_classifier

CLASSES = ("01", "=cat", "Hündin/è", "NA")
VALID = "VALID"


@dataclass(frozen=True)
class Row:
    filename: str
    given: str
    suggested: str
    action: str
    p_wrong: float = 0.05
    p_suggested: float = 0.95
    split: str = "train"
    code: str = VALID


ROWS = [
    Row("01/a b.png", "01", "01", "keep"),
    Row("01/ünï.png", "01", "=cat", "relabel", 0.97, 0.9),
    Row("=cat/a b.png", "=cat", "=cat", "keep", 0.1),
    Row("=cat/A B.jpg", "=cat", "=cat", "keep", 0.3),
    Row("=cat/broken.png", "=cat", "", "", code="ERROR_CORRUPT_IMAGE"),
    Row("dogs/空 #1&2.png", "Hündin/è", "NA", "review", 0.6, 0.35),
    Row("loose/u1.png", "", "01", "relabel", 0.0, 0.9),
    Row("loose/u2.png", "", "NA", "review", 0.0, 0.4),
    Row("held out/t.png", "NA", "", "", split="test"),
    Row("01/noise.png", "01", "NA", "drop", 0.9, 0.5),
    Row("01/gone.png", "01", "", "", code="ERROR_MISSING_FILE"),
    Row("01/bare", "01", "01", "keep"),
    Row("01/b\udcff.png", "NA", "NA", "keep"),
]
READABLE = [k for k, row in enumerate(ROWS) if row.code == VALID]
KEEP = [0, 1, 2, 3, 5, 6, 8, 11, 12]
SUSPECTS = [1, 5, 9]


@dataclass(frozen=True)
class HandoffRun:
    data: Path
    folder: Path


def make_run(base: Path) -> HandoffRun:
    """`base/data` with the images and `base/run` with the tables and the classifier."""
    run = HandoffRun(base / "data", base / "run")
    run.folder.mkdir(parents=True)
    write_images(run.data)
    write_text(run.folder / "report.csv", csv_text(report_table()))
    summary = {
        "run": str(run.folder),
        "data": {"name": "data", "root": str(run.data)},
        "classes": list(CLASSES),
        "counts": {"rows": len(ROWS), "labelled": 8, "label_issues": len(SUSPECTS)},
        "noise_rate": {"estimate": 0.3, "low": 0.1, "high": 0.5, "level": 0.9},
    }
    write_text(run.folder / "summary.json", json.dumps(summary))
    save_classifier(run.folder / "model", untrained())
    return run


def untrained(seed: int = 0) -> Classifier:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        nets = [ScanMixNet(build_backbone("small"), len(CLASSES)) for _ in range(2)]
    return Classifier(nets, "small", CLASSES, 32, 32, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25))


def write_images(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for row in ROWS:
        path = folder / row.filename
        path.parent.mkdir(parents=True, exist_ok=True)
        if row.code == "ERROR_CORRUPT_IMAGE":
            path.write_bytes(b"no picture")
        elif row.code == VALID:
            picture = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
            picture.save(path, "JPEG" if path.suffix == ".jpg" else "PNG")


def run(*arguments: object) -> int:
    """The exit code of the command."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def decided(run: HandoffRun) -> dict[int, tuple[str, str]]:
    """Decision and label that stand, by row."""
    return {row: (entry.decision, entry.label) for row, entry in read_current(run.folder).items()}


def report_table() -> pd.DataFrame:
    """report.csv as a run would write it."""
    columns: dict[str, list[Any]] = {name: [_cell(name, row) for row in ROWS] for name in REPORT_COLUMNS}
    ranked = sorted((k for k in READABLE if _judged(ROWS[k])), key=lambda k: -ROWS[k].p_wrong)
    for rank, k in enumerate(ranked, start=1):
        columns["rank"][k] = rank
    return typed_table(columns, pd.RangeIndex(len(ROWS)))


def _judged(row: Row) -> bool:
    return row.code == VALID and row.split == "train" and row.given != ""


def _cell(name: str, row: Row) -> Any:
    readable = row.code == VALID
    cells = {
        "filename": row.filename,
        "split": row.split,
        "given_label": row.given,
        "error_code": row.code,
        "predicted_label": (row.suggested or row.given) if readable else "",
        "suggested_label": row.suggested,
        "suggested_action": row.action,
        "is_label_issue": row.p_wrong >= 0.5 if _judged(row) else None,
        "p_mislabeled": row.p_wrong if _judged(row) else float("nan"),
        "label_score": 1 - row.p_wrong if _judged(row) else float("nan"),
        "p_suggested": row.p_suggested if readable and row.split == "train" else float("nan"),
    }
    blank = None if name in FLAGS + COUNTS else float("nan") if name in NUMBERS else ""
    return cells.get(name, blank)
