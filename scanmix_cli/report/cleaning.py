"""The rule of cleaned.csv: which label a row goes on with."""

import numpy as np
import pandas as pd

from scanmix_cli.evidence.verdicts import RELABEL, REVIEW


def takes_suggestion(report: pd.DataFrame) -> np.ndarray:
    """bool (rows,): the suggested label goes on: to relabel, or to review and likelier right than the given one.

    A given label is right with 1 - p_mislabeled, the suggested one with p_suggested. An unlabelled row to review has no
    label to go on with.
    """
    action = report["suggested_action"].to_numpy(dtype=object)
    given = report["given_label"].to_numpy(dtype=object) != ""
    likelier = report["p_suggested"].to_numpy(np.float64) > 1 - report["p_mislabeled"].to_numpy(np.float64)
    return (action == RELABEL) | ((action == REVIEW) & given & likelier)
