"""Whether wrong labels follow the image: people and classifiers err where an image is doubtful.

Two ways in which a given label may come about are compared by how well each foretells it: out of the true class, by a
confusion of classes, and out of what the image looks like, drawn from the beliefs themselves. Swapped classes are
foretold by the first alone, even noise by both alike, and labels that follow the image by the first a little better.
The gain for each label that is held to be wrong tells which (docs/verdicts.md, measured on runs with known truth).
"""

import numpy as np

from scanmix_cli.evidence.noise_matrix import fitted_noise_matrix, label_posterior
from scanmix_cli.evidence.noise_model import TINY, softmax
from scanmix_cli.evidence.scores import sums_by_class
from scanmix_cli.streams import parts

SHARPENED = (1.0, 1.6, 2.5, 4.0)  # exponents of beliefs about the true class
HALF = 0.5  # exponent of the confusion of classes where wrong labels follow the image
SOFTENED = (0.2, 0.3, 0.5, 0.8, 1.2, 2.0)  # of beliefs out of which labels are drawn
STEPS = 8  # of EM for the confusion of classes
MIXED = 30  # of EM for the share of labels that follow nothing
LEAST_GAIN, MOST_GAIN = 0.12, 0.95  # nats for each label held to be wrong
LEAST_WRONG = 0.1  # share of the labels that are wrong by the confusion of classes
MOST_PAIRED = 0.8  # share of these that fall to each class's commonest mistake
SURE = 3.0  # standard errors by which the confusion of classes must be ahead, and LEAST_WRONG be passed


def follows_image(evidence: np.ndarray, labels: np.ndarray) -> bool:
    """Whether wrong labels follow the image; evidence float (n, C): log-beliefs, labels int64 (n,).

    Few wrong labels, or few labels altogether, cannot tell, and pairs of swapped classes in vague features look alike.
    """
    rows, beliefs = np.arange(len(labels)), softmax(evidence)
    believed_wrong = float(1 - halved(beliefs, labels)[rows, labels].mean())
    foretold, power = by_classes(evidence, labels)
    gain = foretold - by_image(evidence, labels)
    clear = gain.sum() > SURE * gain.std() * np.sqrt(len(gain))
    if not (clear and LEAST_GAIN <= gain.mean() / max(believed_wrong, TINY) <= MOST_GAIN):
        return False
    sharpened = softmax(power * evidence)
    wrong = sums_by_class(label_posterior(sharpened, labels, _fitted(sharpened, labels)), labels, evidence.shape[1]).T
    np.fill_diagonal(wrong, 0)
    paired = wrong.max(axis=1).sum() / max(wrong.sum(), TINY)
    return enough(wrong.sum() / len(labels), len(labels), LEAST_WRONG) and bool(paired <= MOST_PAIRED)


def enough(share: float, labels: int, least: float) -> bool:
    """Whether a share of wrong ones among so many labels passes the least by SURE standard errors."""
    return bool(share - SURE * np.sqrt(share * (1 - share) / labels) >= least)


def confusion(beliefs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """float64 (C, C): P(given | true), rows sum to 1, the beliefs (n, C) taken for the truth."""
    seen = sums_by_class(beliefs, labels, beliefs.shape[1]).T + TINY
    return seen / seen.sum(axis=1, keepdims=True)


def halved(beliefs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """float64 (n, C): the true class by beliefs (n, C) times the square root of what the confusion of classes makes of
    the given label. Where labels follow the image the whole would count the image's doubt twice."""
    return label_posterior(beliefs, labels, confusion(beliefs, labels) ** HALF)


def by_classes(evidence: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """float64 (n,): log-likelihood of given labels by a confusion of classes that is fitted by EM to the other half of
    them, and the exponent of the beliefs under which it is highest."""
    half = parts(len(labels), 2) == 0
    found = []
    for power in SHARPENED:
        beliefs, result = softmax(power * evidence), np.zeros(len(labels))
        for seen in (half, ~half):
            matrix = _fitted(beliefs[seen], labels[seen])
            result[~seen] = np.log(np.einsum("nk,nk->n", beliefs[~seen], matrix.T[labels[~seen]]) + TINY)
        found.append((result, power))
    return max(found, key=lambda one: one[0].sum())


def by_image(evidence: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """float64 (n,): log-likelihood of given labels drawn from tempered beliefs, but for a share that follows the
    classes' shares alone."""
    anyhow = (np.bincount(labels, minlength=evidence.shape[1]) / len(labels))[labels]
    found = []
    for power in SOFTENED:
        drawn = softmax(power * evidence)[np.arange(len(labels)), labels].astype(np.float64)
        share = 0.3
        for _ in range(MIXED):
            share = float((share * anyhow / (share * anyhow + (1 - share) * drawn + TINY)).mean())
        found.append(np.log(share * anyhow + (1 - share) * drawn + TINY))
    return max(found, key=np.sum)


def _fitted(beliefs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """float64 (C, C): P(given | true) by EM from `confusion` on, one label of each kind added."""
    return fitted_noise_matrix(beliefs, labels, confusion(beliefs, labels), 1 / beliefs.shape[1], STEPS)
