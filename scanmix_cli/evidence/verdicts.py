"""From evidence to a verdict on every image: is its label wrong, what should it be, what to do."""

from dataclasses import dataclass

import numpy as np

from scanmix_cli.errors import RunError
from scanmix_cli.evidence import scores
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.evidence.noise_matrix import noise_matrix, true_label_posterior
from scanmix_cli.evidence.noise_rate import NoiseRate, estimate_noise_rate

KEEP, RELABEL, REVIEW, DROP = "keep", "relabel", "review", "drop"
SURE = 0.8  # probability of the suggested label from which it may be taken over without a look


@dataclass(frozen=True)
class Verdicts:
    """One entry per readable training image (N), in row order; label scores of unlabelled images mean nothing (0)."""

    labelled: np.ndarray  # bool (N,): the image has a given label
    predicted: np.ndarray  # int64 (N,): class of the final ensemble
    suggested: np.ndarray  # int64 (N,): the given class, or the likeliest other one where the label is an issue
    suggested_action: np.ndarray  # text (N,): keep, relabel, review, drop
    is_label_issue: np.ndarray  # bool (N,)
    label_score: np.ndarray  # float64 (N,): 1 - p_mislabeled, low is worse
    p_mislabeled: np.ndarray  # float64 (N,)
    p_suggested: np.ndarray  # float64 (N,): probability that the suggested class is the true one
    rank: np.ndarray  # int64 (N,): 1 is the most suspect, 0 where unlabelled
    neighbor_agreement: np.ndarray | None  # float64 (N,): share of neighbours with the same label; None: not measured
    mean_loss: np.ndarray  # float64 (N,): mean cross-entropy of the given label
    p_clean_gmm: np.ndarray  # float64 (N,): mean clean posterior of the loss mixture
    outlier_score: np.ndarray  # float64 (N,) in 0..1: low fits no class
    is_outlier_issue: np.ndarray  # bool (N,)
    noise_rate: NoiseRate
    noise_matrix: np.ndarray  # float64 (C, C): P(given | true), row = true class

    def __len__(self) -> int:
        return len(self.predicted)


def judge(evidence: Evidence, labels: np.ndarray, neighbors: np.ndarray | None, *, threshold: float = 0.5) -> Verdicts:
    """Verdicts for N images out of the evidence of the whole run.

    labels int64 (N,), -1 where unlabelled; neighbors int64 (N, K) row numbers within the N, or None.

    p_mislabeled pools (`scores.pool`) up to four signals, each the probability that the given label is wrong, and
    weighs them with the class's size (`scores.support`) and the share of wrong labels in this set
    (`scores.with_base_rate`):
      1. the contest of the mean probabilities, best other class / (best other + given);
      2. 1 - mean clean posterior of the loss mixture;
      3. how often the predicted class was not the given one, with Jeffreys' prior;
      4. the neighbours' votes for the best other class against the given one, with Jeffreys' prior.
    All are means over the epochs, since a single epoch's loss is a signal that decays as the networks fit the noise.

    Raises RunError where there is no observation or a value is not finite.
    """
    _check(evidence)
    n, labelled = evidence.observations, labels >= 0
    probabilities = evidence.probability_sum / np.float32(n)
    p_clean = evidence.posterior_sum / n
    signals = [
        scores.contest(labels, probabilities),
        np.where(labelled, 1 - p_clean, 0.0),
        scores.jeffreys(evidence.disagreement_sum, n),
    ]
    agreement = None
    if neighbors is not None:
        own, other = scores.neighbor_votes(labels, neighbors)
        signals.append(scores.jeffreys(other, own + other))
        agreement = _agreement(np.where(labelled, labels, probabilities.argmax(axis=1)), labels, neighbors)
    p_mislabeled = np.zeros(len(labels))
    log_odds = scores.pool(signals) * scores.support(labels)
    p_mislabeled[labelled] = scores.with_base_rate(log_odds[labelled])
    truth = true_label_posterior(labels, scores.extremize(probabilities), p_mislabeled)
    fits = scores.fit(probabilities)
    outlier = scores.is_outlier(fits)
    issue = labelled & (p_mislabeled >= threshold)
    suggested = suggest(labels, truth, issue)
    p_suggested = truth[np.arange(len(truth)), suggested].astype(np.float64)
    return Verdicts(
        labelled=labelled,
        predicted=evidence.final_probability.argmax(axis=1),
        suggested=suggested,
        suggested_action=actions(labels, suggested, p_suggested, issue, outlier),
        is_label_issue=issue,
        label_score=np.where(labelled, 1 - p_mislabeled, 0.0),
        p_mislabeled=p_mislabeled,
        p_suggested=p_suggested,
        rank=scores.ranks(p_mislabeled, labelled),
        neighbor_agreement=agreement,
        mean_loss=evidence.loss_sum / n,
        p_clean_gmm=p_clean,
        outlier_score=fits,
        is_outlier_issue=outlier,
        noise_rate=estimate_noise_rate(p_mislabeled[labelled], [signal[labelled] for signal in signals]),
        noise_matrix=noise_matrix(labels, truth, probabilities.shape[1]),
    )


def suggest(labels: np.ndarray, truth: np.ndarray, issue: np.ndarray) -> np.ndarray:
    """int64 (N,): the label to go on with: the given one unless it is an issue, then the likeliest other class;
    the likeliest class of unlabelled images. truth float (N, C): P(true class)."""
    others = truth.copy()
    rows = np.flatnonzero(issue)
    others[rows, labels[rows]] = -1
    best = others.argmax(axis=1)
    return np.where(issue | (labels < 0), best, labels)


def actions(
    labels: np.ndarray, suggested: np.ndarray, p_suggested: np.ndarray, issue: np.ndarray, outlier: np.ndarray
) -> np.ndarray:
    """text (N,): what to do with each image.

    keep: no issue. relabel: an issue or no label, and another class is sure. drop: an issue or no label, and the image
    fits no class. review: every other issue or unlabelled image.
    """
    open_question = issue | (labels < 0)
    sure = (p_suggested >= SURE) & (suggested != labels)
    result = np.full(len(labels), KEEP, dtype=object)
    result[open_question] = REVIEW
    result[open_question & sure] = RELABEL
    result[open_question & outlier] = DROP
    return result


def _agreement(own: np.ndarray, labels: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """float64 (N,): share of the labelled neighbours that carry the label `own`; 0 without labelled neighbours."""
    theirs = scores.others(labels, neighbors, slice(None))
    votes = (theirs >= 0).sum(axis=1)
    same = (theirs == own[:, None]).sum(axis=1)
    return np.divide(same, votes, out=np.zeros(len(own)), where=votes > 0)


def _check(evidence: Evidence) -> None:
    if evidence.observations < 1:
        raise RunError("no epoch of the main loop was observed, so no label can be judged: use `--epochs 1` or more")
    for name in ("loss_sum", "posterior_sum", "probability_sum", "final_probability"):
        bad = ~np.isfinite(getattr(evidence, name))
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            raise RunError(
                f"the evidence of training image {row} holds a value that is not a number ({name}): "
                "the training diverged, so use `--precision fp32`, or lower the learning rates of config.toml "
                "and give it with `--config`"
            )
