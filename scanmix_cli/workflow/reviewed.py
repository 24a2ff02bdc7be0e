"""The labels a run trains on: the given ones, and with `--reviewed RUN` what was decided about an earlier run."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from scanmix_cli.data.samples import Samples
from scanmix_cli.errors import DataError
from scanmix_cli.evidence.verdicts import DROP, KEEP, RELABEL
from scanmix_cli.report.choices import TOOLS, UNSURE, Choice, RowFinder
from scanmix_cli.report.decisions import Decision, open_decisions, read_current
from scanmix_cli.report.files import REPORT, read_report
from scanmix_cli.report.runs import resolve_run

FEW = 5.0  # labels by which a short review is kept from saying too much about the rest


@dataclass(frozen=True)
class TrainingLabels:
    """Labels over the R rows of the table."""

    ids: np.ndarray  # int64 (R,): class, -1 where unlabelled
    trusted: np.ndarray  # bool (R,): somebody decided it; training never doubts it
    dropped: np.ndarray  # bool (R,): left out of training
    decisions: Mapping[int, Decision] = field(default_factory=dict)  # by row of the table
    run: str = ""  # the run that they were made about
    open_errors: float = 0.0  # wrong labels that it expects among those nobody decided about

    def fingerprint(self) -> str:
        """sha256 of what was decided, "" where nothing was."""
        if not self.decisions:
            return ""
        parts = (self.ids, self.trusted, self.dropped)
        return " " + hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()

    def counts(self) -> dict[str, Any]:
        """For summary.json: how many decisions of each kind were taken over, {} where none were."""
        if not self.decisions:
            return {}
        kinds = Counter(decision.decision for decision in self.decisions.values())
        return {"reviewed": {"run": self.run, **{kind: kinds[kind] for kind in (KEEP, RELABEL, DROP, UNSURE)}}}

    def carry_on(self, run: Path) -> None:
        """Write the decisions into the log of the new run, under the names of those who made them; a tool's stay so."""
        if not self.decisions:
            return

        def origin(item: tuple[int, Decision]) -> tuple[str, str]:
            _, old = item
            return old.who, old.source if old.source in TOOLS else f"reviewed {self.run}"

        ordered = sorted(self.decisions.items(), key=lambda item: (origin(item), item[0]))
        with open_decisions(run) as log:
            for (who, source), items in groupby(ordered, key=origin):
                choices = [Choice(row, old.filename, old.decision, old.label) for row, old in items]
                log.add_new(choices, who=who, source=source)


def given_labels(samples: Samples) -> TrainingLabels:
    """The labels as they were given; none is trusted."""
    none = np.zeros(len(samples), bool)
    return TrainingLabels(samples.label_ids(), none, none)


def read_reviewed(run: Path, samples: Samples) -> tuple[Samples, TrainingLabels]:
    """The labels with the decisions of a run in place, and the samples with classes that came up in the review.

    keep: the given label is trusted; relabel: the new label is, in place of the given one; drop: the image is left
    out; unsure: as it was. Decisions are found by file name, and those about held-out rows do not count. Raises
    DataError where the run holds no decision, or none about these images.
    """
    found = read_current(resolve_run(run))
    if not found:
        raise DataError(
            f"{run} holds no decisions; make some with `scanmix review --run {run}`, or leave out --reviewed"
        )
    rows, is_train = RowFinder(samples.table["filename"].tolist()), samples.is_train()
    placed = {rows.find(decision.filename, str(row)): decision for row, decision in found.items()}
    decisions = {row: decision for row, decision in placed.items() if row is not None and is_train[row]}
    if not decisions:
        raise DataError(
            f"none of the {len(found)} decisions in {run} is about an image of {samples.name}, such as "
            f"{next(iter(found.values())).filename}; name a run about the same data with --reviewed"
        )
    new = {decision.label for decision in decisions.values() if decision.decision == RELABEL}
    samples = replace(samples, classes=tuple(sorted({*samples.classes, *new})))
    ids = samples.label_ids()
    trusted, dropped = np.zeros(len(samples), bool), np.zeros(len(samples), bool)
    for row, decision in decisions.items():
        if decision.decision == RELABEL:
            ids[row] = samples.classes.index(decision.label)
        trusted[row] = decision.decision == RELABEL or (decision.decision == KEEP and ids[row] >= 0)
        dropped[row] = decision.decision == DROP
    open_errors = _open_errors(resolve_run(run), decisions, rows, is_train)
    return samples, TrainingLabels(ids, trusted, dropped, decisions, str(run), open_errors)


def _open_errors(run: Path, decisions: Mapping[int, Decision], rows: RowFinder, is_train: np.ndarray) -> float:
    """Sum of p_mislabeled over the rows of a run that nobody decided about, times how many of the rows decided about
    were wrong over how many it had expected, a few right and wrong ones added; 0 where its report is gone."""
    if not (run / REPORT).is_file():
        return 0.0
    report = read_report(run)
    left = expected = found = 0.0
    for row, (name, p) in enumerate(zip(report["filename"], report["p_mislabeled"].astype(float), strict=True)):
        place = rows.find(name, str(row))
        if place is None or not is_train[place] or p != p:
            continue
        decision = decisions[place].decision if place in decisions else UNSURE
        if decision == UNSURE:
            left += p
        elif decision in (KEEP, RELABEL):
            expected += p
            found += decision == RELABEL
    return left * (found + FEW) / (expected + FEW)
