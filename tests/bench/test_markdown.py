"""Rows of results.md that stand below a method's."""

from typing import Any

import pytest

from scanmix_cli.bench.markdown import _detection, _further_tests


@pytest.mark.parametrize(
    ("top5", "extra", "expected"),
    [
        (0.9312, {}, [("scanmix (top-5, final)", "93.12")]),
        (None, {}, []),
        (
            0.9312,
            {"ilsvrc12": {"top1": 0.7, "top5": 0.9}},
            [
                ("scanmix (top-5, final)", "93.12"),
                ("scanmix (ilsvrc12, final)", "70.00"),
                ("scanmix (ilsvrc12, top-5, final)", "90.00"),
            ],
        ),
    ],
)
def test_top_5_needs_no_further_tests(
    top5: float | None, extra: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    rows = _further_tests({"method": "scanmix", "seed": 0, "top5": top5, "extra_tests": extra})
    assert [(row[0], row[3]) for row in rows] == expected


def test_trivial_baselines_are_those_of_every_seeds_labels() -> None:
    names = ("auroc", "ap", "best_f1", "f1", "precision", "recall", "clean_recall")
    same = dict.fromkeys((*names, "share_right", "noise_rate_error", "calibration_error"), 0.25)
    cells = [
        {"method": method, "seed": seed, "flag_all_f1": flagged, "random_ap": ap} | same
        for seed, flagged, ap in ((0, 0.496, 0.33), (1, 0.485, 0.32))
        for method in ("cross-entropy", "scanmix")
    ]
    lines = [[cell.strip() for cell in line.split("|")[1:]] for line in _detection(cells, []).splitlines()]
    assert [(line[0], line[1], line[3], line[5]) for line in lines[6:]] == [
        ("flag every label", "0", "-", "0.496"),
        ("flag every label", "1", "-", "0.485"),
        ("random order", "0", "0.330", "-"),
        ("random order", "1", "0.320", "-"),
    ]
