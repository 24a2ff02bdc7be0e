"""One row per input row, with the columns of the contract."""

from dataclasses import replace

import numpy as np
import pandas as pd
from report_run import ROWS, Run

from scanmix_cli.report.table import REPORT_COLUMNS, build_report

COLUMNS = (
    "filename, split, given_label, predicted_label, suggested_label, suggested_action, is_label_issue, label_score, "
    "p_mislabeled, p_suggested, rank, neighbor_agreement, mean_loss, p_clean_gmm, is_outlier_issue, outlier_score, "
    "is_exact_duplicate_issue, is_near_duplicate_issue, duplicate_set, error_code"
)


def test_columns_stand_in_the_order_of_the_contract(run: Run) -> None:
    assert ", ".join(REPORT_COLUMNS) == COLUMNS
    assert list(run.report.columns) == [*REPORT_COLUMNS, "input_rank"]


def test_columns_of_a_report_that_is_the_input_keep_their_names(run: Run) -> None:
    table = run.samples.table.assign(input_rank="before")
    samples = replace(run.samples, table=table, extra_columns=("rank", "input_rank"))
    report = build_report(samples, run.pixels, run.verdicts, run.train_rows)
    assert list(report.columns) == [*REPORT_COLUMNS, "input_input_rank", "input_rank"]
    assert report["input_rank"].unique().tolist() == ["before"]


def test_rows_stand_in_input_order(run: Run) -> None:
    assert run.report["filename"].tolist() == [row[0] for row in ROWS]
    assert run.report["input_rank"].tolist() == [f"-{k}" for k in range(len(ROWS))]


def test_wrong_labels_are_issues_with_a_suggestion(run: Run) -> None:
    issues = run.report[run.report["is_label_issue"].fillna(False).astype(bool)]
    assert issues.index.tolist() == [1, 3]
    assert issues["given_label"].tolist() == ["01", "=cat"]
    assert issues["suggested_label"].tolist() == ["=cat", "NA"]
    assert issues["suggested_action"].tolist() == ["relabel", "review"]
    assert issues["rank"].tolist() == [1, 2]


def test_unreadable_rows_have_an_error_code_and_nothing_else(run: Run) -> None:
    row = run.report.loc[4]
    assert row["error_code"] == "ERROR_CORRUPT_IMAGE"
    empty = row.drop(["filename", "split", "given_label", "error_code", "input_rank"])
    assert all(pd.isna(value) or value == "" for value in empty)


def test_held_out_rows_have_a_prediction_and_nothing_else(run: Run) -> None:
    row = run.report.loc[8]
    assert row["predicted_label"] == "NA"
    empty = row.drop(["filename", "split", "given_label", "predicted_label", "error_code", "input_rank"])
    assert all(pd.isna(value) or value == "" for value in empty)


def test_unlabelled_rows_have_a_suggestion_and_no_label_score(run: Run) -> None:
    rows = run.report.loc[[6, 7]]
    assert rows["suggested_label"].tolist() == ["NA", "01"]
    assert rows["suggested_action"].tolist() == ["relabel", "review"]
    assert rows["is_label_issue"].tolist() == [False, False]
    assert rows[["label_score", "p_mislabeled", "rank", "mean_loss", "p_clean_gmm"]].isna().all(axis=None)
    assert rows["p_suggested"].notna().all()


def test_duplicates_are_blank_unless_somebody_looked(run: Run) -> None:
    columns = ["is_exact_duplicate_issue", "duplicate_set"]
    assert run.report[columns].isna().all(axis=None)
    sets = np.full(len(ROWS), -1)
    sets[[0, 8]] = 0
    looked = build_report(run.samples, run.pixels, run.verdicts, run.train_rows, duplicates=sets)
    flags = looked["is_exact_duplicate_issue"]
    assert np.flatnonzero(flags.fillna(False)).tolist() == [0, 8]
    assert flags[flags.isna()].index.tolist() == np.flatnonzero(looked["error_code"] != "VALID").tolist()
    assert looked.loc[[0, 8], "duplicate_set"].tolist() == [0, 0]
    assert looked["duplicate_set"].notna().sum() == 2
