"""What the page's template shows besides the suspects: classes, confusions, copies, outliers, bad files, settings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.legible import legible
from scanmix_cli.report.copy_sets import copy_sets
from scanmix_cli.report.page.pictures import encode, to_image
from scanmix_cli.report.page.run_data import RunData, is_issue
from scanmix_cli.report.thumbnails import ImageOf

SHOWN_CLASSES = 30  # more bars are no longer read, and a larger matrix gives way to the list of confusions
SETS, SET_IMAGES, OUTLIERS, BETWEEN, BAD = 40, 6, 60, 60, 200  # shown at most
EDGE, QUALITY = 72, 70


def class_bars(run: RunData) -> list[dict[str, Any]]:
    """Per class: images labelled so, suspects among them, and both as percentages of the largest class.

    In class order; of many classes those with the most suspects.
    """
    classes, train = run.classes, run.labelled()
    given = train["given_label"].value_counts()
    wrong = train.loc[is_issue(train), "given_label"].value_counts()
    largest = max((int(given.get(name, 0)) for name in classes), default=0) or 1
    most = sorted(range(len(classes)), key=lambda k: -int(wrong.get(classes[k], 0)))[:SHOWN_CLASSES]
    bars = []
    for k in sorted(most):
        total, suspect = int(given.get(classes[k], 0)), int(wrong.get(classes[k], 0))
        bars.append(
            {
                "id": k,
                "name": legible(classes[k]),
                "total": total,
                "suspect": suspect,
                "fine_width": 100 * (total - suspect) / largest,
                "suspect_width": 100 * suspect / largest,
                "share": suspect / total if total else None,
            }
        )
    return bars


def class_quality(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Of every class with a label, the hardest first: how many of its images the networks get right, how many of the
    labels that name it are right, how many of its images are labelled otherwise; empty where an older run is shown."""
    place = {name: k for k, name in enumerate(summary.get("hardest_classes", []))}
    known = [one for one in summary.get("class_quality", []) if one["images"]]
    hardest = sorted(known, key=lambda one: (place.get(one["class"], len(place)), one["sureness"]))
    return [one | {"name": legible(one["class"])} for one in hardest[:SHOWN_CLASSES]]


def known_matrix(run: RunData) -> np.ndarray:
    """float64 (C, C): the noise matrix, 0 in the rows of classes that no label names: nothing is known of these."""
    given = set(run.labelled()["given_label"])
    return run.noise_matrix * np.array([[name in given] for name in run.classes])


def matrix_rows(run: RunData, suspects: pd.DataFrame) -> list[dict[str, Any]] | None:
    """Rows of the heat map, None where there are too many classes: share, strength of the colour, and how many of
    the suspects are given the column's class and suggested the row's."""
    classes = run.classes
    if len(classes) > SHOWN_CLASSES:
        return None
    matrix = known_matrix(run)
    off = off_diagonal(matrix)
    heat = np.sqrt(off / max(off.max(initial=0.0), 0.05))  # only what is wrong is coloured, the root shows small shares
    pairs = suspects.groupby(["suggested_label", "given_label"]).size().to_dict()
    return [
        {
            "name": legible(true),
            "known": bool(matrix[t].any()),
            "cells": [
                {"p": float(matrix[t, g]), "heat": float(heat[t, g]), "found": int(pairs.get((true, given), 0))}
                for g, given in enumerate(classes)
            ],
        }
        for t, true in enumerate(classes)
    ]


def confusions(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The pairs of classes of summary.json, names as they are shown; empty where an older run is shown."""
    pairs = summary.get("confusions", [])
    return [pair | {"true": legible(pair["true"]), "given": legible(pair["given"])} for pair in pairs]


def off_diagonal(matrix: np.ndarray) -> np.ndarray:
    return matrix - np.diag(np.diag(matrix))


def copies(report: pd.DataFrame, image_of: ImageOf) -> dict[str, Any]:
    """Sets of identical or nearly identical images: those whose labels differ first, then those that reach from
    training into the held-out part."""
    member = report[report["duplicate_set"].notna()]
    number = member["duplicate_set"].astype(np.int64)
    sets = copy_sets(report)
    first = sets.sort_values(["conflict", "leak"], ascending=False, kind="stable").head(SETS)
    shown_sets = [(member[number == at], bool(facts.conflict), bool(facts.leak)) for at, facts in first.iterrows()]
    return {
        "checked": bool(report["is_exact_duplicate_issue"].notna().any()),
        "sets": len(sets),
        "images": len(member),
        "conflicts": int(sets["conflict"].sum()),
        "leaks": int(sets["leak"].sum()),
        "shown": [
            {
                "conflict": conflict,
                "leak": leak,
                "near": bool(rows["is_near_duplicate_issue"].fillna(False).any()),
                "more": len(rows) - SET_IMAGES,
                "images": [thumbnail(row, image_of) for row in rows.head(SET_IMAGES).itertuples()],
            }
            for rows, conflict, leak in shown_sets
        ],
    }


def outliers(report: pd.DataFrame, image_of: ImageOf) -> dict[str, Any]:
    """Images that fit no class, the strangest first."""
    rows = report[report["is_outlier_issue"].fillna(False).astype(bool)].sort_values("outlier_score", kind="stable")
    return {
        "count": len(rows),
        "suspects": int(is_issue(rows).sum()),
        "shown": [thumbnail(row, image_of) for row in rows.head(OUTLIERS).itertuples()],
    }


def between(run: RunData, image_of: ImageOf) -> dict[str, Any] | None:
    """Images of which two classes are plausible, the most suspect first; None where an older run did not keep them."""
    pairs = run.evidence.get("two_classes")
    if pairs is None:
        return None
    ambiguous = pairs[:, 0] >= 0
    rows = run.report.loc[run.evidence["rows"][ambiguous]].sort_values("rank", kind="stable")
    both = dict(zip(run.evidence["rows"][ambiguous].tolist(), pairs[ambiguous].tolist(), strict=True))
    return {
        "count": len(rows),
        "suspects": int(is_issue(rows).sum()),
        "shown": [
            thumbnail(row, image_of, [run.classes[k] for k in both[row.Index]])
            for row in rows.head(BETWEEN).itertuples()
        ],
    }


def thumbnail(row: Any, image_of: ImageOf, classes: Sequence[str] = ()) -> dict[str, Any]:
    """Name, label, split and small picture of a row of the report; the classes that it could be of, if told."""
    image = image_of(row.Index)
    return {
        "file": legible(row.filename),
        "label": legible(row.given_label),
        "split": "" if row.split == TRAIN else legible(row.split),
        "classes": [legible(name) for name in classes],
        "picture": None if image is None else encode(to_image(image), EDGE, QUALITY, lossless=True),
    }


def bad_files(run: RunData) -> dict[str, Any]:
    """The files that could not be read, with code and message."""
    table = run.bad_files
    if table.empty:
        table = run.report.loc[run.report["error_code"] != VALID, ["filename", "error_code"]].assign(message="")
    cells = table[["filename", "error_code", "message"]].itertuples(index=False) if len(table) else []
    rows = [tuple(legible(str(cell)) for cell in row) for row in cells]
    return {"count": len(rows), "shown": rows[:BAD]}


def flat(settings: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as text with dotted keys."""
    result: dict[str, str] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[legible(f"{prefix}{key}")] = legible(str(value))
    return result
