"""E-step of the belief loop, over one run: what its teacher finds out about features and labels, and passes on.

The averaged weights look at every image; their probabilities and the votes of the neighbours in their own feature
space make the belief, against which the given label is weighed by the noise matrix (`beliefs.py`).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scanmix_cli.engine.context import Context
from scanmix_cli.engine.parallel import agree, from_writer
from scanmix_cli.evidence.alike_errors import CLEAR, made_alike
from scanmix_cli.evidence.belief_worth import goodness
from scanmix_cli.method.beliefs import (
    believe,
    class_prior,
    counted_noise_matrix,
    even_noise_matrix,
    label_posterior,
    soft_labels,
    votes,
)
from scanmix_cli.method.images import ImageSet, forward_all
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.neighbors import mine_neighbors
from scanmix_cli.method.probe import even_share, joined, probe
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.method.student import Student, look_closely, start_head
from scanmix_cli.method.vote_rounds import ROUNDS, USUAL, best_rounds, foretells_better, hidden_votes, needed_votes
from scanmix_cli.method.whitening import whitened
from scanmix_cli.streams import few

HEAD_SHARPNESS = 5.0  # logits of a fresh head run from 0 to 5 where its regression runs from 0 to 1
SAMPLE = 20_000  # images that tell how far beliefs may be trusted
SETTLED = 8  # rounds after which votes hardly change
WIDER, REACH = 2, 7  # so many times the neighbours vote, where more than so many times their votes are needed
MOSTLY = 0.5  # weakness of features from which on nothing is asked of those that labels have touched
LEAST = 2  # rounds in good features that labels have touched: what is learned by heart there, next neighbours share
LEARNED_FLOOR = 0.1  # of an even share: no opinion rules a class out further where a network learns from it


@dataclass(frozen=True)
class Belief:
    """What one network and its neighbours say: distributions (N, C) without the image's own label, as evidence, and
    with it, to be learned from, and the neighbours int64 (N, K) in the network's own feature space."""

    told: Tensor
    posterior: Tensor
    neighbors: Tensor


