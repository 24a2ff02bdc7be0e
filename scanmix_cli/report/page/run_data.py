"""Everything the page and the plots need of a run, read from its folder."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from scanmix_cli.errors import DataError
from scanmix_cli.evidence.store import EVIDENCE, load_evidence
from scanmix_cli.report.decided import read_decided_report
from scanmix_cli.report.files import BAD_FILES, read_settings, read_summary, recounted
from scanmix_cli.report.matrix_file import read_noise_matrix
from scanmix_cli.report.spreadsheet import restored
from scanmix_cli.report.table import is_labelled

METRICS = "metrics.csv"


@dataclass(frozen=True)
class RunData:
    """A run as its folder tells it; C classes."""

    report: pd.DataFrame  # as `read_decided_report` returns it
    summary: dict[str, Any]  # as summary.json, with the counts of the report
    noise_matrix: np.ndarray | csr_array  # float64 (C, C): row = true class, column = given class
    settings: dict[str, Any] = field(default_factory=dict)  # the nested table of config.toml
    bad_files: pd.DataFrame = field(default_factory=pd.DataFrame)  # filename, error_code, message
    metrics: pd.DataFrame = field(default_factory=pd.DataFrame)  # a row per stage and epoch
    evidence: dict[str, np.ndarray] = field(default_factory=dict)  # as `load_evidence` returns it

    @property
    def classes(self) -> list[str]:
        return list(self.summary["classes"])

    @property
    def names(self) -> list[str]:
        """The classes, then labels that a person chose beside them."""
        known = set(self.classes)
        return self.classes + sorted(set(self.report["suggested_label"]) - known - {""})

    def labelled(self) -> pd.DataFrame:
        """The readable training rows with a given label."""
        return self.report[is_labelled(self.report)]

    def suspects(self) -> pd.DataFrame:
        """Rows with a label issue, most suspect first."""
        return ranked_issues(self.report)


def read_run(run_dir: Path) -> RunData:
    """The content of a finished run folder, the summary counted anew where decisions changed the report; what older
    runs did not write is empty.

    Raises DataError where report, summary or noise matrix are missing, or a file is damaged.
    """
    (report, decisions), summary = read_decided_report(run_dir), read_summary(run_dir)
    return RunData(
        report=report,
        summary=recounted(summary, report) if decisions else summary,
        noise_matrix=read_noise_matrix(run_dir),
        settings=read_settings(run_dir),
        bad_files=_texts(run_dir / BAD_FILES),
        metrics=_numbers(run_dir / METRICS),
        evidence=load_evidence(run_dir / EVIDENCE),
    )


def ranked_issues(report: pd.DataFrame) -> pd.DataFrame:
    """Rows with a label issue, most suspect first."""
    return report[is_issue(report)].sort_values("rank", kind="stable")


def is_issue(report: pd.DataFrame) -> pd.Series:
    """bool, one a row: whether the label is an issue."""
    return report["is_label_issue"].fillna(False).astype(bool)


def _texts(path: Path) -> pd.DataFrame:
    if not path.is_file():
        return pd.DataFrame()
    table = _table(path, dtype=object, na_filter=False)
    # column by column as plain objects: pandas' own text type refuses file names that are no valid Unicode
    columns = {name: pd.Series([restored(cell) for cell in table[name]], dtype=object) for name in table.columns}
    return pd.DataFrame(columns)


def _numbers(path: Path) -> pd.DataFrame:
    return _table(path) if path.is_file() and path.stat().st_size else pd.DataFrame()


def _table(path: Path, **options: Any) -> pd.DataFrame:
    try:
        return pd.read_csv(path, encoding_errors="surrogateescape", **options)
    except ValueError as error:  # pandas' parsing errors are ValueErrors as well
        reason = " ".join(str(error).split())
        raise DataError(f"{path} is no table ({reason}): remove it, or run `scanmix train DATA` again") from error
