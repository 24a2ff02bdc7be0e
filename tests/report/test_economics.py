"""What a look at the list is expected to bring, by hand."""

import pandas as pd
import pytest

from scanmix_cli.report.economics import errors_curve, expected_wrong


def report(labels: int, issues: int) -> pd.DataFrame:
    """Labels in falling order of suspicion, then a row without a label."""
    return pd.DataFrame(
        {
            "p_mislabeled": [*(1 - k / labels for k in range(labels)), float("nan")],
            "rank": pd.array([*range(1, labels + 1), None], dtype="Int64"),
            "is_label_issue": pd.array([*(k < issues for k in range(labels)), False], dtype="boolean"),
        }
    )


def test_the_curve_is_the_sum_of_the_first_probabilities() -> None:
    curve = errors_curve(report(30, 4).sample(frac=1, random_state=0))
    assert [step["first"] for step in curve] == [4, 10, 25, 30]
    assert curve[0]["wrong"] == pytest.approx(4 - 6 / 30, abs=1e-3)
    assert curve[-1]["wrong"] == pytest.approx(15.5, abs=1e-3)


def test_the_ladder_goes_as_far_as_the_labels() -> None:
    assert [step["first"] for step in errors_curve(report(600, 0))] == [10, 25, 50, 100, 250, 500, 600]
    assert errors_curve(report(600, 0).head(0)) == []


def test_rows_without_a_label_are_not_expected_to_be_wrong() -> None:
    assert expected_wrong(report(2, 1)) == pytest.approx(1.5)