class Teacher:
    """The E-step."""

    def __init__(self, images: ImageSet, settings: BeliefSettings, neighbors: int, context: Context) -> None:
        self.images, self.settings, self.neighbors, self.context = images, settings, neighbors, context
        self.labels = images.labels.cpu().numpy()
        self.given = soft_labels(images.labels, images.classes)
        self.prior = class_prior(images.labels, images.classes)
        self.good = False  # whether features are good
        self.weakness = 0.0  # of the encoder's features, 1 for weak ones, which give way to the labels
        self.even = self.even_error = 0.0  # share of labels drawn evenly from all classes; asked in weak features
        self.made = False  # whether a classifier made the labels
        self.rounds = settings.rounds or USUAL  # how often votes are passed on
        self.started = False
        self.clusters = 0.0  # how sure votes in the encoder's features are once they have settled
        self.witness: Tensor | None = None  # what the probe says, (N, C)
        self.heard = False  # whether it is worth hearing

    def start(self, student: Student) -> None:
        """A class head that fits what the neighbours' votes alone make of the labels; features are left as they are."""
        net = student.averaged
        features = forward_all(net.features, net, self.images, self.context)
        unit = F.normalize(features, dim=1)
        neighbors = self.mine(unit)
        if first := not self.started:
            self.started = True
            settled = believe([votes(self.given, neighbors, self.prior, SETTLED)], self.prior, self._floor)
            self.clusters = from_writer(lambda: float(settled.max(1).values.mean()))
            needed = from_writer(lambda: needed_votes(self.images.labels, neighbors, self.images.classes))
            if needed > REACH * self.neighbors:
                self.neighbors *= WIDER
                neighbors = self.mine(unit)
        self._find_out(neighbors)
        if first:
            self._look_for_weakness(features, neighbors)
        if self.settings.probe and self.witness is None and self.images.known.any():
            self._call_witness(features, neighbors)
        start_head(student, features, self._with_label(self._with_witness(self._votes(neighbors))), HEAD_SHARPNESS)

    def belief(self, student: Student, find_out: bool = False) -> Belief:
        """The averaged network's probabilities and its neighbours' votes, without and with the image's own label.

        `find_out`: the labels tell anew whether a classifier made them, how often votes are to be passed on, and
        whether the probe is worth hearing. Not in weak features: a network that knows labels by heart has neighbours
        that foretell them, right or wrong.
        """
        sight = look_closely(student.averaged, self.images, self.context)
        neighbors = self.mine(sight.features)
        if find_out and self.weakness < MOSTLY:
            self._find_out(neighbors)
        if asked := self.good and not self.settings.rounds:
            self.rounds = max(self.rounds, LEAST)
        voted = self._votes(neighbors)
        told = without = self._believed(sight.probabilities, voted, LEARNED_FLOOR)
        if vague := asked and self.rounds < USUAL:
            voted = votes(self.given, neighbors, self.prior, USUAL)
        if vague or self.settings.floor != LEARNED_FLOOR:
            told = self._believed(sight.probabilities, voted, self.settings.floor)
        posterior = self._with_label(without)
        agree([without, posterior])  # images are drawn by it
        return Belief(told, posterior, neighbors)

    def state_dict(self) -> dict[str, float]:
        """What a checkpoint keeps; `start` makes the rest anew."""
        return {"good": self.good, "made": self.made, "rounds": self.rounds, "heard": self.heard}

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.good, self.made, self.heard = bool(state["good"]), bool(state["made"]), bool(state["heard"])
        self.rounds = int(state["rounds"])

    def mine(self, features: Tensor) -> Tensor:
        """Neighbours int64 (N, K) of unit features (N, D), the image itself left out."""
        if self.settings.whiten:
            features = whitened(features)
        return mine_neighbors(features, self.neighbors, include_self=False)

    def metrics(self, belief: Belief, monitor: Monitor) -> dict[str, float]:
        """The share of labels held to be wrong, and what is known of the belief where the truth is."""
        clean = (belief.posterior.argmax(1) == self.images.labels).cpu().numpy()
        known = self.labels >= 0
        values = {"noise_estimate": 1 - float(clean[known].mean())} if known.any() else {}
        if self.settings.classifier_say < 1:
            values["made_by_classifier"] = float(self.made)
        if not self.settings.rounds:
            values["vote_rounds"] = float(self.rounds)
        if self.settings.probe:
            values["probe_heard"] = float(self.heard)
        values |= monitor.neighbors(belief.neighbors, self.images, self.context)
        return values | monitor.selection(clean & known, self.labels)

    def _votes(self, neighbors: Tensor) -> Tensor:
        return votes(self.given, neighbors, self.prior, self.rounds)

    def _believed(self, probabilities: Tensor, voted: Tensor, floor: float) -> Tensor:
        """Network, votes, and the probe where it is heard, as one belief (N, C); floor in even shares."""
        return self._with_witness(believe([probabilities, voted], self.prior, floor / self.images.classes))

    def _call_witness(self, features: Tensor, neighbors: Tensor) -> None:
        """Fit the probe. Two networks start from encoders that no label has touched: the first one's is enough."""
        matrix = self._noise_matrix(self._votes(neighbors))
        self.witness = probe(features, self.images.labels, matrix, self.context)
        agree([self.witness])
        self.heard = self._is_worth_hearing(neighbors, at_first=True)

    def _is_worth_hearing(self, neighbors: Tensor, at_first: bool = False) -> bool:
        """Whether votes foretell hidden labels better with the probe, or at first no worse: among many classes few
        labels of which nine tenths are wrong can tell neither. Not where a classifier made the labels: what
        misled it misleads a classifier of these features too."""
        witness, labels = self.witness, self.images.labels
        if witness is None or self.made:
            return False

        def foretells() -> bool:
            rows, voted = hidden_votes(self.given, labels, neighbors, self.prior)
            votes = voted[ROUNDS.index(self.rounds if self.rounds in ROUNDS else USUAL)]
            both = self._joined(votes, witness[rows])
            if at_first:
                return not foretells_better(votes, both, labels[rows])
            return foretells_better(both, votes, labels[rows])

        return from_writer(foretells)

    def _with_witness(self, beliefs: Tensor) -> Tensor:
        return self._joined(beliefs, self.witness) if self.heard and self.witness is not None else beliefs

    def _joined(self, beliefs: Tensor, witness: Tensor) -> Tensor:
        return joined(beliefs, witness, self.settings.probe, self._floor, self.prior)

    @property
    def _floor(self) -> float:
        return LEARNED_FLOOR / self.images.classes

    def _with_label(self, without: Tensor) -> Tensor:
        say = self.settings.classifier_say if self.made else 1.0
        posterior = label_posterior(without, self.images.labels, self._noise_matrix(without) ** say)
        if self.images.trusted is not None:
            posterior = torch.where(self.images.trusted.unsqueeze(1), self.given, posterior)
        return posterior

    def _noise_matrix(self, beliefs: Tensor) -> Tensor:
        """(C, C): counted by the beliefs (N, C), and the weaker the features, the more of it fitted. Counted, weak
        beliefs take their own doubt for wrong labels."""
        counted = counted_noise_matrix(beliefs, self.images.labels)
        if not self.weakness:
            return counted
        return counted.lerp(even_noise_matrix(beliefs, self.images.labels, self.even), self.weakness)

    def _look_for_weakness(self, features: Tensor, neighbors: Tensor) -> None:
        """How weak the encoder's features are, by their votes, and if so, which share of the labels is drawn evenly.

        Told once, before a network learns the labels: what knows them by heart agrees with them, right or wrong, and
        its neighbours do.

        Good features make votes sure; where most labels are wrong they do not, but settled votes are as sure in good
        features as with right labels, and as unsure in weak ones.
        """
        if not self.settings.humble or not self.images.known.any():
            return
        voted = believe([self._votes(neighbors)], self.prior, self._floor)
        self.weakness = from_writer(lambda: 1 - self._goodness(voted))
        if self.weakness:
            blind = torch.eye(self.images.classes, device=features.device)
            witness = probe(features, self.images.labels, blind, self.context)
            self.even, self.even_error = from_writer(lambda: even_share(witness, self.images.labels))

    def _find_out(self, neighbors: Tensor) -> None:
        """Whether a classifier made the labels, by what the neighbours' votes alone make of them; how often votes are
        passed on: as hidden labels are foretold best, and further where a classifier made them, whose mistakes the next
        neighbours share and wider regions outvote; and whether the probe is heard: less and less the better the
        neighbours are, which it does not learn from."""
        self.rounds = self.settings.rounds or USUAL
        if self.images.known.any():
            voted = believe([self._votes(neighbors)], self.prior, self._floor)
            self.good = from_writer(lambda: self._goodness(voted)) == 1
            asked = self.good and self.settings.classifier_say < 1
            self.made = asked and from_writer(lambda: self._made(voted, neighbors))
        if not self.settings.rounds:
            self.rounds = SETTLED if self.made else self._best_rounds(neighbors)
        self.heard = self._is_worth_hearing(neighbors)

    def _best_rounds(self, neighbors: Tensor) -> int:
        return from_writer(lambda: best_rounds(self.given, self.images.labels, neighbors, self.prior))

    def _made(self, voted: Tensor, neighbors: Tensor) -> bool:
        """Whether a classifier made the labels, which good features alone tell."""

        def near(few: np.ndarray) -> np.ndarray:
            return neighbors[torch.from_numpy(few).to(neighbors.device)].cpu().numpy()

        sureness, believed = (part.cpu().numpy() for part in voted.max(1))
        return made_alike(believed, sureness, self.labels, near) >= CLEAR

    def _goodness(self, beliefs: Tensor) -> float:
        """Of the features, told by the beliefs (N, C) about SAMPLE labelled images at most."""
        known = self.images.known.nonzero().squeeze(1)
        rows = known[torch.from_numpy(few(len(known), SAMPLE)).to(known.device)]
        return goodness(beliefs[rows].cpu().numpy(), self.images.labels[rows].cpu().numpy(), self.clusters)
