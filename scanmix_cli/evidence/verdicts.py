"""From evidence to a verdict on every image: is its label wrong, what should it be, what to do."""

from dataclasses import dataclass

import numpy as np

from scanmix_cli.errors import RunError
from scanmix_cli.evidence import scores
from scanmix_cli.evidence.alike_errors import CLEAR
from scanmix_cli.evidence.belief_worth import tilted
from scanmix_cli.evidence.class_quality import ClassSums, Overlap, two_classes
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.evidence.fitting import BACKED, Fitted, fit_noise
from scanmix_cli.evidence.noise_matrix import Confusion, confusions, count_truth, noise_kind, noise_matrix
from scanmix_cli.evidence.noise_rate import NoiseRate, class_noise_rates, error_of_model, estimate_noise_rate
from scanmix_cli.evidence.witnesses import Witnesses

KEEP, RELABEL, REVIEW, DROP = "keep", "relabel", "review", "drop"
SURE = 0.8  # probability of the suggested label from which it may be taken over without a look
PRECISION = 0.8  # of the labels called an issue this share at least is expected to be wrong
DOUBTFUL = 0.05  # below this share of wrong labels they may be nearly all right
FEW = 0.1  # rate of wrong labels, at most, that is assumed of classes too small to be learned
PAIRS = 20  # confusions kept


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
    two_classes: np.ndarray  # int32 (N, 2): those of an ambiguous image, whatever its label says; else -1
    noise_rate: NoiseRate
    class_noise_rates: list[NoiseRate]  # (C): of the labels that name the class
    noise_kind: str  # in words
    noise_matrix: np.ndarray  # float64 (C, C): P(given | true), row = true class
    true_images: np.ndarray  # float64 (C,): expected number of labelled images by true class, behind each row of it
    confusions: list[Confusion]  # the commonest first
    class_sureness: np.ndarray  # float64 (C,): share of a class's images that the networks get right; low is hard
    class_overlaps: list[Overlap]  # classes that are perhaps one, the surest first

    def __len__(self) -> int:
        return len(self.predicted)

    @property
    def is_ambiguous(self) -> np.ndarray:
        """bool (N,): two classes are plausible, whatever the label says."""
        return self.two_classes[:, 0] >= 0


def judge(
    evidence: Evidence,
    labels: np.ndarray,
    neighbors: np.ndarray | None,
    *,
    regression: np.ndarray | None = None,
    open_errors: float = 0.0,
    threshold: float = 0.5,
    seed: int = 0,
) -> Verdicts:
    """Verdicts for N images out of the evidence of the whole run.

    labels int64 (N,), -1 where unlabelled; neighbors int64 (N, K) row numbers within the N, or None; regression
    float (N, C), see `regression.leave_one_out`, or None; open_errors: wrong labels to expect at least, known from
    elsewhere; seed: of the sample that the model is fitted to in large sets.

    A model of wrong labels (`noise_model`) weighs what the networks said, over all epochs and at the end, and what the
    neighbours are labelled; the true class's probabilities that come of it decide everything else, so the score, the
    suggestion, the noise rate and the matrix agree. An issue is a label that is wrong with probability `threshold` or
    more, in the longest list of which PRECISION is expected to be wrong.

    Raises RunError where there is no observation or a value is not finite.
    """
    _check(evidence)
    n, labelled = evidence.observations, labels >= 0
    witnesses = Witnesses.of(evidence, labels, neighbors, regression)
    fitted = fit_noise(witnesses, seed, open_errors / labelled.sum()) if labelled.any() else None
    truth, between, sums = _truth(witnesses, fitted)
    p_mislabeled = _of_other_classes(truth, labels)
    counts = count_truth(labels, truth)
    rank = scores.ranks(p_mislabeled, labelled)
    rate, by_class = _rates(p_mislabeled, labels, truth.shape[1], fitted)
    cautious = _cautious(p_mislabeled, rate, evidence.beliefs, 0.0 if fitted is None else fitted.plain)
    issue = issues(p_mislabeled, rank, threshold) & issues(cautious, rank, threshold)
    suggested = suggest(labels, truth, issue)
    p_suggested = truth[np.arange(len(truth)), suggested].astype(np.float64)
    fits = _fits(witnesses)
    outlier = scores.is_outlier(fits, truth.shape[1])
    return Verdicts(
        labelled=labelled,
        predicted=evidence.final_probability.argmax(axis=1),
        suggested=suggested,
        suggested_action=actions(labels, suggested, p_suggested, issue, outlier),
        is_label_issue=issue,
        label_score=np.where(labelled, 1 - p_mislabeled, 0.0),
        p_mislabeled=p_mislabeled,
        p_suggested=p_suggested,
        rank=rank,
        neighbor_agreement=None if neighbors is None else _agreement(witnesses),
        mean_loss=evidence.loss_sum / n,
        p_clean_gmm=evidence.posterior_sum / n,
        outlier_score=fits,
        is_outlier_issue=outlier,
        two_classes=between,
        noise_rate=rate,
        class_noise_rates=by_class,
        noise_kind=_kind(counts, fitted),
        noise_matrix=noise_matrix(counts),
        true_images=counts.sum(axis=1),
        confusions=confusions(counts, PAIRS),
        class_sureness=sums.sureness(),
        class_overlaps=sums.overlaps(),
    )


