"""Several seeds: mean and spread of every method, and paired tests between methods."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import ttest_rel, wilcoxon

MEASURES = ("last", "auroc")
SETTINGS = (
    *("dataset", "noise", "rate", "recipe", "fingerprint"),
    *("profile", "time_budget", "epochs", "supervised_epochs"),
)
DIGEST = "settings"  # of the whole profile; results of earlier versions have none
WILCOXON_PAIRS = 3  # with fewer pairs its smallest possible p says nothing


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (n - 1; None for one seed) of a measure over the seeds of a method."""

    method: str
    measure: str
    seeds: int
    mean: float
    deviation: float | None


@dataclass(frozen=True)
class Comparison:
    """Mean difference `first` - `second` over the seeds that both have, with two-sided p-values, None where a test
    does not apply: too few pairs, or differences that are all the same."""

    measure: str
    first: str
    second: str
    seeds: int
    difference: float
    p_t: float | None
    p_wilcoxon: float | None


def comparable(cells: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Cells of one noise, data set, profile and budget belong together; groups in first-seen order.

    Drawn labels differ from seed to seed; those that were read are the same for all seeds, or are other noise.
    """
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for cell in cells:
        read = cell.get("label_hash") if cell.get("label_seed") is None else None
        key = (*(cell[name] for name in SETTINGS), cell.get(DIGEST), read)
        groups.setdefault(key, []).append(cell)
    return list(groups.values())


def spreads(cells: Sequence[dict[str, Any]]) -> list[Spread]:
    """One entry a method and measure, for comparable cells."""
    found = []
    for measure in MEASURES:
        for method, values in _by_method(cells, measure).items():
            numbers = list(values.values())
            deviation = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
            found.append(Spread(method, measure, len(numbers), float(np.mean(numbers)), deviation))
    return found


def comparisons(cells: Sequence[dict[str, Any]]) -> list[Comparison]:
    """Every pair of methods with at least two common seeds, for comparable cells."""
    found = []
    for measure in MEASURES:
        by_method = _by_method(cells, measure)
        for first, second in combinations(by_method, 2):
            common = sorted(by_method[first].keys() & by_method[second].keys())
            if len(common) > 1:
                a, b = ([by_method[name][seed] for seed in common] for name in (first, second))
                p_t, p_wilcoxon = paired_tests(a, b)
                difference = float(np.mean(np.subtract(a, b)))
                found.append(Comparison(measure, first, second, len(common), difference, p_t, p_wilcoxon))
    return found


def paired_tests(first: Sequence[float], second: Sequence[float]) -> tuple[float | None, float | None]:
    """p-values of the paired t-test and of Wilcoxon's signed-rank test."""
    differences = np.subtract(first, second)
    if len(differences) < 2 or np.ptp(differences) < 1e-12:
        return None, None
    enough = len(differences) >= WILCOXON_PAIRS
    return float(ttest_rel(first, second).pvalue), float(wilcoxon(differences).pvalue) if enough else None


def _by_method(cells: Sequence[dict[str, Any]], measure: str) -> dict[str, dict[int, float]]:
    """Measure by method and seed, where it was taken."""
    found: dict[str, dict[int, float]] = {}
    for cell in cells:
        if cell.get(measure) is not None:
            found.setdefault(cell["method"], {})[cell["seed"]] = cell[measure]
    return found
