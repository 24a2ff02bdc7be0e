"""What the EM loop learned about every image, gathered over its epochs in bounded memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

SNAPSHOTS = 16  # epochs at most whose probabilities and losses are kept one by one
NETWORKS = 2  # at most, that look at the images
LARGEST = float(np.finfo(np.float16).max)  # loss that a snapshot can hold


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
    consensus_sum: np.ndarray  # float64 (N,): epochs in which all networks predicted the same class
    probability_sum: np.ndarray  # float32 (N, C): class probabilities
    final_probability: np.ndarray  # float32 (N, C): softmax of the ensemble's summed logits at the end
    final_posterior: np.ndarray  # float32 (N,): mean clean posterior of the last epoch
    history: np.ndarray  # float16 (N, SNAPSHOTS): mean probability of the given label in single epochs; 0 unused
    history_epochs: np.ndarray  # int64 (SNAPSHOTS,): their numbers from 0, evenly spaced; -1 unused
    clusters: float = 0.0  # how sure neighbours' votes in the encoder's features are, passed on until they settle
    # Share of labels drawn evenly from all classes and its standard error, told before a network learned them, the more
    # of it the weaker the encoder's features are (`method.probe.even_share`); 0 in good ones.
    even: float = 0.0
    even_error: float = 0.0
    # Evidence that an earlier version kept has no rows of these two.
    # float32 (N, NETWORKS): times that each network predicted another class than the given one; 0 where unlabelled
    disagreements: np.ndarray = field(default_factory=lambda: np.zeros((0, NETWORKS), np.float32))
    # float16 (N, SNAPSHOTS): mean cross-entropy of the given label in the epochs of `history`; 0 unused
    loss_history: np.ndarray = field(default_factory=lambda: np.zeros((0, SNAPSHOTS), np.float16))

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
            consensus_sum=np.zeros(images),
            probability_sum=np.zeros((images, classes), np.float32),
            final_probability=np.full((images, classes), 1.0 / classes, np.float32),
            final_posterior=np.full(images, 0.5, np.float32),
            history=np.zeros((images, SNAPSHOTS), np.float16),
            history_epochs=np.full(SNAPSHOTS, -1, np.int64),
            disagreements=np.zeros((images, NETWORKS), np.float32),
            loss_history=np.zeros((images, SNAPSHOTS), np.float16),
        )

    def add(self, labels: np.ndarray, views: Sequence[View]) -> None:
        """Add one epoch: the view of each network, always in the same order. labels int64 (N,) with -1 where
        unlabelled."""
        known = labels >= 0
        given = np.where(known, labels, 0)
        predictions, shares, losses = [], [], []
        for network, view in enumerate(views):
            share = np.where(known, view.probabilities[np.arange(len(labels)), given], 0.0)
            predicted = view.probabilities.argmax(1)
            loss = np.where(known, view.losses, 0.0)
            self.loss_sum += loss
            self.given_probability_sum += share
            self.posterior_sum += np.where(known, view.posterior, 0.0)
            self.disagreements[:, network] += known & (predicted != labels)
            self.probability_sum += view.probabilities.astype(np.float32, copy=False)
            predictions.append(predicted)
            shares.append(share)
            losses.append(loss)
        self.consensus_sum += np.all(np.stack(predictions) == predictions[0], axis=0)
        self.final_posterior[:] = np.mean([view.posterior for view in views], axis=0)
        self._remember(np.mean(shares, axis=0), np.mean(losses, axis=0))
        self.observations += len(views)
        self.epochs += 1

    def _remember(self, share: np.ndarray, loss: np.ndarray) -> None:
        """Keep `share` and `loss` (N,) as the snapshot of this epoch; when all places are taken every second one is
        given up and from then on only every second epoch of before is kept."""
        used = int((self.history_epochs >= 0).sum())
        stride = int(self.history_epochs[1] - self.history_epochs[0]) if used > 1 else 1
        if self.epochs % stride:
            return
        if used == SNAPSHOTS:
            half = SNAPSHOTS // 2
            for kept in (self.history, self.loss_history):
                kept[:, :half], kept[:, half:] = kept[:, ::2].copy(), 0
            self.history_epochs[:half], self.history_epochs[half:] = self.history_epochs[::2].copy(), -1
            used = half
        self.history[:, used] = share
        self.loss_history[:, used] = np.minimum(loss, LARGEST)
        self.history_epochs[used] = self.epochs

    def state_dict(self) -> dict:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def load_state_dict(self, state: dict) -> None:
        """Arrays may come back as tensors, the form in which a checkpoint keeps them; what one of before did not keep
        is no number from then on."""
        for f in fields(self):
            own = getattr(self, f.name)
            if isinstance(own, np.ndarray):
                own[...] = np.asarray(state.get(f.name, np.nan))
            else:
                setattr(self, f.name, state.get(f.name, own))