def _kind(counts: np.ndarray, fitted: Fitted | None) -> str:
    if fitted is None:
        return noise_kind(counts, uneven=False, sloped=False)
    return noise_kind(counts, fitted.free, fitted.follows_image, fitted.made >= CLEAR)


def _truth(witnesses: Witnesses, fitted: Fitted | None) -> tuple[np.ndarray, np.ndarray, ClassSums]:
    """float32 (N, C): probability of each true class, the given label looked at; the networks' own without labels.
    Also int32 (N, 2) the two classes of ambiguous images, and what there is to say about the classes.

    Of classes with few images little is known (`scores.support`): there the given label keeps its trust. Of a class
    that no label names nothing is: no image is held to be of it, whatever share of the probability it was left with.
    """
    labels, sums = witnesses.labels, ClassSums(witnesses.mean.shape[1])
    if fitted is None:
        return witnesses.mean, two_classes(witnesses.mean), sums
    truth, between = np.empty_like(witnesses.mean), np.empty((len(labels), 2), np.int32)
    named = np.bincount(labels[labels >= 0], minlength=truth.shape[1]) > 0
    model, others = fitted.model.among(named), max(int(named.sum()) - 1, 1)
    ambiguity, believed = witnesses.ambiguity(), scores.support(labels).astype(np.float32)
    few = min(fitted.rate, FEW)
    for rows in scores.blocks(np.arange(len(labels)), witnesses.mean.shape[1]):
        features, given = tilted(witnesses.full(rows), ambiguity[rows], fitted.tilt), labels[rows]
        known = given >= 0
        seen = model.classes_of(features)
        truth[rows], between[rows] = seen, two_classes(seen)
        posterior = model.explain(features[:, known], given[known], ambiguity[rows[known]])[2]
        before = np.full_like(posterior, few / others) * named
        before[np.arange(len(before)), given[known]] = 1 - few
        share = believed[rows[known], None]
        truth[rows[known]] = share * posterior + (1 - share) * before
        sums.add(seen, truth[rows])
    return truth, between, sums


