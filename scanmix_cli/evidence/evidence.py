"""What the EM loop learned about every image, gathered over its epochs in bounded memory."""

from dataclasses import dataclass, fields

import numpy as np


@dataclass
class Evidence:
    """Per-image sums over the epochs of the EM loop and over both networks.

    N images, C classes. Divide sums by `observations` (epochs times networks) for means.
    """

    observations: int
    loss_sum: np.ndarray  # float64 (N,): cross-entropy of the given label; 0 where unlabelled
    given_probability_sum: np.ndarray  # float64 (N,): probability of the given label; 0 where unlabelled
    posterior_sum: np.ndarray  # float64 (N,): clean posterior of the loss mixture (w of DivideMix); 0 where unlabelled
    disagreement_sum: np.ndarray  # float64 (N,): times the predicted class was not the given one
    probability_sum: np.ndarray  # float32 (N, C): class probabilities
    final_probability: np.ndarray  # float32 (N, C): softmax of the ensemble's summed logits at the end
    final_posterior: np.ndarray  # float32 (N,): mean clean posterior of the last epoch

    @classmethod
    def empty(cls, images: int, classes: int) -> "Evidence":
        """Nothing observed yet: sums of 0, even probabilities, undecided posteriors."""
        return cls(
            observations=0,
            loss_sum=np.zeros(images),
            given_probability_sum=np.zeros(images),
            posterior_sum=np.zeros(images),
            disagreement_sum=np.zeros(images),
            probability_sum=np.zeros((images, classes), np.float32),
            final_probability=np.full((images, classes), 1.0 / classes, np.float32),
            final_posterior=np.full(images, 0.5, np.float32),
        )

    def add(self, labels: np.ndarray, probabilities: np.ndarray, losses: np.ndarray, posterior: np.ndarray) -> None:
        """Add one network's view of one epoch.

        labels int64 (N,) with -1 where unlabelled, probabilities float (N, C), losses and posterior float (N,).
        """
        known = labels >= 0
        given = np.where(known, labels, 0)
        self.observations += 1
        self.loss_sum += np.where(known, losses, 0.0)
        self.given_probability_sum += np.where(known, probabilities[np.arange(len(labels)), given], 0.0)
        self.posterior_sum += np.where(known, posterior, 0.0)
        self.disagreement_sum += known & (probabilities.argmax(1) != labels)
        self.probability_sum += probabilities.astype(np.float32)

    def state_dict(self) -> dict:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def load_state_dict(self, state: dict) -> None:
        """Arrays may come back as tensors, the form in which a checkpoint keeps them."""
        for f in fields(self):
            value = state[f.name]
            setattr(self, f.name, value if f.name == "observations" else np.asarray(value))
