"""What the EM loop learned about every image, gathered over its epochs in bounded memory."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

SNAPSHOTS = 16  # epochs at most whose probabilities are kept one by one


class View(NamedTuple):
    """One network's view of all images in one epoch; N images, C classes."""

    probabilities: np.ndarray  # float (N, C)
    losses: np.ndarray  # float (N,): cross-entropy of the given label
    posterior: np.ndarray  # float (N,): clean posterior of the loss mixture


@dataclass
class Evidence:
    """Per-image sums over the epochs of the EM loop and over both networks.

    N images, C classes. Divide sums by `observations` (epochs times networks) for means.
    """

    observations: int
    epochs: int
    beliefs: bool  # probabilities were formed without the image's own label, and mean what they say (belief loop)
    loss_sum: np.ndarray  # float64 (N,): cross-entropy of the given label; 0 where unlabelled
    given_probability_sum: np.ndarray  # float64 (N,): probability of the given label; 0 where unlabelled
    posterior_sum: np.ndarray  # float64 (N,): clean posterior of the loss mixture (w of DivideMix); 0 where unlabelled
    disagreement_sum: np.ndarray  # float64 (N,): times the predicted class was not the given one
    consensus_sum: np.ndarray  # float64 (N,): epochs in which all networks predicted the same class
    probability_sum: np.ndarray  # float32 (N, C): class probabilities
    final_probability: np.ndarray  # float32 (N, C): softmax of the ensemble's summed logits at the end
    final_posterior: np.ndarray  # float32 (N,): mean clean posterior of the last epoch
    history: np.ndarray  # float16 (N, SNAPSHOTS): mean probability of the given label in single epochs; 0 unused
    history_epochs: np.ndarray  # int64 (SNAPSHOTS,): their numbers from 0, evenly spaced; -1 unused
    clusters: float = 0.0  # how sure neighbours' votes in the encoder's features are, passed on until they settle

    @classmethod
    def empty(cls, images: int, classes: int, beliefs: bool = False) -> "Evidence":
        """Nothing observed yet: sums of 0, even probabilities, undecided posteriors."""
        return cls(
            observations=0,
            epochs=0,
            beliefs=beliefs,
            loss_sum=np.zeros(images),
            given_probability_sum=np.zeros(images),
            posterior_sum=np.zeros(images),
            disagreement_sum=np.zeros(images),
            consensus_sum=np.zeros(images),
            probability_sum=np.zeros((images, classes), np.float32),
            final_probability=np.full((images, classes), 1.0 / classes, np.float32),
            final_posterior=np.full(images, 0.5, np.float32),
            history=np.zeros((images, SNAPSHOTS), np.float16),
            history_epochs=np.full(SNAPSHOTS, -1, np.int64),
        )

    def add(self, labels: np.ndarray, views: Sequence[View]) -> None:
        """Add one epoch: the view of each network. labels int64 (N,) with -1 where unlabelled."""
        known = labels >= 0
        given = np.where(known, labels, 0)
        predictions, shares = [], []
        for view in views:
            share = np.where(known, view.probabilities[np.arange(len(labels)), given], 0.0)
            predicted = view.probabilities.argmax(1)
            self.loss_sum += np.where(known, view.losses, 0.0)
            self.given_probability_sum += share
            self.posterior_sum += np.where(known, view.posterior, 0.0)
            self.disagreement_sum += known & (predicted != labels)
            self.probability_sum += view.probabilities.astype(np.float32, copy=False)
            predictions.append(predicted)
            shares.append(share)
        self.consensus_sum += np.all(np.stack(predictions) == predictions[0], axis=0)
        self.final_posterior[:] = np.mean([view.posterior for view in views], axis=0)
        self._remember(np.mean(shares, axis=0))
        self.observations += len(views)
        self.epochs += 1

    def _remember(self, share: np.ndarray) -> None:
        """Keep `share` (N,) as the snapshot of this epoch; when all places are taken every second one is given up and
        from then on only every second epoch of before is kept."""
        used = int((self.history_epochs >= 0).sum())
        stride = int(self.history_epochs[1] - self.history_epochs[0]) if used > 1 else 1
        if self.epochs % stride:
            return
        if used == SNAPSHOTS:
            half = SNAPSHOTS // 2
            self.history[:, :half], self.history[:, half:] = self.history[:, ::2].copy(), 0
            self.history_epochs[:half], self.history_epochs[half:] = self.history_epochs[::2].copy(), -1
            used = half
        self.history[:, used] = share
        self.history_epochs[used] = self.epochs

    def state_dict(self) -> dict:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def load_state_dict(self, state: dict) -> None:
        """Arrays may come back as tensors, the form in which a checkpoint keeps them."""
        for f in fields(self):
            value = state[f.name]
            setattr(self, f.name, np.asarray(value) if isinstance(getattr(self, f.name), np.ndarray) else value)
