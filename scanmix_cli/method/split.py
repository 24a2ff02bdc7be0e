"""Clean or noisy: a two-component Gaussian mixture on the per-image loss (DivideMix section 3.1).

The mixture is fitted on min-max normalised losses; an image's posterior of the component with the smaller mean is
its probability of a clean label. Guards keep degenerate losses (all equal, NaN, one extreme) from breaking the split.
"""

import numpy as np

from scanmix_cli.method.settings import SplitSettings

UNDECIDED = 0.5


def normalise_losses(losses: np.ndarray, clip_percentile: float = 0.0) -> np.ndarray:
    """Scale losses (N,) to 0..1 by their extremes; NaN counts as the largest loss, equal losses become 0.

    `clip_percentile` > 0 first cuts losses above that percentile, so one outlier cannot compress all others.
    """
    finite = np.isfinite(losses)
    if not finite.any():
        return np.zeros(len(losses))
    values = np.where(finite, losses, losses[finite].max()).astype(np.float64)
    if clip_percentile > 0:
        values = np.minimum(values, np.percentile(values, clip_percentile))
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros(len(values))


def clean_posterior(normalised: np.ndarray, settings: SplitSettings, seed: int) -> np.ndarray:
    """Posterior (N,) of the low-loss component; `UNDECIDED` everywhere when the losses do not differ.

    Two Gaussians of unequal width cross twice: a very low loss could fall to the wide high-loss component. The
    posterior is therefore held from falling again below the loss where it is largest, and from rising above it.
    """
    if len(normalised) < 2 or np.ptp(normalised) < 1e-6:
        return np.full(len(normalised), UNDECIDED)
    from sklearn.mixture import GaussianMixture  # a second to import, and not every method needs it

    column = normalised.reshape(-1, 1)
    mixture = GaussianMixture(
        2, max_iter=settings.max_iter, tol=settings.tol, reg_covar=settings.reg_covar, random_state=seed
    ).fit(column)
    posterior = mixture.predict_proba(column)[:, mixture.means_.argmin()]
    return monotone(normalised, posterior)


def monotone(losses: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """Make a clean posterior (N,) fall with the loss (N,): running maximum seen from the high-loss end below the
    peak, running minimum above it. Ties keep their order; O(N log N)."""
    order = np.argsort(losses, kind="stable")
    ordered = posterior[order]
    peak = int(ordered.argmax())
    ordered[:peak] = ordered[peak]
    ordered[peak:] = np.minimum.accumulate(ordered[peak:])
    result = np.empty_like(ordered)
    result[order] = ordered
    return result


def select_clean(posterior: np.ndarray, known: np.ndarray, threshold: float) -> np.ndarray:
    """bool (N,): posterior above the threshold, among images with a given label.

    The threshold is held just inside the smallest and the largest posterior (C2D's guard), so that neither side is
    empty where the posteriors differ by more than a hair; where they do not differ all labels count as clean.
    """
    values = posterior[known]
    if len(values) == 0:
        return np.zeros(len(posterior), dtype=bool)
    if np.ptp(values) == 0:
        return known.copy()
    threshold = float(np.clip(threshold, values.min() + 1e-5, values.max() - 1e-5))
    return known & (posterior > threshold)


def rescue_classes(clean: np.ndarray, posterior: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    """Give every given class at least one clean image: its most probable one; bool (N,), labels -1 are left out."""
    counts = np.bincount(labels[clean & (labels >= 0)], minlength=classes)
    present = np.bincount(labels[labels >= 0], minlength=classes) > 0
    rescued = clean.copy()
    for missing in np.flatnonzero(present & (counts == 0)):
        members = np.flatnonzero(labels == missing)
        rescued[members[posterior[members].argmax()]] = True
    return rescued


class LossHistory:
    """The last few normalised loss vectors of one network, averaged before the mixture is fitted."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.rows: list[np.ndarray] = []

    def add(self, normalised: np.ndarray) -> np.ndarray:
        """Store (N,) and return the mean of the stored ones, (N,)."""
        self.rows = [*self.rows, normalised][-self.length :]
        return np.mean(self.rows, axis=0)

    def fresh(self) -> "LossHistory":
        """An empty history of the same length."""
        return LossHistory(self.length)

    def state_dict(self) -> dict:
        return {"rows": list(self.rows)}

    def load_state_dict(self, state: dict) -> None:
        self.rows = [np.asarray(row) for row in state["rows"]]


def divide(
    losses: np.ndarray,
    known: np.ndarray,
    history: LossHistory,
    settings: SplitSettings,
    seed: int,
    trusted: np.ndarray | None = None,
) -> np.ndarray:
    """Clean posterior (N,) of every image from its loss (N,); 0 where no label is known (bool `known`, (N,)).

    It is 1 where a label is `trusted`, bool (N,): so that label is always in the clean set and is not refined.
    """
    averaged = history.add(normalise_losses(losses[known], settings.clip_percentile))
    posterior = np.zeros(len(losses))
    posterior[known] = clean_posterior(averaged, settings, seed)
    if trusted is not None:
        posterior[trusted] = 1.0
    return posterior
