"""cleanlab: given labels and class probabilities as its functions take them, and our verdicts in its columns."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from scanmix_cli.export.content import Content
from scanmix_cli.files import write_file, write_text
from scanmix_cli.report.spreadsheet import csv_text

LABELS, PROBABILITIES, CLASSES, ISSUES = "labels.npy", "pred_probs.npy", "classes.json", "issues.csv"


def write(folder: Path, content: Content) -> None:
    """labels.npy int64 (N,) given labels, pred_probs.npy float32 (N, C), classes.json, issues.csv as Datalab names it.

    `find_label_issues(np.load("labels.npy"), np.load("pred_probs.npy"))`. The probabilities are the final
    classifier's; it was trained on these images, though by a method that does not fit wrong labels.
    """
    probabilities = content.values
    assert probabilities is not None
    number = {name: k for k, name in enumerate(content.classes)}
    labels = np.array([number[item.given_label] for item in content.items], np.int64)
    write_file(folder / LABELS, lambda file: np.save(file, labels))
    write_file(folder / PROBABILITIES, lambda file: np.save(file, probabilities))
    write_text(folder / CLASSES, json.dumps(list(content.classes)) + "\n")
    write_text(folder / ISSUES, csv_text(_issues(content)))


def _issues(content: Content) -> pd.DataFrame:
    items = content.items
    wrong = pd.Series([item.p_mislabeled for item in items], dtype="float64")
    return pd.DataFrame(
        {
            "row": [item.row for item in items],
            "filename": pd.Series([item.filename for item in items], dtype=object),
            "is_label_issue": [item.is_label_issue for item in items],
            "label_score": 1 - wrong,
            "given_label": pd.Series([item.given_label for item in items], dtype=object),
            "predicted_label": pd.Series([item.suggested_label for item in items], dtype=object),
        }
    )
