"""A run that is resumed though it has come to its end and its checkpoints are gone."""

import hashlib
from pathlib import Path
from typing import Any

from scanmix_cli.engine.parallel import from_writer
from scanmix_cli.errors import DataError, SettingsError
from scanmix_cli.evidence.store import EVIDENCE
from scanmix_cli.report.files import BAD_FILES, CLEANED, REPORT, read_summary
from scanmix_cli.report.matrix_file import NOISE_MATRIX

OUTPUTS = (REPORT, CLEANED, BAD_FILES, NOISE_MATRIX, EVIDENCE, "model/model.safetensors", "model/model.json")


def identity_digest(fingerprint: str) -> str:
    """What summary.json keeps of the fingerprint of the checkpoints."""
    return hashlib.sha256(fingerprint.encode()).hexdigest()


def finished_summary(folder: Path, fingerprint: str) -> dict[str, Any] | None:
    """The summary of a run with all its outputs and without checkpoints, None for any other; asked in every process.

    Raises SettingsError where that run was made from other data or settings.
    """
    return from_writer(lambda: _read(folder, fingerprint))


def _read(folder: Path, fingerprint: str) -> dict[str, Any] | None:
    if (folder / "checkpoints").exists() or not all((folder / name).is_file() for name in OUTPUTS):
        return None
    try:
        summary = read_summary(folder)
    except DataError:
        return None
    if "identity" in summary and summary["identity"] != identity_digest(fingerprint):
        raise SettingsError(
            f"{folder} has finished with other data or settings, and its checkpoints are gone; resume with the same "
            "ones, or start anew with --overwrite"
        )
    return summary if "identity" in summary else None
