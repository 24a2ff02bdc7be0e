"""What a method says about every label, in the form that the scores need."""

from dataclasses import dataclass, field

import numpy as np

from scanmix_cli.bench import noise, scores
from scanmix_cli.bench.kept_evidence import evidence_arrays
from scanmix_cli.evidence.verdicts import judge
from scanmix_cli.method.methods import Outcome

# What `Opinion.scores` gives; all None for a method that judges no labels.
SCORES = (
    *("auroc", "ap", "best_f1", "f1", "precision", "recall", "flagged_share", "flag_all_f1", "random_ap"),
    *("clean_recall", "calibration_error", "share_right", "noise_rate_estimate", "noise_rate_error"),
)


@dataclass(frozen=True)
class Opinion:
    """Per training image (N,): probability of a wrong label, the cut, the class to take instead; the estimated noise
    rate; mean loss of the given label, None where the method has none; the evidence that it was judged by."""

    p_mislabeled: np.ndarray
    flagged: np.ndarray
    suggested: np.ndarray
    noise_rate: float
    mean_loss: np.ndarray | None = None
    evidence: dict[str, np.ndarray] = field(default_factory=dict)

    def arrays(self) -> dict[str, np.ndarray]:
        """What plots, later scores and later verdicts need, compact."""
        kept = {
            "p_mislabeled": self.p_mislabeled.astype(np.float32),
            "flagged": self.flagged,
            "suggested": self.suggested.astype(np.int16),
        }
        if self.mean_loss is not None:
            kept["mean_loss"] = self.mean_loss.astype(np.float32)
        return kept | self.evidence

    def scores(self, clean: np.ndarray, given: np.ndarray) -> dict[str, float | None]:
        """All detection scores against the true labels int64 (N,)."""
        wrong = clean != given
        realised = noise.realised_rate(clean, given)
        return {
            **scores.detection_scores(wrong, self.p_mislabeled, self.flagged),
            "share_right": scores.share_right(clean, given, self.suggested, self.flagged),
            "noise_rate_estimate": self.noise_rate,
            "noise_rate_error": self.noise_rate - realised,
        }


def opinion_of(outcome: Outcome, given: np.ndarray) -> Opinion | None:
    """The verdicts of a method on the given labels int64 (N,); None for clustering alone, which sees no labels."""
    if outcome.evidence is None:
        return None
    neighbors = None if outcome.neighbors is None else outcome.neighbors.cpu().numpy()
    verdicts = judge(outcome.evidence, given, neighbors)
    return Opinion(
        verdicts.p_mislabeled,
        verdicts.is_label_issue,
        verdicts.suggested,
        verdicts.noise_rate.estimate,
        verdicts.mean_loss,
        evidence_arrays(outcome),
    )
