"""`results.csv`, `results.json` and `results.md` from the finished cells."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from scanmix_cli.bench.markdown import results_markdown
from scanmix_cli.files import write_text
from scanmix_cli.report.spreadsheet import csv_text

CSV_ORDER = (
    *("dataset", "noise", "rate", "realised_rate", "recipe", "method", "seed"),
    *("best", "last", "best_single", "last_single", "recovery"),
    *("auroc", "ap", "best_f1", "f1", "precision", "recall", "flag_all_f1", "random_ap", "clean_recall"),
    *("share_right", "noise_rate_estimate", "noise_rate_error", "calibration_error"),
    *("minutes", "images_per_second", "peak_memory_mib", "device", "images", "fingerprint"),
)


def write_results(out: Path, cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All three files in `out`; returns the cells with `recovery` filled in."""
    cells = [{**cell, "recovery": recovery(cell, cells)} for cell in cells]
    write_text(out / "results.json", json.dumps(cells, indent=1) + "\n")
    flat = pd.DataFrame([flattened(cell) for cell in cells])
    first = [name for name in CSV_ORDER if name in flat.columns]
    write_text(out / "results.csv", csv_text(flat[first + [name for name in flat.columns if name not in first]]))
    write_text(out / "results.md", results_markdown(cells))
    return cells


def flattened(cell: dict[str, Any]) -> dict[str, Any]:
    """Inner objects become columns: `seconds.scanmix`, `versions.torch`."""
    flat: dict[str, Any] = {}
    for name, value in cell.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": found for inner, found in flattened(value).items()}
        else:
            flat[name] = value
    return flat


def recovery(cell: dict[str, Any], cells: list[dict[str, Any]]) -> float | None:
    """Last accuracy over the ceiling; None without one."""
    limit = ceiling(cell, cells)
    return None if limit is None or cell["last"] is None else cell["last"] / limit


def ceiling(cell: dict[str, Any], cells: list[dict[str, Any]]) -> float | None:
    """Last accuracy of cross-entropy on the clean labels with the same images and budget.

    The clean run of the same seed counts, else the mean of those there are; None without one.
    """
    ceilings = [other for other in cells if _is_ceiling(other, cell)]
    same_seed = [other for other in ceilings if other["seed"] == cell["seed"]]
    chosen = [other["last"] for other in same_seed or ceilings]
    return sum(chosen) / len(chosen) if chosen else None


def _is_ceiling(other: dict[str, Any], cell: dict[str, Any]) -> bool:
    same = ("fingerprint", "profile", "backbone", "time_budget", "supervised_epochs")
    clean = other["noise"] == "none" and other["method"] == "cross-entropy" and other["last"] is not None
    return clean and all(other[name] == cell[name] for name in same)
