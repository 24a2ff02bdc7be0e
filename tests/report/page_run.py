"""A run for the page, made by hand: 300 images of 4 classes with hostile names, 60 suspects, one of everything."""

from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.data.samples import TRAIN
from scanmix_cli.evidence.verdicts import KEEP, RELABEL, REVIEW
from scanmix_cli.report.files import counts
from scanmix_cli.report.page.pictures import Sources
from scanmix_cli.report.page.run_data import RunData
from scanmix_cli.report.table import typed_table

CLASSES = ("<script>hit('class')</script>", "\"quotes\" & 'more'", "🐈 cat", "قطة")
IMAGES, SUSPECTS, HELD_OUT = 300, 60, 4
AMBIGUOUS = (120, 20, 100)  # images between two classes, one of them a suspect
HOSTILE = {
    0: "<script>hit('file')</script>.png",
    1: '"><img src=x onerror=hit(1)>.png',
    2: "</script><b>bold</b>.png",
    3: "🐈/\u202egnp.txt.png",  # a mark that turns the reading direction around
    4: "قطة/صورة.png",
    5: "c/9\udcff.png",  # no UTF-8
    6: "a\nb\x1b[31m.png",
}


def make_page_run(**changes: Any) -> RunData:
    """Images 0 to SUSPECTS - 1 are the suspects, in rank order; then the others; then held-out and broken rows."""
    rows = IMAGES + HELD_OUT + 2
    number = np.arange(rows)
    trained, suspect = number < IMAGES, number < SUSPECTS
    true = number % len(CLASSES)
    given = np.where(suspect, (true + 1) % len(CLASSES), true)
    p = np.where(suspect, 0.99 - 0.4 * number / SUSPECTS, 0.02)
    names = [HOSTILE.get(k, f"folder/image_{k:03}.png") for k in range(rows)]
    labels = np.array(CLASSES, dtype=object)

    def over(values: np.ndarray, where: np.ndarray, missing: Any = None) -> list[Any]:
        return [value if known else missing for value, known in zip(values.tolist(), where, strict=True)]

    codes = ["VALID"] * (rows - 2) + ["ERROR_MISSING_FILE", "ERROR_CORRUPT_IMAGE"]
    copies = np.where(number < 2, 0, np.where(np.isin(number, [70, 74, IMAGES + 2]), 1, -1))
    action = np.where(number < 40, RELABEL, np.where(suspect, REVIEW, KEEP))
    report = typed_table(
        {
            "filename": names,
            "split": [TRAIN if known or k >= IMAGES + HELD_OUT else "test" for k, known in enumerate(trained)],
            "given_label": labels[given],
            "predicted_label": over(labels[true], number < IMAGES + HELD_OUT, ""),
            "suggested_label": over(labels[np.where(suspect, true, given)], trained, ""),
            "suggested_action": over(action, trained, ""),
            "is_label_issue": over(suspect, trained),
            "label_score": over(1 - p, trained),
            "p_mislabeled": over(p, trained),
            "p_suggested": over(np.where(suspect, 1 - number / 200, p), trained),
            "rank": over(number + 1, trained),
            "neighbor_agreement": over(np.where(suspect, (number % 7) / 10, 0.9), trained),
            "mean_loss": over(np.where(suspect, 2.0 + number % 5, 0.1 + number % 3 / 20), trained),
            "p_clean_gmm": over(1 - p, trained),
            "is_outlier_issue": over(np.isin(number, [10, 200]), trained),
            "outlier_score": over(np.where(np.isin(number, [10, 200]), 0.05, 0.8), trained),
            "is_exact_duplicate_issue": (copies >= 0).tolist(),
            "is_near_duplicate_issue": [None] * rows,
            "duplicate_set": [None if k < 0 else int(k) for k in copies],
            "error_code": codes,
        },
        pd.RangeIndex(rows),
    )
    summary = {
        "run": "runs/page-1",
        "data": {"name": "pets", "root": "/pets", "fingerprint": "0" * 64},
        "classes": list(CLASSES),
        "counts": counts(report) | {"cleaned": IMAGES},
        "noise_rate": {"estimate": 0.2, "low": 0.15, "high": 0.26, "level": 0.9},
        "class_quality": [
            {"class": name, "images": 75, "quality": 0.8 + k / 50, "missing": 0.2 - k / 40, "sureness": 0.9 - k / 16}
            for k, name in enumerate(CLASSES)
        ],
        "hardest_classes": list(CLASSES[::-1]),
        "confusions": [
            {"true": name, "given": CLASSES[(k + 1) % 4], "share": 0.25, "low": 0.18, "high": 0.34, "images": 18.75}
            for k, name in enumerate(CLASSES)
        ],
        "accuracy": {"test_accuracy": 0.75},
        "seed": 0,
        "seconds": {"total": 12.3},
    }
    bad = report.loc[report["error_code"] != "VALID", ["filename", "error_code"]].assign(message="<b>gone</b>")
    run = {
        "report": report,
        "summary": summary,
        "noise_matrix": 0.75 * np.eye(4) + 0.25 * np.roll(np.eye(4), 1, axis=1),
        "settings": {"run": {"note": "<b>"}, "profile": {"epochs": 3}},
        "bad_files": bad,
        "metrics": pd.DataFrame(
            {"stage": ["simclr"] * 3 + ["scanmix"] * 3, "epoch": [1, 2, 3] * 2, "loss": [5.0, 4.0, 3.5] + [np.nan] * 3}
            | {"loss_x": [np.nan] * 3 + [1.0, 0.8, 0.7], "test_accuracy": [np.nan] * 3 + [0.6, 0.7, 0.75]}
        ),
        "evidence": make_evidence(true[:IMAGES], given[:IMAGES]),
    }
    return RunData(**(run | changes))


def make_evidence(true: np.ndarray, given: np.ndarray) -> dict[str, np.ndarray]:
    """Neighbours are the images of the same true class, histories fall for the suspects, classes lie in patches."""
    images = len(true)
    same = np.arange(images)[:, None] + len(CLASSES) * np.arange(7)
    angle = 2 * np.pi * true / len(CLASSES) + np.arange(images) / 400
    spread = 4 + np.arange(images) % 17 / 10
    belief = np.where((true != given)[:, None], [0.9, 0.5, 0.1, 0.0], [0.5, 0.8, 0.9, 1.0])
    return {
        "rows": np.arange(images),
        "labels": given,
        "epochs": np.array([0, 1, 3, 7]),
        "history": belief.astype(np.float16),
        "neighbors": (same % images).astype(np.int32),
        "embedding": np.stack([spread * np.cos(angle), spread * np.sin(angle)], axis=1).astype(np.float32),
        "embedding_rows": np.arange(images),
        "two_classes": np.where(np.isin(np.arange(images), AMBIGUOUS)[:, None], [[2, 0]], -1),
    }


def make_pictures(size: int = 24) -> Sources:
    """A flat picture a row, of a colour that tells its number; row 7 has none."""

    def image_of(row: int) -> np.ndarray | None:
        if row == 7:
            return None
        return np.broadcast_to(np.array([row % 256, 40, 200], np.uint8)[:, None, None], (3, size, size))

    return Sources(image_of, image_of)
