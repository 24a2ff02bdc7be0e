"""Which rows a choice gives, on a report of ten ranked rows, one unlabelled and one unreadable."""

import numpy as np
import pandas as pd
import pytest

from scanmix_cli.errors import SettingsError
from scanmix_cli.report.select import expected_gain, select

P = [0.1, 0.95, 0.3, 0.9, 0.6, 0.2, 0.05, 0.4, 0.8, 0.01]
CLASSES = ("01", "1", "NA")


@pytest.fixture
def report() -> pd.DataFrame:
    p = pd.Series([*P, np.nan, np.nan])
    return pd.DataFrame(
        {
            "given_label": pd.Series(["01", "1", "NA", "01", "1", "NA", "01", "1", "NA", "01", "", "1"], dtype=object),
            "p_mislabeled": p,
            "p_suggested": [*np.linspace(0.5, 0.95, 10), 0.9, np.nan],
            "rank": p.rank(ascending=False).astype("Int64"),
            "is_label_issue": pd.array([*(value >= 0.5 for value in P), False, None], dtype="boolean"),
            "suggested_action": [*("relabel" if value >= 0.5 else "keep" for value in P), "relabel", ""],
        }
    )


def rows(selected: pd.DataFrame) -> list[int]:
    return selected.index.tolist()


def test_without_a_choice_the_issues_in_rank_order(report: pd.DataFrame) -> None:
    assert rows(select(report, CLASSES)) == [1, 3, 8, 4]


def test_everything_in_input_order(report: pd.DataFrame) -> None:
    assert rows(select(report, CLASSES, everything=True)) == list(range(12))


def test_top_goes_beyond_the_issues_but_not_beyond_the_ranked_rows(report: pd.DataFrame) -> None:
    assert rows(select(report, CLASSES, top=6)) == [1, 3, 8, 4, 7, 2]
    assert len(select(report, CLASSES, top=99)) == 10


def test_threshold_takes_the_rows_at_or_above_it(report: pd.DataFrame) -> None:
    assert rows(select(report, CLASSES, threshold=0.3)) == [1, 3, 8, 4, 7, 2]
    assert rows(select(report, CLASSES, threshold=0.3, top=2)) == [1, 3]
    assert len(select(report, CLASSES, threshold=0.0)) == 10


def test_class_keeps_the_rows_given_that_label(report: pd.DataFrame) -> None:
    assert rows(select(report, CLASSES, given_class="1")) == [1, 4]
    assert rows(select(report, CLASSES, given_class="01", top=2)) == [3, 0]
    assert rows(select(report, CLASSES, given_class="1", everything=True)) == [1, 4, 7, 11]


@pytest.mark.parametrize(
    ("precision", "expected"),
    [(0.99, []), (0.95, [1]), (0.9, [1, 3]), (0.88, [1, 3, 8]), (0.81, [1, 3, 8, 4]), (0.0, 10)],
)
def test_min_precision_is_the_longest_list_that_keeps_it(
    report: pd.DataFrame, precision: float, expected: list[int] | int
) -> None:
    # means of the ranked probabilities: .95, .925, .883, .8125, .74
    selected = rows(select(report, CLASSES, min_precision=precision))
    assert selected == expected if isinstance(expected, list) else len(selected) == expected


def test_expected_gain_is_the_chance_that_the_cleaned_label_is_wrong() -> None:
    frame = pd.DataFrame(
        {
            "given_label": ["a"] * 5,
            "suggested_action": ["keep", "review", "relabel", "drop", "review"],
            "p_mislabeled": [0.1, 0.7, 0.9, 0.8, 0.7],
            "p_suggested": [0.9, 0.4, 0.85, 0.2, 0.25],
        }
    )
    # of the two to review, the first goes on with the suggested label, likelier right than the given one
    assert expected_gain(frame) == pytest.approx([0.1, 0.6, 0.15, 0.2, 0.7])


def test_review_budget_prefers_unsure_rows_over_sure_ones(report: pd.DataFrame) -> None:
    # gains: relabelled rows 1 - p_suggested = .45 (row 1), .35 (3), .3 (4), .1 (8); kept rows p_mislabeled, .4 (7)
    assert rows(select(report, CLASSES, review_budget=3)) == [1, 7, 3]


def test_an_unknown_class_names_the_known_ones(report: pd.DataFrame) -> None:
    with pytest.raises(SettingsError) as error:
        select(report, CLASSES, given_class="2")
    assert str(error.value) == "no class is named '2': the classes are 01, 1, NA"


def test_of_many_classes_the_first_are_named(report: pd.DataFrame) -> None:
    with pytest.raises(SettingsError, match=r"29 and 70 more$"):
        select(report, tuple(str(k) for k in range(100)), given_class="cat")


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"everything": True, "threshold": 0.5}, "--all and --threshold each choose the rows: give one of them"),
        (
            {"min_precision": 0.9, "review_budget": 3},
            "--min-precision and --review-budget each choose the rows: give one of them",
        ),
        ({"everything": True, "top": 3}, "--all and --top each choose the rows: give one of them"),
        ({"threshold": 1.5}, "--threshold is 1.5: give a probability between 0 and 1"),
        ({"min_precision": float("nan")}, "--min-precision is nan: give a probability between 0 and 1"),
    ],
)
def test_choices_that_make_no_sense(report: pd.DataFrame, choices: dict, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        select(report, CLASSES, **choices)
    assert str(error.value) == message


def test_a_report_without_labels_has_no_suspects(report: pd.DataFrame) -> None:
    unlabelled = report.iloc[[10, 11]]
    assert select(unlabelled, CLASSES).empty
    assert select(unlabelled, CLASSES, min_precision=0.5).empty
    assert select(unlabelled, CLASSES, review_budget=5).empty
