"""The evidence of a cell, kept beside it: verdicts can be studied on it later, without training and without a GPU.

evidence, given, clean, neighbors = load_cell_evidence(Path("results/cells/KEY.npz"))
verdicts = judge(evidence, given, neighbors)
"""

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scanmix_cli.errors import DataError
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.method.methods import Outcome

PREFIX = "evidence."  # of the evidence's fields among the arrays of a cell
NEIGHBORS = "neighbors"


class KeptEvidence(NamedTuple):
    """Evidence on N images and what it is judged with; `clean` and `neighbors` are None where there are none."""

    evidence: Evidence
    given: np.ndarray  # int64 (N,)
    clean: np.ndarray | None  # int64 (N,)
    neighbors: np.ndarray | None  # int64 (N, K) row numbers


def evidence_arrays(outcome: Outcome) -> dict[str, np.ndarray]:
    """All fields of the evidence and the neighbours int32; float64 becomes float32, which is exact to 7 digits."""
    arrays: dict[str, np.ndarray] = {}
    if outcome.evidence is not None:
        for field in fields(outcome.evidence):
            value = np.asarray(getattr(outcome.evidence, field.name))
            arrays[PREFIX + field.name] = value.astype(np.float32) if value.dtype == np.float64 else value
    if outcome.neighbors is not None:
        arrays[NEIGHBORS] = outcome.neighbors.cpu().numpy().astype(np.int32)
    return arrays


def load_cell_evidence(path: Path) -> KeptEvidence:
    """What `evidence_arrays` kept in the `.npz` of a cell. Raises DataError where it holds no evidence of this
    version."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}): name the .npz file of a finished cell") from error
    kept = {name.removeprefix(PREFIX): _plain(value) for name, value in arrays.items() if name.startswith(PREFIX)}
    known = [field.name for field in fields(Evidence) if field.name in kept]
    needed = [field.name for field in fields(Evidence) if field.default is field.default_factory is MISSING]
    missing = [name for name in needed if name not in kept]
    if missing:
        raise DataError(f"{path} holds no {', '.join(missing)} of the evidence: run the cell again with this version")
    optional = {name: arrays[name].astype(np.int64) if name in arrays else None for name in ("clean", NEIGHBORS)}
    evidence = Evidence(**{name: kept[name] for name in known})
    return KeptEvidence(evidence, arrays["given"].astype(np.int64), optional["clean"], optional[NEIGHBORS])


def _plain(value: np.ndarray) -> Any:
    """Counts come back as numbers."""
    return value.item() if value.ndim == 0 else value
