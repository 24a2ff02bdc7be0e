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

    rows int64 (N,) in the input table; labels int64 (N,), -1 unlabelled; epochs int64 (E,), evenly spaced, history and
    loss_history float16 (N, E): the given label's mean probability and loss in these, probability_trend and loss_trend
    float32 (N,): what a straight line through them gains an epoch (NaN where unlabelled, a trend of one epoch too);
    mean_loss, final_posterior float32 (N,); given_probability, disagreement, consensus float32 (N,): the given label's
    probability over all looks, the share of looks that named another class, the share of epochs in which all networks
    named the same; disagreement_by_network float32 (N, networks): the share of looks of each; final_probability float16
    (N, C); neighbors int32 (N, K) among the N and neighbors_named float32 (N,), the share of them in which the networks
    see the given label, where there are any; view_consistency float32 (N,); embedding float32 (M, 2) of the images
    embedding_rows int64 (M,) among the N; two_classes int32 (N, 2), those of ambiguous images, -1 elsewhere.
    """
    looks, rounds = max(evidence.observations, 1), max(evidence.epochs, 1)
    used = evidence.history_epochs >= 0
    epochs, disagreements = evidence.history_epochs[used], evidence.disagreements[:, : looks // rounds]
    history, loss_history = (
        np.where(labels[:, None] >= 0, kept[:, used], np.float16("nan"))
        for kept in (evidence.history, evidence.loss_history)
    )
    arrays = {
        "rows": rows,
        "labels": labels,
        "epochs": epochs,
        "history": history,
        "loss_history": loss_history,
        "probability_trend": _trend(history, epochs),
        "loss_trend": _trend(loss_history, epochs),
        "mean_loss": (evidence.loss_sum / looks).astype(np.float32),
        "given_probability": (evidence.given_probability_sum / looks).astype(np.float32),
        "disagreement": disagreements.sum(axis=1) / np.float32(looks),
        "disagreement_by_network": disagreements / np.float32(rounds),
        "consensus": (evidence.consensus_sum / rounds).astype(np.float32),
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
    write_file(path, lambda file: np.savez_compressed(file, **arrays))


def _trend(history: np.ndarray, epochs: np.ndarray) -> np.ndarray:
    """float32 (N,): slope an epoch of the least-squares line through history (N, E) at epochs (E,); NaN of fewer than
    two."""
    if len(epochs) < 2:
        return np.full(len(history), np.nan, np.float32)
    slope, apart = np.zeros(len(history), np.float32), epochs - epochs.mean()
    for weight, column in zip(apart / np.square(apart).sum(), history.T, strict=True):  # a million images, one by one
        slope += np.float32(weight) * column.astype(np.float32)
    return slope


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
