"""The tables of a run folder, written and read back."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import TRAIN, Samples
from scanmix_cli.data.wording import counted
from scanmix_cli.errors import DataError
from scanmix_cli.evidence.noise_matrix import Confusion
from scanmix_cli.evidence.noise_rate import LEVEL, NoiseRate
from scanmix_cli.evidence.verdicts import DROP, KEEP, RELABEL, REVIEW, Verdicts
from scanmix_cli.files import read_toml, write_text
from scanmix_cli.report.cleaning import takes_suggestion
from scanmix_cli.report.copy_sets import copy_sets
from scanmix_cli.report.economics import errors_curve
from scanmix_cli.report.matrix_file import NOISE_INTERVALS, NOISE_MATRIX, intervals_table, matrix_table
from scanmix_cli.report.places import save_places
from scanmix_cli.report.spreadsheet import restored, write_csv
from scanmix_cli.report.table import COUNTS, FLAGS, NUMBERS, REPORT_COLUMNS, is_labelled, typed_table

HARDEST = 10  # classes named as the hardest ones
READ_AT_ONCE = 50_000  # rows of report.csv as text
NEEDED = {  # of summary.json, by whatever reads a finished run
    "classes": (),
    "counts": ("rows", "labelled", "label_issues"),
    "data": ("name", "root"),
    "noise_rate": ("estimate", "low", "high"),
}
REPORT, CLEANED, BAD_FILES, SUMMARY, CONFIG = (
    "report.csv",
    "cleaned.csv",
    "bad_files.csv",
    "summary.json",
    "config.toml",
)


def write_run_tables(
    run_dir: Path,
    report: pd.DataFrame,
    samples: Samples,
    pixels: Pixels,
    verdicts: Verdicts,
    summary: dict[str, Any],
) -> dict[str, Any]:
    """Write report.csv, cleaned.csv, noise_matrix.csv, bad_files.csv and summary.json into an existing folder,
    noise_intervals.csv where classes are not too many, and places.csv where images lie elsewhere than their names say.

    summary: what the run adds to summary.json (timings, accuracy, device, seed, ...). Returns all of it as written.
    """
    write_csv(run_dir / REPORT, report)
    cleaned = cleaned_labels(report)
    write_csv(run_dir / CLEANED, cleaned, guard=False)
    write_csv(run_dir / NOISE_MATRIX, matrix_table(verdicts.noise_matrix, samples.classes))
    intervals = intervals_table(verdicts.noise_matrix, verdicts.true_images, samples.classes)
    if intervals is not None:
        write_csv(run_dir / NOISE_INTERVALS, intervals)
    write_csv(run_dir / BAD_FILES, bad_files(report, pixels.messages))
    save_places(run_dir, samples)
    quality = class_quality(report, verdicts, samples.classes)
    hardest = np.argsort(verdicts.class_sureness, kind="stable")
    whole = {
        "run": str(run_dir),
        "data": {
            "name": samples.name,
            "root": str(samples.root.absolute()),
            "tables": [str(table.absolute()) for table in samples.tables],
            "fingerprint": samples.fingerprint(),
        },
        "classes": list(samples.classes),
        "counts": counts(report) | {"ambiguous": int(verdicts.is_ambiguous.sum()), "cleaned": len(cleaned)},
        "noise_rate": _interval(verdicts.noise_rate) | {"level": LEVEL},
        "noise_kind": verdicts.noise_kind,
        "class_noise_rates": [
            {"class": name} | _interval(rate)
            for name, rate in zip(samples.classes, verdicts.class_noise_rates, strict=True)
        ],
        "class_quality": quality,
        "hardest_classes": [quality[k]["class"] for k in hardest if quality[k]["images"]][:HARDEST],
        "classes_perhaps_one": [
            {"classes": [samples.classes[pair.one], samples.classes[pair.other]], "overlap": round(pair.overlap, 6)}
            for pair in verdicts.class_overlaps
        ],
        "confusions": [_confusion(pair, samples.classes) for pair in verdicts.confusions],
        "expected_precision": expected_precision(report),
        "expected_errors": errors_curve(report),
    } | summary
    write_text(run_dir / SUMMARY, json.dumps(whole, indent=2, allow_nan=False) + "\n")
    return whole


def recounted(summary: dict[str, Any], report: pd.DataFrame) -> dict[str, Any]:
    """The summary of a run whose report has changed since, by decisions, with the counts and expectations of now."""
    return summary | {
        "counts": summary["counts"] | counts(report) | {"cleaned": len(cleaned_labels(report))},
        "expected_precision": expected_precision(report),
        "expected_errors": errors_curve(report),
    }


def class_quality(report: pd.DataFrame, verdicts: Verdicts, classes: Sequence[str]) -> list[dict[str, Any]]:
    """Of every class, in class order: how many labels name it and how many of these are issues; `quality`, the share of
    these labels that is right; `missing`, the share of the class's own images that are labelled otherwise; `sureness`,
    the share of its images that the networks get right without a look at the label (low is hard). Of a class that no
    label names nothing is known: the three shares are None."""
    labelled = report[report["rank"].notna()]
    images = labelled["given_label"].value_counts()
    issues = labelled.loc[labelled["is_label_issue"].fillna(False).astype(bool), "given_label"].value_counts()
    shares: dict[str, Sequence[float] | np.ndarray] = {
        "quality": [1 - rate.estimate for rate in verdicts.class_noise_rates],
        "missing": 1 - np.diag(verdicts.noise_matrix),
        "sureness": verdicts.class_sureness,
    }
    return [
        {"class": name, "images": int(images.get(name, 0)), "label_issues": int(issues.get(name, 0))}
        | {share: round(float(values[k]), 6) if name in images else None for share, values in shares.items()}
        for k, name in enumerate(classes)
    ]


def _interval(rate: NoiseRate) -> dict[str, float]:
    return {name: round(getattr(rate, name), 6) for name in ("estimate", "low", "high")}


def _confusion(pair: Confusion, classes: Sequence[str]) -> dict[str, Any]:
    numbers = {name: round(getattr(pair, name), 6) for name in ("share", "low", "high", "images")}
    return {"true": classes[pair.true], "given": classes[pair.given]} | numbers


def expected_precision(report: pd.DataFrame) -> float | None:
    """Share of the label issues that are expected to be wrong; None where there is no issue."""
    found = report.loc[report["is_label_issue"].fillna(False).astype(bool), "p_mislabeled"]
    return round(float(found.mean()), 6) if len(found) else None


def cleaned_labels(report: pd.DataFrame) -> pd.DataFrame:
    """`file_name, label` of the training rows to go on with.

    keep: the given label; relabel: the suggested one; review: the likelier of the two (`takes_suggestion`). Left out:
    drop, unreadable rows, and unlabelled rows without a sure suggestion. Cells are for programs, so they stay as they
    are; a file name that a spreadsheet would run as a formula is written as `./name`, which is the same file.
    """
    action = report["suggested_action"]
    train = (report["split"] == TRAIN) & (report["error_code"] == VALID)
    suggested = pd.Series(takes_suggestion(report), index=report.index)
    given = action.isin([KEEP, REVIEW]) & (report["given_label"] != "")
    chosen = train & (suggested | given)
    rows = report[chosen]
    labels = rows["given_label"].where(~suggested[chosen], rows["suggested_label"])
    names = [f"./{name}" if name[:1] in tuple("=+-@\t\r") else name for name in rows["filename"]]
    return pd.DataFrame({"file_name": pd.Series(names, index=rows.index, dtype=object), "label": labels.astype(object)})


def bad_files(report: pd.DataFrame, messages: np.ndarray) -> pd.DataFrame:
    """`filename, error_code, message` of the unreadable rows."""
    bad = (report["error_code"] != VALID).to_numpy()
    table = report.loc[bad, ["filename", "error_code"]]
    return table.assign(message=pd.Series(np.asarray(messages)[bad], index=table.index, dtype=object))


def counts(report: pd.DataFrame) -> dict[str, int]:
    """How many rows there are of every kind, images that are copies of another and their sets (`copy_sets`); the
    actions are counted over the labelled training images."""
    readable = report["error_code"] == VALID
    train = report["split"] == TRAIN
    labelled = is_labelled(report)
    sets = copy_sets(report)
    result = {
        "rows": len(report),
        "train": int((train & readable).sum()),
        "held_out": int((~train & readable).sum()),
        "unreadable": int((~readable).sum()),
        "labelled": int(labelled.sum()),
        "unlabelled": int((train & readable & ~labelled).sum()),
        "label_issues": int(report["is_label_issue"].fillna(False).sum()),
        "outlier_issues": int(report["is_outlier_issue"].fillna(False).sum()),
        "duplicates": int(sets["images"].sum()),
        "duplicate_sets": len(sets),
        "duplicate_conflicts": int(sets["conflict"].sum()),
        "duplicate_leaks": int(sets["leak"].sum()),
    }
    action = report.loc[labelled, "suggested_action"]
    return result | {name: int((action == name).sum()) for name in (KEEP, RELABEL, REVIEW, DROP)}


def read_report(run_dir: Path) -> pd.DataFrame:
    """report.csv of a run folder: text byte for byte ("01", "NA"), guarded cells restored, the index the row number.

    Raises DataError where the folder holds no report, the file is none, or rows of it are gone.
    """
    path = run_dir / REPORT
    if not path.is_file():
        raise DataError(
            f"{run_dir} holds no {REPORT}: name the folder of a finished run with `--run`, or run `scanmix train DATA`"
        )
    try:
        shared: dict[str, str] = {}  # a class that a million rows name is one text
        with pd.read_csv(
            path, dtype=object, na_filter=False, encoding_errors="surrogateescape", chunksize=READ_AT_ONCE
        ) as chunks:
            parts = [_typed(chunk, shared) for chunk in chunks]
    except ValueError as error:  # pandas' parsing errors are ValueErrors as well
        reason = " ".join(str(error).split())
        raise DataError(f"{path} is no report of scanmix ({reason}): run `scanmix train DATA` again") from error
    missing = [name for name in REPORT_COLUMNS if name not in parts[0]]
    if missing:
        raise DataError(f"{path} has no column `{missing[0]}`: it is no report of this version, so train again")
    rows, written = sum(map(len, parts)), read_summary(run_dir)["counts"]["rows"]
    if rows != written:
        raise DataError(
            f"{path} has {counted(rows, 'row')}, but {SUMMARY} counts {written}: put the whole file back, or run "
            "`scanmix train DATA` again"
        )
    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]


def _typed(chunk: pd.DataFrame, shared: dict[str, str]) -> pd.DataFrame:
    texts = ((restored(name), chunk.iloc[:, k].tolist()) for k, name in enumerate(chunk.columns))
    return typed_table({name: _parsed(name, cells, shared) for name, cells in texts}, chunk.index)


def _parsed(name: str, texts: list[str], shared: dict[str, str]) -> list[Any]:
    if name in FLAGS:
        return [None if text == "" else text == "True" for text in texts]
    if name in COUNTS:
        return [None if text == "" else int(text) for text in texts]
    if name in NUMBERS:
        return [float("nan") if text == "" else float(text) for text in texts]
    if name == "filename":
        return [restored(text) for text in texts]
    return [shared.setdefault(text, text) for text in map(restored, texts)]


def read_settings(run_dir: Path) -> dict[str, Any]:
    """config.toml of a run folder as a nested table, empty where there is none."""
    path = run_dir / CONFIG
    return read_toml(path) if path.is_file() else {}


def read_summary(run_dir: Path) -> dict[str, Any]:
    """summary.json of a run folder; DataError where it is missing or broken."""
    path = run_dir / SUMMARY
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: name the folder of a finished run with `--run`") from error
    for name, keys in NEEDED.items():
        part = summary.get(name) if isinstance(summary, dict) else None
        missing = [key for key in keys if key not in part] if isinstance(part, dict) else []
        if not isinstance(part, dict if keys else list) or missing:
            place = ".".join([name, *missing[:1]])
            raise DataError(f"{path} is no summary of a run, without `{place}`: put the file back, or train again")
    return summary
