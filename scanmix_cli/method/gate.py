"""Stage F: the noise-rate gate, decided once after warm-up."""

from dataclasses import dataclass, replace

import numpy as np

from scanmix_cli.augment.names import ViewName
from scanmix_cli.method.settings import ClusteringSettings, GateSettings, Profile


def estimated_noise(posteriors: list[np.ndarray], known: np.ndarray, threshold: float = 0.5) -> float:
    """r_hat: share of labelled images (bool (N,)) with a clean posterior (N,) at or below the threshold, mean over
    networks."""
    if not known.any():
        return 0.0
    return float(np.mean([(posterior[known] <= threshold).mean() for posterior in posteriors]))


@dataclass(frozen=True)
class Gate:
    """What the gate decided: clustering learning rate, and the view of both steps or None to leave them alone."""

    clustering_rate: float
    view: ViewName | None


def decide(noise: float, settings: GateSettings) -> Gate:
    """Low branch at or below the threshold, high branch above it."""
    high = noise > settings.threshold
    view = settings.high_view if high else settings.low_view
    return Gate(settings.high_rate if high else settings.low_rate, view if settings.switch_views else None)


def apply_gate(profile: Profile, noise: float) -> Profile:
    """The profile with the gate's decision written into its clustering and semi-supervised settings."""
    if profile.gate is None:
        return profile
    gate = decide(noise, profile.gate)
    clustering: ClusteringSettings | None = profile.clustering
    if clustering is not None:
        clustering = replace(clustering, learning_rate=gate.clustering_rate, view=gate.view or clustering.view)
    return replace(
        profile, clustering=clustering, mixmatch=replace(profile.mixmatch, view=gate.view or profile.mixmatch.view)
    )
