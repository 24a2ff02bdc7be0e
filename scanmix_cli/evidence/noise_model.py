"""A model of wrong labels: which class an image shows, and how the given label came of it. No true label is needed.

Networks and neighbours say how likely each class is, but not how far they can be believed. Both are fitted to the one
thing that is known, the given labels: P(given | image) = sum over k of P(k | image) P(given | k). What the witnesses
say is tempered until it foretells given labels as well as it can, and only what even their surest statements leave
unexplained counts as wrong labels. So a weak classifier makes the verdict humble instead of the labels suspect: where
its statements are vague, a disagreement is its own fault. After the forward model of Patrini et al. (CVPR 2017) and the
confusion matrices of Dawid and Skene (Applied Statistics 28, 1979); the temperature is that of Guo et al. (ICML 2017).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from scanmix_cli.evidence.scores import sums_by_class

TINY = 1e-30
PRIOR_IMAGES, PRIOR_RATE = 2.0, 0.1  # as if so many labels had been looked at before, and so large a share been wrong
BIAS_PRECISION = 1e-4  # an image: of the prior N(0, .) on the bias of a class
WORD_PRECISION = 1.0  # an image: of the priors on log-weight and bias of witnesses that are taken at their word
SHIFT_PRECISION = 0.02  # per unit of `stiffness`: of the prior N(0, .) on a class's own noise level
MOST_LOG_WEIGHT = 30.0  # of a witness; its exponential is far from overflowing float32
SUMMED = 512  # rows
Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class NoiseModel:
    """Parameters for K witnesses and C classes.

    P(class k | image) is softmax(sum of exp(log_weight) times log-evidence, plus bias). A label of class k is wrong
    with the log-odds level + shift[k] + slope times the image's ambiguity, and is then class g with probability
    spread[k, g].
    """

    log_weights: np.ndarray  # float64 (K,)
    bias: np.ndarray  # float64 (C,)
    level: float
    slope: float
    shift: np.ndarray  # float64 (C,)
    spread_logits: np.ndarray  # float64 (C, C); the diagonal is not used
    stiffness: float  # how strongly the noise of all classes is held to be alike, in images; inf: entirely
    sloped: bool  # whether noise may depend on the image
    word: float = 0.0  # weight near which witnesses are taken at their word; 0: they are tempered at will
    lean: np.ndarray | float = 0.0  # float64 (C,): bias near which they are then
    pairs: np.ndarray | None = None  # bool (C, C): the spread is fitted there alone, and even elsewhere; None: all over
    say: float = 1.0  # exponent of what the noise makes of a given label; below 1 likelihoods are none of labels

    @classmethod
    def even(
        cls,
        witnesses: int,
        classes: int,
        rate: float,
        stiffness: float,
        sloped: bool = False,
        word: float = 0.0,
        lean: np.ndarray | float = 0.0,
    ) -> "NoiseModel":
        """Wrong labels of this rate, the same for all classes and images, to every other class alike."""
        log_weights = np.where(np.arange(witnesses) > 0, -1.5, np.log(word or 1.0))
        level = float(np.log(rate / (1 - rate)))
        zeros = np.zeros(classes)
        none = np.zeros((classes, classes))
        return cls(log_weights, zeros + lean, level, 0.0, zeros, none, stiffness, sloped, word, lean)

    @classmethod
    def of_confusion(cls, matrix: np.ndarray, say: float, weight: float = 1.0) -> "NoiseModel":
        """One witness with this weight, and P(given | true) float64 (C, C), no entry 0, with the exponent `say`."""
        classes = len(matrix)
        right = np.diag(matrix)
        plain = cls.even(1, classes, 0.5, 1.0, word=weight)
        return replace(plain, shift=np.log((1 - right) / right), spread_logits=np.log(matrix), say=say)

    @property
    def alike(self) -> bool:
        """Noise is the same in all classes, and wrong labels spread evenly: shift and spread are no parameters."""
        return bool(np.isinf(self.stiffness))

    def spread(self) -> np.ndarray:
        """float64 (C, C): P(given g | true k, wrong); 0 on the diagonal, rows sum to 1."""
        logits = self.spread_logits.copy()
        np.fill_diagonal(logits, -np.inf)
        return softmax(logits) if len(logits) > 1 else np.zeros((1, 1))

    def classes_of(self, features: np.ndarray) -> np.ndarray:
        """float32 (n, C): P(class | image), before the given label is looked at; features float32 (K, n, C)."""
        weights = self._weights().astype(np.float32)
        logits = weights[0] * features[0]
        for weight, feature in zip(weights[1:], features[1:], strict=True):
            logits += weight * feature
        logits += self.bias.astype(np.float32)
        return softmax(logits)

    def among(self, possible: np.ndarray) -> "NoiseModel":
        """The same model of images that are all of one of these classes, bool (C,)."""
        return replace(self, bias=np.where(possible, self.bias, -np.inf))

    def wrong_shares(self, ambiguity: np.ndarray) -> np.ndarray:
        """float32 (n, C): P(label is wrong | true class k, image); ambiguity float (n,) in -1..1. Read only: all rows
        are one where noise does not depend on the image."""
        by_class = np.exp(-np.clip(self.level + self.shift, -30, 30))
        if not self.sloped:
            return np.broadcast_to((1 / (1 + by_class)).astype(np.float32), (len(ambiguity), len(by_class)))
        by_image = np.exp(-np.clip(self.slope * ambiguity, -30, 30)).astype(np.float32)
        return 1 / (1 + by_image[:, None] * by_class.astype(np.float32))

    def explain(self, features: np.ndarray, labels: np.ndarray, ambiguity: np.ndarray) -> Arrays:
        """Of labelled images, labels int64 (n,): classes float32 (n, C), wrong shares float32 (n, C), posterior float32
        (n, C) of the true class with the given label looked at, and likelihood float64 (n,) of the given label."""
        classes, wrong = self.classes_of(features), self.wrong_shares(ambiguity)
        rows = np.arange(len(labels))
        if self.alike:
            joint = wrong * np.float32(1 / max(len(self.bias) - 1, 1))
        else:
            joint = self.spread().T.astype(np.float32)[labels]
            joint *= wrong
        joint[rows, labels] = 1 - wrong[rows, labels]
        if self.say != 1:
            joint **= np.float32(self.say)
        joint *= classes
        likelihood = joint.sum(axis=1).astype(np.float64) + TINY
        joint /= likelihood[:, None].astype(np.float32)
        return classes, wrong, joint, likelihood

    def at_rate(self, rate: float, features: np.ndarray, ambiguity: np.ndarray) -> "NoiseModel":
        """The same noise at another level, so that the expected share of wrong labels of these images is `rate`."""
        classes = self.classes_of(features)
        low, high = -12.0, 12.0
        for _ in range(40):
            middle = (low + high) / 2
            share = float((classes * replace(self, level=middle).wrong_shares(ambiguity)).sum(axis=1).mean())
            low, high = (middle, high) if share < rate else (low, middle)
        return replace(self, level=(low + high) / 2)

    def fitted(
        self, features: np.ndarray, labels: np.ndarray, ambiguity: np.ndarray, *, steps: int, noise: bool = True
    ) -> "NoiseModel":
        """The model that makes the given labels likeliest, under weak priors, by at most so many steps of L-BFGS.

        features float32 (K, n, C), labels int64 (n,), ambiguity float (n,). Without `noise` only the weights and the
        bias of the witnesses are fitted, and how labels go wrong stays as it is.
        """
        data = (features, labels, ambiguity.astype(np.float32))
        count = None if noise else len(self.log_weights) + len(self.bias)
        whole = self._vector()

        def objective(part: np.ndarray) -> tuple[float, np.ndarray]:
            model = self._from(np.concatenate([part, whole[len(part) :]]))
            return model._loss(*data, noise=noise)

        found = minimize(objective, whole[:count], jac=True, method="L-BFGS-B", options={"maxiter": steps})
        return self._from(np.concatenate([found.x, whole[len(found.x) :]]))

    def score(self, features: np.ndarray, labels: np.ndarray, ambiguity: np.ndarray) -> float:
        """Log-likelihood of the given labels with the priors counted in; higher is better."""
        return -self._loss(features, labels, ambiguity.astype(np.float32))[0] * len(labels)

    def _weights(self) -> np.ndarray:
        """float64 (K,); a search may try a step that is far too long."""
        return np.exp(np.minimum(self.log_weights, MOST_LOG_WEIGHT))

    def _vector(self) -> np.ndarray:
        parts = [self.log_weights, self.bias, [self.level, self.slope]]
        if not self.alike:
            parts += [self.shift, self.spread_logits.ravel()]
        return np.concatenate([np.asarray(part) for part in parts])

    def _from(self, vector: np.ndarray) -> "NoiseModel":
        k, c = len(self.log_weights), len(self.bias)
        weights, bias, (level, slope), shift, spread = np.split(vector, np.cumsum([k, c, 2, c]))
        model = replace(self, log_weights=weights, bias=bias, level=float(level), slope=float(slope))
        return model if self.alike else replace(model, shift=shift, spread_logits=spread.reshape(c, c))

    def _loss(
        self, features: np.ndarray, labels: np.ndarray, ambiguity: np.ndarray, noise: bool = True
    ) -> tuple[float, np.ndarray]:
        """Minus the log-posterior an image, and its gradient in the order of `_vector`; without `noise` that by the
        weights and the bias alone."""
        images = len(labels)
        before, wrong, after, likelihood = self.explain(features, labels, ambiguity)
        pull = np.subtract(after, before, out=before)
        overlaps = [np.einsum("ij,ij->i", pull, f).sum(dtype=np.float64) for f in features]
        tight, loose = (WORD_PRECISION * images,) * 2 if self.word else (1.0, BIAS_PRECISION * images)
        pull_weights, pull_bias = self.log_weights - np.log(self.word or 1.0), self.bias - self.lean
        value = np.log(likelihood).sum()
        value -= 0.5 * (tight * (pull_weights**2).sum() + loose * (pull_bias**2).sum())
        gradient = [self._weights() * overlaps - tight * pull_weights, _column_sums(pull) - loose * self.bias]
        value += self._prior_of_noise()
        if noise:
            gradient += self._pull_of_noise(after, wrong, labels, ambiguity)
        return -value / images, -np.concatenate(gradient) / images

    def _expected(self) -> np.ndarray:
        """float64 (C, C): images of the prior on the spread."""
        return self.stiffness / max(len(self.bias) - 1, 1) * (1 - np.eye(len(self.bias)))

    def _base_rate(self) -> float:
        """Of wrong labels at the level itself."""
        return float(1 / (1 + np.exp(-np.clip(self.level, -30, 30))))

    def _prior_of_noise(self) -> float:
        """Log-priors of how labels go wrong."""
        rate = self._base_rate()
        value = PRIOR_IMAGES * (PRIOR_RATE * np.log(rate + TINY) + (1 - PRIOR_RATE) * np.log(1 - rate + TINY))
        value -= 0.5 * self.slope**2
        if self.alike:
            return value
        value += (self._expected() * np.log(self.spread() + TINY)).sum()
        return value - 0.5 * SHIFT_PRECISION * self.stiffness * (self.shift**2).sum()

    def _pull_of_noise(
        self, after: np.ndarray, wrong: np.ndarray, labels: np.ndarray, ambiguity: np.ndarray
    ) -> list[np.ndarray]:
        """Gradient of the log-posterior by the parameters of how labels go wrong."""
        rows, classes = np.arange(len(labels)), len(self.bias)
        push = after * (1 - wrong)  # derivative by the log-odds of a wrong label, of classes other than the given one
        push[rows, labels] -= after[rows, labels]
        of_shift = _column_sums(push)
        of_level = of_shift.sum() + PRIOR_IMAGES * (PRIOR_RATE - self._base_rate())
        of_slope = float(push.sum(axis=1) @ ambiguity) - self.slope if self.sloped else 0.0
        if self.alike:
            return [np.array([of_level, of_slope])]
        seen = sums_by_class(after, labels, classes).T
        np.fill_diagonal(seen, 0)
        counts = seen + self._expected()
        of_spread = counts - counts.sum(axis=1, keepdims=True) * self.spread()
        if self.pairs is not None:
            of_spread *= self.pairs
        stiff = SHIFT_PRECISION * self.stiffness
        return [np.array([of_level, of_slope]), of_shift - stiff * self.shift, of_spread.ravel()]


def _column_sums(values: np.ndarray) -> np.ndarray:
    """float64 (C,) of float (n, C); in its own precision within SUMMED rows only, which is what keeps it fast."""
    ones, total = np.ones(SUMMED, values.dtype), np.zeros(values.shape[1])
    for start in range(0, len(values), SUMMED):
        part = values[start : start + SUMMED]
        total += ones[: len(part)] @ part
    return total


def softmax(logits: np.ndarray) -> np.ndarray:
    """Rows of (n, C) as probabilities, in the type of the input."""
    powers = logits - logits.max(axis=1, keepdims=True)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers
