"""What the images' features say of a label when that label has no vote: kernel ridge regression, leave-one-out.

A network trained on wrong labels learns them by heart in the end; this regression cannot, since every image is
predicted by the others alone, in closed form: with hat matrix H the prediction without row i is
(H Y - diag(H) Y)_i / (1 - H_ii) (Allen 1974). The kernel is a Gaussian, by LANDMARKS of the images (Nystrom), so memory
grows with N x C and one block of rows, never N x N.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from scanmix_cli.evidence.noise_matrix import fitted_noise_matrix
from scanmix_cli.evidence.noise_model import softmax
from scanmix_cli.streams import stream

LANDMARKS = 1200
BLOCK = 16_384  # rows whose kernel values are held at once
RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0)
SHARPNESS = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0)  # of the softmax that makes probabilities of predictions
TRIAL_ROWS, TRIAL_VALUES = 20_000, 4_000_000  # at most, on which ridge and sharpness are chosen: rows, rows x classes
NOISE_STEPS = 20
LEAST_FREE = 0.05  # of 1 - H_ii: an image that is a landmark rules its own prediction


class KernelMap:
    """Rows (n, D) -> (n, M) whose inner products are the kernel's."""

    def __init__(self, features: np.ndarray, rng: np.random.Generator) -> None:
        chosen = np.sort(rng.permutation(len(features))[:LANDMARKS])
        self.landmarks = features[chosen].astype(np.float32)
        distances = self._squared(self.landmarks)
        self.width = max(float(np.median(distances)), 1e-12)
        values, vectors = np.linalg.eigh(np.exp(-distances / self.width).astype(np.float64))
        kept = values > 1e-6 * values[-1]
        self.basis = (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32)

    def _squared(self, rows: np.ndarray) -> np.ndarray:
        norms = (rows * rows).sum(1)[:, None] + (self.landmarks * self.landmarks).sum(1)
        return np.maximum(norms - 2 * rows @ self.landmarks.T, 0)

    def blocks(self, features: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Slices of the rows and their maps, BLOCK rows at a time."""
        for start in range(0, len(features), BLOCK):
            part = slice(start, min(start + BLOCK, len(features)))
            yield part, np.exp(-self._squared(features[part].astype(np.float32)) / self.width) @ self.basis


def leave_one_out(features: np.ndarray, labels: np.ndarray, classes: int, seed: int) -> np.ndarray:
    """float32 (N, C): probability of each class as the true one, from the labels of all other images.

    features float (N, D); labels int64 (N,), -1 where unlabelled. Ridge and sharpness are those under which the given
    labels are likeliest, with a noise matrix between true and given labels.
    """
    known = labels >= 0
    if known.sum() < 2 or classes < 2:
        return np.full((len(labels), classes), 1 / classes, np.float32)
    fit = _Fit(features, labels, classes, stream(seed))
    some = stream(seed).permutation(np.flatnonzero(known))
    some = some[: min(TRIAL_ROWS, max(TRIAL_VALUES // classes, 100))]
    given = labels[some]
    trials = []
    for ridge in RIDGES:
        predicted = fit.predict(features[some], given, ridge)
        trials += [(likelihood(softmax(s * predicted), given), ridge, s) for s in SHARPNESS]
    _, ridge, sharpness = max(trials)
    result = np.empty((len(labels), classes), np.float32)
    for start in range(0, len(labels), BLOCK):
        part = slice(start, start + BLOCK)
        result[part] = softmax(sharpness * fit.predict(features[part], labels[part], ridge))
    return result


class _Fit:
    """The normal equations of all labelled rows, solved for any ridge."""

    def __init__(self, features: np.ndarray, labels: np.ndarray, classes: int, rng: np.random.Generator) -> None:
        known = np.flatnonzero(labels >= 0)
        self.map = KernelMap(features[known] if len(known) < len(labels) else features, rng)
        self.shares = np.bincount(labels[known], minlength=classes) / len(known)
        width = self.map.basis.shape[1]
        gram, self.targets = np.zeros((width, width)), np.zeros((width, classes))
        for part, mapped in self.map.blocks(features):
            here = labels[part] >= 0
            rows, given = mapped[here], labels[part][here]
            gram += rows.T @ rows
            self.targets += _sums(rows, given, classes).T
            self.targets -= np.outer(rows.sum(0), self.shares)
        self.values, self.vectors = np.linalg.eigh(gram)

    def predict(self, features: np.ndarray, labels: np.ndarray, ridge: float) -> np.ndarray:
        """float64 (n, C): shares of the classes; a labelled row without its own label's help."""
        inverse = 1 / (np.maximum(self.values, 0) + ridge)
        solution = self.vectors @ (inverse[:, None] * (self.vectors.T @ self.targets))
        result = np.empty((len(features), len(self.shares)))
        for part, mapped in self.map.blocks(features):
            turned = mapped @ self.vectors
            leverage = (turned * turned) @ inverse
            given, here = labels[part], labels[part] >= 0
            own = np.zeros((len(given), len(self.shares)))
            own[here, given[here]] = 1
            own[here] -= self.shares
            leverage = np.where(here, np.minimum(leverage, 1 - LEAST_FREE), 0)[:, None]
            result[part] = (mapped @ solution - leverage * own) / (1 - leverage) + self.shares
        return result


def _sums(rows: np.ndarray, given: np.ndarray, classes: int) -> np.ndarray:
    """float (classes, M): sums of the rows (n, M) of each given class."""
    places = csr_array((np.ones(len(given), rows.dtype), (given, np.arange(len(given)))), (classes, len(given)))
    return places @ rows


def likelihood(probabilities: np.ndarray, given: np.ndarray) -> float:
    """Mean log-likelihood of given labels int64 (n,), when true ones have `probabilities` (n, C) and become given ones
    by the noise matrix that fits both best."""
    matrix = fitted_noise(probabilities, given)
    return float(np.log((probabilities * matrix[:, given].T).sum(1)).mean())


def corrected_labels(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """int64 (N,): the likeliest true class of every labelled image, given its label and `probabilities` (N, C) that
    the label had no part in; -1 where unlabelled."""
    result, known = np.full(len(labels), -1), np.flatnonzero(labels >= 0)
    given, matrix = labels[known], fitted_noise(probabilities[known], labels[known])
    result[known] = (probabilities[known] * matrix[:, given].T).argmax(1)
    return result


def fitted_noise(probabilities: np.ndarray, given: np.ndarray) -> np.ndarray:
    """float64 (C, C): P(given | true) by EM from 30 % noise; probabilities (n, C) of the true classes, given (n,)."""
    classes = probabilities.shape[1]
    start = np.full((classes, classes), 0.3 / (classes - 1))
    np.fill_diagonal(start, 0.7)
    prior = np.ones((classes, classes)) + 5 * np.eye(classes)  # a weak belief that labels are mostly right
    return fitted_noise_matrix(probabilities, given, start, prior, NOISE_STEPS)
