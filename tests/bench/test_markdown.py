"""Rows of results.md that a cell adds below its method's."""

from typing import Any

import pytest

from scanmix_cli.bench.markdown import _further_tests


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
