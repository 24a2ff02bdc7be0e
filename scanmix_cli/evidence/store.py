"""`evidence.npz` of a run folder: what stands behind the verdicts, for the page and for judging again."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from scanmix_cli.errors import DataError
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.files import write_file

EVIDENCE = "evidence.npz"


def save_evidence(
    path: Path,
    evidence: Evidence,
    rows: np.ndarray,
    labels: np.ndarray,
    neighbors: np.ndarray | None,
    consistency: np.ndarray,
    embedding: tuple[np.ndarray, np.ndarray],
    two_classes: np.ndarray,
) -> None:
    """Write arrays over the N training images, compressed:

    rows int64 (N,) in the input table; labels int64 (N,), -1 unlabelled; epochs int64 (E,) and history float16 (N, E),
    the given label's mean probability then (NaN where unlabelled); mean_loss, final_posterior float32 (N,);
    given_probability, disagreement, consensus float32 (N,): the given label's probability over all looks, the share of
    looks that named another class, the share of epochs in which all networks named the same; final_probability float16
    (N, C); neighbors int32 (N, K) among the N and neighbors_named float32 (N,), the share of them in which the networks
    see the given label, where there are any; view_consistency float32 (N,); embedding float32 (M, 2) of the images
    embedding_rows int64 (M,) among the N; two_classes int32 (N, 2), those of ambiguous images, -1 elsewhere.
    """
    looks = max(evidence.observations, 1)
    used = evidence.history_epochs >= 0
    history = np.where(labels[:, None] >= 0, evidence.history[:, used], np.float16("nan"))
    arrays = {
        "rows": rows,
        "labels": labels,
        "epochs": evidence.history_epochs[used],
        "history": history.astype(np.float16),
        "mean_loss": (evidence.loss_sum / looks).astype(np.float32),
        "given_probability": (evidence.given_probability_sum / looks).astype(np.float32),
        "disagreement": (evidence.disagreement_sum / looks).astype(np.float32),
        "consensus": (evidence.consensus_sum / max(evidence.epochs, 1)).astype(np.float32),
        "final_posterior": evidence.final_posterior,
        "final_probability": evidence.final_probability.astype(np.float16),
        "view_consistency": consistency,
        "embedding_rows": embedding[0],
        "embedding": embedding[1],
        "two_classes": two_classes,
    }
    if neighbors is not None:
        arrays["neighbors"] = neighbors.astype(np.int32)
        arrays["neighbors_named"] = _named(evidence.final_probability.argmax(axis=1), labels, neighbors)
    write_file(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]


def _named(predicted: np.ndarray, labels: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """float32 (N,): share of the neighbours, the image itself left out, that are predicted to be of its given class."""
    same, others = np.zeros(len(labels), np.float32), np.zeros(len(labels), np.float32)
    own = np.arange(len(labels))
    for column in neighbors.T:  # a million images have one column at a time
        same += (column != own) & (predicted[column] == labels)
        others += column != own
    return same / np.maximum(others, 1)


def load_evidence(path: Path) -> dict[str, np.ndarray]:
    """The arrays of `save_evidence`, {} where the file is missing; DataError where it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, EOFError, KeyError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is damaged ({error}): remove it, or run `scanmix train DATA` again") from error
