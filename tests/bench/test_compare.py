"""Means, spreads and paired tests over seeds."""

from typing import Any

import pytest

from scanmix_cli.bench.compare import SETTINGS, comparable, comparisons, paired_tests, spreads


def cell(method: str, seed: int, last: float | None, **other: Any) -> dict[str, Any]:
    return {**dict.fromkeys(SETTINGS, 0), "method": method, "seed": seed, "last": last, **other}


def test_mean_and_deviation_by_hand() -> None:
    found = spreads([cell("a", 0, 0.5), cell("a", 1, 0.7), cell("b", 0, 0.4)])
    assert [(s.method, s.measure, s.seeds) for s in found] == [("a", "last", 2), ("b", "last", 1)]
    assert found[0].mean == pytest.approx(0.6)
    assert found[0].deviation == pytest.approx(0.02**0.5)
    assert found[1].deviation is None


def test_pairs_are_made_by_seed() -> None:
    (found,) = comparisons([cell("a", 0, 0.5), cell("a", 1, 0.9), cell("b", 1, 0.7), cell("b", 0, 0.4)])
    assert (found.first, found.second, found.seeds) == ("a", "b", 2)
    assert found.difference == pytest.approx(0.15)  # mean of 0.1 and 0.2
    assert found.p_t == pytest.approx(0.2048, abs=1e-4)  # t = 3 with one degree of freedom
    assert found.p_wilcoxon is None


def test_methods_without_common_seeds_are_not_compared() -> None:
    assert comparisons([cell("a", 0, 0.5), cell("a", 1, 0.9), cell("b", 2, 0.7), cell("b", 1, None)]) == []


def test_wilcoxon_from_three_pairs_on() -> None:
    _, p = paired_tests([0.5, 0.6, 0.7], [0.4, 0.4, 0.4])
    assert p == pytest.approx(0.25)  # the smallest two-sided p of three pairs


def test_equal_differences_cannot_be_tested() -> None:
    assert paired_tests([0.5, 0.6, 0.7], [0.4, 0.5, 0.6]) == (None, None)


def test_other_budgets_are_other_groups() -> None:
    cells = [cell("a", 0, 0.5), cell("a", 0, 0.6, time_budget=60), cell("b", 0, 0.7)]
    assert comparable(cells) == [[cells[0], cells[2]], [cells[1]]]


def test_other_labels_that_were_read_and_other_settings_are_other_groups() -> None:
    read = {"label_seed": None, "label_hash": "a"}
    cells = [cell("a", 0, 0.5, **read), cell("a", 0, 0.6, **read | {"label_hash": "b"}), cell("a", 1, 0.5, **read)]
    assert comparable(cells) == [[cells[0], cells[2]], [cells[1]]]
    drawn = [cell("a", seed, 0.5, label_seed=123 + seed, label_hash=str(seed)) for seed in (0, 1)]
    assert comparable(drawn) == [drawn]
    longer = [*drawn, cell("a", 0, 0.6, label_seed=123, label_hash="0", settings="more pre-training")]
    assert comparable(longer) == [drawn, longer[2:]]
