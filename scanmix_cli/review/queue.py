"""The suspects of a run as the page's scripts work on them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.evidence.store import EVIDENCE, load_evidence
from scanmix_cli.evidence.verdicts import DROP
from scanmix_cli.legible import legible
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import Decision
from scanmix_cli.report.files import read_report, read_summary
from scanmix_cli.report.page.suspects import near_rows, suspect_columns
from scanmix_cli.report.places import image_paths

LIKELY = 5  # classes offered first when another one is chosen, where the networks give them
LEAST = 0.01  # this probability at least


@dataclass(frozen=True)
class Queue:
    """A run to be reviewed: the whole report, and the rows to look at, most suspect first."""

    run: Path
    report: pd.DataFrame
    classes: tuple[str, ...]
    name: str
    root: Path
    paths: list[str]  # the file of every row of the report
    suspects: pd.DataFrame
    evidence: dict[str, np.ndarray]

    def payload(self, who: str) -> bytes:
        """JSON: what the page needs of all suspects at once; labels are class numbers, -1 without one."""
        near = near_rows(self.suspects, self.evidence)
        columns = suspect_columns(self.suspects, self.classes, self.evidence, near)
        columns["near_rows"] = near
        columns["likely"] = self._likely()
        found = {
            "name": legible(self.name),
            "run": legible(str(self.run)),
            "who": legible(who),
            "classes": [legible(name) for name in self.classes],
            "suspects": columns,
        }
        return json.dumps(found, separators=(",", ":"), allow_nan=False).encode("ascii")

    def _likely(self) -> list[list[list[float]]]:
        """For every suspect, [class number, probability] of the classes the networks take it for, likeliest first."""
        if "final_probability" not in self.evidence:
            return [[] for _ in range(len(self.suspects))]
        known = pd.Index(self.evidence["rows"]).get_indexer(self.suspects.index)
        chances = self.evidence["final_probability"][known].astype(np.float32)
        first = np.argsort(-chances, axis=1, kind="stable")[:, :LIKELY]
        sure = np.take_along_axis(chances, first, axis=1)
        rounded = np.round(sure.astype(np.float64), 3).tolist()
        return [
            [[number, p] for number, p in zip(numbers, shares, strict=True) if at >= 0 and p >= LEAST]
            for numbers, shares, at in zip(first.tolist(), rounded, known, strict=True)
        ]

    def choice(self, row: int, decision: str, label: int | None) -> Choice:
        """A decision of the page; raises DataError for an unknown one and LookupError for an unknown row or class."""
        if not 0 <= row < len(self.report):
            raise LookupError(f"there is no row {row}")
        if label is not None and not 0 <= label < len(self.classes):
            raise LookupError(f"there is no class {label}")
        name = "" if label is None else self.classes[label]
        return Choice(row, self.report["filename"].iloc[row], decision, name)

    def fits(self, decision: Decision) -> bool:
        """Whether a decision is about an image of this report."""
        return decision.row < len(self.report) and self.report["filename"].iloc[decision.row] == decision.filename

    def described(self, decision: Decision) -> dict[str, Any]:
        """A decision for the page."""
        number = self.classes.index(decision.label) if decision.label in self.classes else -1
        return {
            "id": decision.id,
            "decision": decision.decision,
            "label": number,
            "name": legible(decision.label),
            "who": legible(decision.who),
            "when": decision.when,
            "source": legible(decision.source),
        }


def read_queue(run: Path, root: Path | None = None, top: int | None = None) -> Queue:
    """Read a finished run. `root`: where its data lie now; `top`: so many of the most suspect rows, flagged or not.

    Without `top` the rows are those whose label is an issue, and images that fit no class. Raises DataError.
    """
    report, summary = read_report(run), read_summary(run)
    readable = report[(report["split"] == TRAIN) & (report["error_code"] == VALID)]
    ranked = readable.sort_values("rank", kind="stable", na_position="last")
    if top is None:
        suspects = ranked[ranked["is_label_issue"].fillna(False).astype(bool) | (ranked["suggested_action"] == DROP)]
    else:
        suspects = ranked[ranked["rank"].notna()].head(top)
    return Queue(
        run=run,
        report=report,
        classes=tuple(summary["classes"]),
        name=summary["data"]["name"],
        root=Path(summary["data"]["root"]) if root is None else root,
        paths=image_paths(run, report, summary, root),
        suspects=suspects,
        evidence=load_evidence(run / EVIDENCE),
    )
