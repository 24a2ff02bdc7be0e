"""A small run made by hand: 3 classes with awkward names, every kind of row."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.evidence.verdicts import Verdicts, judge
from scanmix_cli.report.files import write_run_tables
from scanmix_cli.report.table import build_report

CLASSES = ("01", "=cat", "NA")
# file name, split, given label, class the networks see (None: unreadable), how sure they are
ROWS = [
    ("a/0.png", "train", "01", 0, 0.95),
    ("a/1.png", "train", "01", 1, 0.95),  # wrong, surely =cat
    ("=2.png", "train", "=cat", 1, 0.95),
    ("b/3,\n.png", "train", "=cat", 2, 0.6),  # wrong, perhaps NA
    ("broken.png", "train", "NA", None, 0.0),
    ("c/5.png", "train", "NA", 2, 0.95),
    ("c/6.png", "train", "", 2, 0.9),  # unlabelled and sure
    ("c/7.png", "train", "", 0, 0.5),  # unlabelled and unsure
    ("v/8.png", "test", "NA", 2, 0.95),
    ("c/9\udcff.png", "train", "NA", 2, 0.95),
]
EPOCHS = 5


@dataclass(frozen=True)
class Run:
    samples: Samples
    pixels: Pixels
    verdicts: Verdicts
    report: pd.DataFrame
    train_rows: np.ndarray


def make_run() -> Run:
    names, splits, given, seen, sure = (list(column) for column in zip(*ROWS, strict=True))
    table = pd.DataFrame(
        {
            "filename": pd.Series(names, dtype=object),
            "path": pd.Series(names, dtype=object),
            "split": splits,
            "given_label": pd.Series(given, dtype=object),
            "rank": [f"-{k}" for k in range(len(ROWS))],
        }
    )
    samples = Samples("demo", Path("demo"), table, CLASSES, extra_columns=("rank",))
    readable = np.array([k for k, where in enumerate(seen) if where is not None])
    codes = np.array(["ERROR_CORRUPT_IMAGE" if where is None else "VALID" for where in seen], dtype=object)
    messages = np.array(["no image" if where is None else "" for where in seen], dtype=object)
    images = np.arange(len(readable) * 3 * 8 * 8, dtype=np.uint8).reshape(len(readable), 3, 8, 8)
    pixels = Pixels(images, readable, codes, messages, np.full((len(ROWS), 2), 8, np.int32))
    train_rows = np.array([k for k in readable if splits[k] == "train"])
    labels = samples.label_ids()[train_rows]
    verdicts = judge(evidence_of(labels, [seen[k] for k in train_rows], [sure[k] for k in train_rows]), labels, None)
    held_out = (np.array([8]), np.array([2]))
    report = build_report(samples, pixels, verdicts, train_rows, held_out)
    return Run(samples, pixels, verdicts, report, train_rows)


def evidence_of(labels: np.ndarray, seen: list[int], sure: list[float]) -> Evidence:
    evidence = Evidence.empty(len(labels), len(CLASSES))
    probabilities = np.repeat((1 - np.array(sure))[:, None] / 2, len(CLASSES), axis=1)
    probabilities[np.arange(len(labels)), seen] = sure
    right = labels == np.array(seen)
    for _ in range(EPOCHS):
        losses = -np.log(probabilities[np.arange(len(labels)), np.maximum(labels, 0)])
        evidence.add(labels, probabilities, losses, np.where(right, 0.95, 0.05))
    evidence.final_probability = probabilities.astype(np.float32)
    return evidence


def write_run(folder: Path, run: Run, **summary: Any) -> None:
    write_run_tables(folder, run.report, run.samples, run.pixels, run.verdicts, summary)
