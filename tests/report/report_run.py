"""A small run made by hand: 3 classes with awkward names, every kind of row."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.evidence.class_quality import Overlap
from scanmix_cli.evidence.noise_matrix import Confusion
from scanmix_cli.evidence.noise_rate import NoiseRate
from scanmix_cli.evidence.verdicts import Verdicts, actions
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
    verdicts = verdicts_of(labels, [seen[k] for k in train_rows], [sure[k] for k in train_rows])
    held_out = (np.array([8]), np.array([2]))
    report = build_report(samples, pixels, verdicts, train_rows, held_out)
    return Run(samples, pixels, verdicts, report, train_rows)


def verdicts_of(labels: np.ndarray, seen: list[int], sure: list[float]) -> Verdicts:
    """Verdicts by hand, so that the report's tests do not hang on how probabilities are worked out."""
    suggested, p_suggested = np.array(seen), np.array(sure)
    labelled = labels >= 0
    wrong = labelled & (labels != suggested)
    p_mislabeled = np.where(wrong, p_suggested + 0.04, np.where(labelled, (1 - p_suggested) / 20, 0.0))
    rank = np.zeros(len(labels), np.int64)
    rank[np.flatnonzero(labelled)[np.argsort(-p_mislabeled[labelled], kind="stable")]] = range(1, labelled.sum() + 1)
    none = np.zeros(len(labels), bool)
    return Verdicts(
        labelled=labelled,
        predicted=suggested,
        suggested=suggested,
        suggested_action=actions(labels, suggested, p_suggested, wrong, none),
        is_label_issue=wrong,
        label_score=1 - p_mislabeled,
        p_mislabeled=p_mislabeled,
        p_suggested=p_suggested,
        rank=rank,
        neighbor_agreement=None,
        mean_loss=np.where(wrong, -np.log((1 - p_suggested) / 2), -np.log(p_suggested)),
        p_clean_gmm=np.where(wrong, 0.05, 0.95),
        outlier_score=1.5 * p_suggested - 0.5,
        is_outlier_issue=none,
        two_classes=np.where(p_suggested[:, None] == 0.6, [[0, 1]], -1),
        noise_rate=NoiseRate(0.3333, 0.1, 0.6),
        class_noise_rates=[NoiseRate(0.2, 0.0, 0.5), NoiseRate(0.4, 0.1, 0.7), NoiseRate(0.3, 0.1, 0.6)],
        noise_kind="uniform: wrong labels are spread evenly over the other classes",
        confusions=[Confusion(1, 0, 1 / 3, 0.1, 0.7, 2.0)],
        true_images=np.array([4.0, 6.0, 0.0]),
        class_sureness=np.array([0.9, 0.95, 0.6]),
        class_overlaps=[Overlap(1, 2, 0.75)],
        noise_matrix=np.array([[1.0, 0.0, 0.0], [1 / 3, 2 / 3, 0.0], [0.0, 0.25, 0.75]]),
    )


def write_run(folder: Path, run: Run, **summary: Any) -> None:
    write_run_tables(folder, run.report, run.samples, run.pixels, run.verdicts, summary)