def _of_other_classes(truth: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """float64 (N,): probability that the image is of another class than its label int64 (N,) says; 0 where unlabelled.

    Added up, not taken from 1: where hardly a label is wrong all that ranks them is far below what a float32 near 1 can
    tell. truth float32 (N, C).
    """
    result = np.zeros(len(labels))
    for rows in scores.blocks(np.flatnonzero(labels >= 0), truth.shape[1]):
        others = truth[rows]
        others[np.arange(len(rows)), labels[rows]] = 0
        result[rows] = others.sum(axis=1, dtype=np.float64)
    return np.minimum(result, 1.0, out=result)


def _fits(witnesses: Witnesses) -> np.ndarray:
    """float64 (N,): how well the images fit any class, `scores.fit` of all opinions about them."""
    result = np.empty(len(witnesses.labels))
    for rows in scores.blocks(np.arange(len(result)), witnesses.mean.shape[1]):
        result[rows] = scores.fit(witnesses.opinion(rows))
    return result


def _rates(
    p_mislabeled: np.ndarray, labels: np.ndarray, classes: int, fitted: Fitted | None
) -> tuple[NoiseRate, list[NoiseRate]]:
    """The noise rate of the set and that of each given class."""
    own = p_mislabeled[labels >= 0]
    error = 0.0 if fitted is None else error_of_model(float(own.mean()), fitted.rate, fitted.rate_error)
    none_wrong = fitted is not None and fitted.none_wrong
    by_class = class_noise_rates(p_mislabeled, labels, classes, error, none_wrong)
    plain = 0.0 if fitted is None else fitted.plain
    return estimate_noise_rate(own, error, none_wrong, plain), by_class


def _cautious(p_mislabeled: np.ndarray, rate: NoiseRate, beliefs: bool, least: float = 0.0) -> np.ndarray:
    """float64 (N,): p_mislabeled as it would be at the low end of the noise rate's interval, a tenth of the estimate at
    least, where that end is below DOUBTFUL and the estimate small, or, of beliefs, below a third of the estimate.

    Labels that may be nearly all right must be accused by more than the rate. Beliefs in weak features are vague about
    it at any rate, while for other witnesses a wide interval comes of what they agree on least. Not so where BACKED of
    the estimate are wrong labels that no doubt explains, `least` of all labels.
    """
    small = rate.low < DOUBTFUL and rate.estimate < 3 * DOUBTFUL
    doubtful = small or (beliefs and rate.low < rate.estimate / 3)
    if not doubtful or least >= BACKED * rate.estimate:
        return p_mislabeled
    low = max(rate.low, rate.estimate / 10)
    factor = low / (1 - low) * (1 - rate.estimate) / rate.estimate
    return factor * p_mislabeled / (1 - p_mislabeled + factor * p_mislabeled)


def issues(p_mislabeled: np.ndarray, rank: np.ndarray, threshold: float) -> np.ndarray:
    """bool (N,): labels wrong with probability `threshold` or more, in the longest ranked list whose expected share of
    wrong ones is PRECISION or more. rank int64 (N,), 0 where unlabelled."""
    ranked = np.flatnonzero(rank > 0)
    ranked = ranked[np.argsort(rank[ranked])]
    falling = p_mislabeled[ranked]
    pure = np.cumsum(falling) / np.arange(1, len(falling) + 1) >= PRECISION
    result = np.zeros(len(p_mislabeled), bool)
    result[ranked[pure & (falling >= threshold)]] = True
    return result


def suggest(labels: np.ndarray, truth: np.ndarray, issue: np.ndarray) -> np.ndarray:
    """int64 (N,): the label to go on with: the given one unless it is an issue, then the likeliest other class;
    the likeliest class of unlabelled images. truth float (N, C): P(true class)."""
    best, rows = truth.argmax(axis=1), np.flatnonzero(issue)
    others = truth[rows]
    others[np.arange(len(rows)), labels[rows]] = -1
    best[rows] = others.argmax(axis=1)
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


def _agreement(witnesses: Witnesses) -> np.ndarray:
    """float64 (N,): share of the labelled neighbours that carry the image's label, the predicted one where it has none;
    0 without labelled neighbours."""
    labels, neighbors = witnesses.labels, witnesses.neighbors
    assert neighbors is not None
    own = np.where(labels >= 0, labels, witnesses.mean.argmax(axis=1))
    theirs = scores.others(labels, neighbors, np.arange(len(labels)))
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
