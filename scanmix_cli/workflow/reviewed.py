"""The labels a run trains on: the given ones, and with `--reviewed RUN` what was decided about an earlier run."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.data.samples import TRAIN, Samples
from scanmix_cli.data.wording import counted, shown
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
    warnings: tuple[str, ...] = ()  # decisions that are left out

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
    out; unsure: as it was. Decisions are found by file name, and those about held-out rows do not count; warnings tell
    of those that are about no one image. Raises DataError where the run holds no decision, or none about these images.
    """
    found, report = read_current(resolve_run(run)), _report_of(resolve_run(run))
    if not found:
        raise DataError(
            f"{run} holds no decisions; make some with `scanmix review --run {run}`, or leave out --reviewed"
        )
    places, is_train = _Places(samples, report), samples.is_train()
    fitting = [(places.find_all(decision.filename, row), decision) for row, decision in found.items()]
    decisions = {rows[0]: decision for rows, decision in fitting if len(rows) == 1 and is_train[rows[0]]}
    if not decisions:
        raise DataError(
            f"none of the {len(found)} decisions in {run} is about a training image of {samples.name}, such as "
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
    open_errors = _open_errors(report, decisions, places, is_train)
    warnings = tuple(_left_out(fitting, run, samples.name))
    return samples, TrainingLabels(ids, trusted, dropped, decisions, str(run), open_errors, warnings)


def _report_of(run: Path) -> pd.DataFrame | None:
    return read_report(run) if (run / REPORT).is_file() else None


class _Places:
    """The rows of the table that a row of an earlier run may be; of one name a training row is a training row's."""

    def __init__(self, samples: Samples, report: pd.DataFrame | None) -> None:
        names, self._is_train = samples.table["filename"].tolist(), samples.is_train().tolist()
        self._rows = RowFinder(names, self._is_train)
        trained = [] if report is None else (report["split"] == TRAIN).tolist()
        own = [] if report is None else report["filename"].tolist()
        shared = {name for name, kind in zip(own, trained, strict=True) if kind}
        self._namesakes = {row for row, name in enumerate(own) if not trained[row] and name in shared}

    def find_all(self, name: str, row: int) -> list[int]:
        if row in self._namesakes:  # a held-out image that shared its name with a training one
            return [place for place in self._rows.named(name) if not self._is_train[place]]
        return self._rows.find_all(name, str(row))


def _left_out(fitting: Sequence[tuple[list[int], Decision]], run: Path, name: str) -> Iterator[str]:
    """What is said of decisions about no image and about several."""
    gone = [decision.filename for rows, decision in fitting if not rows]
    unclear = [decision.filename for rows, decision in fitting if len(rows) > 1]
    for names, meant in ((gone, "no image"), (unclear, "several images")):
        if names:
            verb = "names" if len(names) == 1 else "name"
            yield (
                f"{len(names)} of {counted(len(fitting), 'decision')} of {run} {verb} {meant} of {name}, such as "
                f"{shown(names[0])}; decide again about those that you still have"
            )


def _open_errors(
    report: pd.DataFrame | None, decisions: Mapping[int, Decision], places: _Places, is_train: np.ndarray
) -> float:
    """Sum of p_mislabeled over the rows of a run that nobody decided about, times how many of the rows decided about
    were wrong over how many it had expected, a few right and wrong ones added; 0 where its report is gone."""
    if report is None:
        return 0.0
    left = expected = found = 0.0
    for row, (name, p) in enumerate(zip(report["filename"], report["p_mislabeled"].astype(float), strict=True)):
        rows = places.find_all(name, row)
        if len(rows) != 1 or not is_train[rows[0]] or p != p:
            continue
        decision = decisions[rows[0]].decision if rows[0] in decisions else UNSURE
        if decision == UNSURE:
            left += p
        elif decision in (KEEP, RELABEL):
            expected += p
            found += decision == RELABEL
    return left * (found + FEW) / (expected + FEW)
