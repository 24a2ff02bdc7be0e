"""The suspects as columns for the page's script."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.legible import legible

NEIGHBORS = 5  # shown beside each suspect
DECIMALS = 4
NUMBERS = {
    "p": "p_mislabeled",
    "p_suggested": "p_suggested",
    "agreement": "neighbor_agreement",
    "loss": "mean_loss",
    "clean": "p_clean_gmm",
    "fit": "outlier_score",
}
LABELS = {"given": "given_label", "suggested": "suggested_label", "predicted": "predicted_label"}


def suspect_columns(
    suspects: pd.DataFrame, classes: Sequence[str], evidence: dict[str, np.ndarray], neighbors: list[list[int]]
) -> dict[str, Any]:
    """Lists with an entry per suspect; labels are class numbers, -1 without one.

    neighbors: row numbers as `near_rows` returns them.
    """
    number = {name: at for at, name in enumerate(classes)}
    columns: dict[str, Any] = {
        "file": [legible(name) for name in suspects["filename"]],
        "row": [int(row) for row in suspects.index],
        "rank": [None if pd.isna(rank) else int(rank) for rank in suspects["rank"]],
        "action": suspects["suggested_action"].tolist(),
        "outlier": suspects["is_outlier_issue"].fillna(False).astype(int).tolist(),
    }
    for name, source in LABELS.items():
        columns[name] = [number.get(label, -1) for label in suspects[source]]
    for name, source in NUMBERS.items():
        columns[name] = plain(suspects[source].to_numpy())
    places = _places(suspects.index.to_numpy(), evidence)
    columns["near"] = _near_labels(neighbors, evidence)
    columns["views"] = _consistencies(places, evidence)
    columns["history"] = _histories(places, evidence)
    columns["epochs"] = (evidence["epochs"] + 1).tolist() if "epochs" in evidence else []  # people count from 1
    return columns


def near_rows(suspects: pd.DataFrame, evidence: dict[str, np.ndarray]) -> list[list[int]]:
    """Row numbers of the nearest images of every suspect, nearest first, itself left out; [] where not known."""
    if "neighbors" not in evidence:
        return [[] for _ in range(len(suspects))]
    rows = evidence["rows"]
    result = []
    for place in _places(suspects.index.to_numpy(), evidence):
        near = [] if place < 0 else [int(at) for at in evidence["neighbors"][place] if at != place][:NEIGHBORS]
        result.append(rows[near].tolist() if near else [])
    return result


def plain(values: np.ndarray) -> list[float | None]:
    """Rounded floats, None where there is no number."""
    return [None if value != value else round(float(value), DECIMALS) for value in values.astype(np.float64)]


def _near_labels(neighbors: list[list[int]], evidence: dict[str, np.ndarray]) -> list[list[int]]:
    if "labels" not in evidence:
        return [[] for _ in neighbors]
    labels = evidence["labels"]
    return [labels[_places(np.array(near, np.int64), evidence)].tolist() if near else [] for near in neighbors]


def _consistencies(places: np.ndarray, evidence: dict[str, np.ndarray]) -> list[float | None]:
    """How far the networks say the same of an image and its mirror image, None where not known."""
    if "view_consistency" not in evidence:
        return [None] * len(places)
    return plain(np.where(places >= 0, evidence["view_consistency"][places], np.nan))


def _histories(places: np.ndarray, evidence: dict[str, np.ndarray]) -> list[list[int]]:
    """Belief in the given label over the epochs in percent, [] where not known."""
    if "history" not in evidence:
        return [[] for _ in places]
    result = []
    for place in places:
        values = evidence["history"][place].astype(np.float64) if place >= 0 else np.array([np.nan])
        result.append([] if np.isnan(values).any() else np.rint(100 * values).astype(int).tolist())
    return result


def _places(rows: np.ndarray, evidence: dict[str, np.ndarray]) -> np.ndarray:
    """int64: where each row of the report stands among the training images of the evidence, -1 where it does not."""
    known = evidence.get("rows", np.zeros(0, np.int64))
    if len(known) == 0:
        return np.full(len(rows), -1)
    at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    return np.where(known[at] == rows, at, -1)
