"""The report as people and other tools have decided: their word replaces the networks' on the rows it is about."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from scanmix_cli.evidence.verdicts import DROP, KEEP, RELABEL, REVIEW
from scanmix_cli.report.choices import UNSURE
from scanmix_cli.report.decisions import Decision, read_current
from scanmix_cli.report.files import read_report
from scanmix_cli.report.table import is_labelled

# decision -> suggested_action, is_label_issue, p_mislabeled; None leaves the value
_EFFECTS: dict[str, tuple[str, bool | None, float | None]] = {
    KEEP: (KEEP, False, 0.0),
    RELABEL: (RELABEL, True, 1.0),
    DROP: (DROP, True, 1.0),
    UNSURE: (REVIEW, None, None),
}


def read_decided_report(run: Path) -> tuple[pd.DataFrame, dict[int, Decision]]:
    """report.csv with the decisions of RUN/decisions.sqlite in place, and those that stand, by row."""
    report = read_report(run)
    fitting = {
        row: decision
        for row, decision in read_current(run).items()
        if row < len(report) and report["filename"].iloc[row] == decision.filename
    }
    return apply_decisions(report, fitting), fitting


def apply_decisions(report: pd.DataFrame, decisions: Mapping[int, Decision]) -> pd.DataFrame:
    """A copy of the report in which decided rows say what was decided.

    suggested_action is the decision ("unsure" is review), suggested_label the label to go on with, and the
    probabilities of a decided row are 0 or 1; unsure leaves them. Ranks are given anew, so that confirmed errors come
    first and confirmed labels last; images that a run left out since they had been dropped are among the first. A
    relabel to the given label is a keep. Labels that nobody judges, of held-out and unreadable images, are no issue.
    """
    if not decisions:
        return report
    columns = ("suggested_label", "suggested_action", "is_label_issue", "p_mislabeled", "label_score", "p_suggested")
    values = {name: report[name].tolist() for name in columns}
    given, judged = report["given_label"].tolist(), is_labelled(report).tolist()
    for row, decision in decisions.items():
        kept = decision.decision == RELABEL and decision.label == given[row]
        action, issue, wrong = _EFFECTS[KEEP if kept else decision.decision]
        values["suggested_action"][row] = action
        if action == RELABEL:
            values["suggested_label"][row] = decision.label
        elif action == KEEP:
            values["suggested_label"][row] = given[row]
        if wrong is None:
            continue
        values["p_suggested"][row] = 1.0 if action != DROP else values["p_suggested"][row]
        if judged[row]:
            values["is_label_issue"][row] = issue
            values["p_mislabeled"][row], values["label_score"][row] = wrong, 1 - wrong
    decided = report.copy()
    for name, cells in values.items():
        decided[name] = pd.Series(cells, index=report.index, dtype=report[name].dtype)
    decided["rank"] = _ranks(decided)
    return decided


def _ranks(report: pd.DataFrame) -> pd.Series:
    """Ranks of the rows with a p_mislabeled, the largest first, ties as they were ranked before and new ones after."""
    judged = report["p_mislabeled"].notna().to_numpy()
    before = report.loc[judged, "rank"].fillna(len(report)).to_numpy(dtype=np.int64)
    order = np.lexsort((before, -report.loc[judged, "p_mislabeled"].to_numpy()))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(1, len(order) + 1)
    result = report["rank"].copy()
    result[judged] = ranks
    return result
