"""What speaks for each class of an image: log-evidence of the networks and of the neighbours, rows on demand."""

from dataclasses import dataclass

import numpy as np

from scanmix_cli.evidence.alike_errors import made_alike
from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.evidence.scores import count_votes, others

BY_HEART = 0.08  # at the end so many more given labels are predicted than on average: wrong ones are learned as well
FLOOR = 1e-4  # no class is ruled out further than this


@dataclass(frozen=True)
class Witnesses:
    """Log-evidence for N images and C classes; neighbors int64 (N, K) or None."""

    mean: np.ndarray  # float32 (N, C): mean probabilities of all epochs and networks
    final: np.ndarray  # float32 (N, C): the ensemble's at the end
    labels: np.ndarray  # int64 (N,), -1 unlabelled
    neighbors: np.ndarray | None
    regression: np.ndarray | None = None  # float32 (N, C): of a leave-one-out regression on still features
    learned_by_heart: float | None = None  # share of wrong labels by the loss mixture, where the networks fit them too
    beliefs: bool = False  # the mean probabilities are beliefs, formed without the image's own label
    clusters: float = 0.0  # of the evidence
    even: float = 0.0  # of the evidence
    even_error: float = 0.0

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        labels: np.ndarray,
        neighbors: np.ndarray | None,
        regression: np.ndarray | None = None,
    ) -> "Witnesses":
        mean = evidence.probability_sum / np.float32(evidence.observations)
        final = evidence.final_probability.astype(np.float32, copy=False)
        if evidence.beliefs:
            even, error = evidence.even, evidence.even_error
            return cls(
                mean, final, labels, neighbors, beliefs=True, clusters=evidence.clusters, even=even, even_error=error
            )
        known = labels >= 0
        given = labels[known]
        gain = [(p[known].argmax(axis=1) == given).mean() if len(given) else 0.0 for p in (mean, final)]
        by_heart = None
        if gain[1] - gain[0] >= BY_HEART:
            by_heart = float(1 - evidence.posterior_sum[known].mean() / evidence.observations)
        return cls(mean, final, labels, neighbors, regression, by_heart)

    def full(self, rows: np.ndarray) -> np.ndarray:
        """float32 (K, n, C) of the images `rows`: all that is known. Mean and final log-probabilities, the final ones
        only of networks that do not learn labels by heart; where there are neighbours, their given labels counted.
        With a regression, (1, n, C): its log-probabilities, the networks' mean ones and those of the neighbours' votes
        added up. Beliefs are (1, n, C) by themselves: the neighbours have had their say in them."""
        if self.beliefs:
            return _log(self.mean[rows])[None]
        if self.regression is not None:
            # One witness of all: with a weight each, networks that were trained on the labels outvote what explains
            # those labels less well because it has not seen them.
            said = _log(self.mean[rows]) + _log(self.regression[rows])
            return (said if self.neighbors is None else said + _log(self.passed_on(rows)))[None]
        known = [_log(self.mean[rows])]
        if self.learned_by_heart is None:
            known.append(_log(self.final[rows]))
        return np.stack(known if self.neighbors is None else [*known, self.votes(rows)])

    def around(self, rows: np.ndarray) -> np.ndarray:
        """float32 (1, n, C): log of the neighbours' mean probabilities, which the image's own label has hardly touched,
        since no network was trained on it there; without neighbours the image's own. The regression, where there is
        one, had no part of that label at all."""
        if self.regression is not None:
            return _log(self.regression[rows])[None]
        if self.neighbors is None:
            return _log(self.mean[rows])[None]
        near = self.neighbors[rows]
        total = np.zeros((len(rows), self.mean.shape[1]), np.float32)
        for column in near.T:
            total += self.mean[column] * (column != rows)[:, None]
        sums = total.sum(axis=1, keepdims=True)
        return _log(np.divide(total, sums, out=np.full_like(total, 1 / total.shape[1]), where=sums > 0))[None]

    def votes(self, rows: np.ndarray) -> np.ndarray:
        """float32 (n, C): how many of the neighbours carry each label, the image itself left out."""
        assert self.neighbors is not None
        return count_votes(others(self.labels, self.neighbors, rows), self.mean.shape[1]).astype(np.float32)

    def passed_on(self, rows: np.ndarray) -> np.ndarray:
        """float32 (n, C): mean over the neighbours of what their own neighbours' given labels say, as shares, squared
        and made shares again; even where nobody says anything. Few votes are vague, many times as many are less so,
        and an image whose neighbours have it for theirs has one of these many itself."""
        assert self.neighbors is not None
        near, classes = self.neighbors[rows], self.mean.shape[1]
        total = np.zeros((len(rows), classes), np.float32)
        for column in near.T:
            shares = self.votes(column) ** 2
            sums = shares.sum(axis=1, keepdims=True)
            total += np.divide(shares, sums, out=np.zeros_like(shares), where=(sums > 0) & (column != rows)[:, None])
        sums = total.sum(axis=1, keepdims=True)
        return np.divide(total, sums, out=np.full_like(total, 1 / classes), where=sums > 0)

    def opinion(self, rows: np.ndarray) -> np.ndarray:
        """float32 (n, C): mean of what the networks say of the images, of what is said of their neighbours, and of the
        neighbours' given labels. What is strange to all classes lies among images of many."""
        said = [self.mean[rows], np.exp(self.around(rows)[0])]
        if self.neighbors is not None:
            said.append(self.votes(rows))
        sums = [part.sum(axis=1, keepdims=True) for part in said]
        even = np.full_like(self.mean[rows], 1 / self.mean.shape[1])
        parts = [np.divide(part, s, out=even.copy(), where=s > 0) for part, s in zip(said, sums, strict=True)]
        return np.stack(parts).mean(axis=0)

    def made_by_classifier(self) -> float:
        """How clearly a classifier made the wrong labels, 0 to 1 (`alike_errors`); 0 without neighbours."""
        if self.neighbors is None:
            return 0.0
        return made_alike(self.mean.argmax(axis=1), self.mean.max(axis=1), self.labels, self.neighbors.__getitem__)

    def ambiguity(self) -> np.ndarray:
        """float32 (N,) in -1..1, evenly spread: rank of the image by how unsure the networks were about it."""
        images = len(self.mean)
        order = np.argsort(-self.mean.max(axis=1), kind="stable")
        ranks = np.empty(images, np.float32)
        ranks[order] = (np.arange(images, dtype=np.float32) + 0.5) / max(images, 1)
        return 2 * ranks - 1


def _log(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.clip(probabilities, FLOOR, 1.0)).astype(np.float32)
