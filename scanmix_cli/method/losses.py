"""Every loss of the method as a pure function: fp32 inside, no device moves, no randomness.

B images in a batch, C classes, D feature dimensions. Papers: SimCLR (Chen et al. 2020), MoCo (He et al. 2020),
SCAN (Van Gansbeke et al. 2020), DivideMix (Li et al. 2020), ELR (Liu et al. 2020), ScanMix (Sachdeva et al. 2023).
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

SMALLEST = 1e-8  # floor inside logarithms of probabilities


def nt_xent(views: Sequence[Tensor], temperature: float, symmetric: bool = False, decoupled: bool = False) -> Tensor:
    """Contrastive loss of SimCLR over two or more views, (B, D) each and L2-normalised; scalar.

    Each anchor is compared with another view of its image and with all views of other images; the mean over all such
    pairs. `symmetric=False` takes only first views as anchors (the release of ScanMix); `symmetric=True` averages over
    all views (SimCLR, Eq. 1). `decoupled=True` leaves the partner out of the outputs that it is compared with
    (decoupled contrastive learning, Yeh et al. 2022), so that a pair that is close already does not weaken the push
    from all others.
    """
    count, batch = len(views), len(views[0])
    outputs = torch.cat([view.float() for view in views])
    anchors = outputs if symmetric else outputs[:batch]
    logits = anchors @ outputs.T / temperature
    place = torch.arange(len(outputs), device=outputs.device)
    image, view = place[: len(anchors), None] % batch, place[: len(anchors), None] // batch
    others = logits.masked_fill(image == place % batch, float("-inf")).logsumexp(1, keepdim=True)
    close = logits.gather(1, image + place[::batch])  # (anchors, views)
    loss = others - close if decoupled else torch.logaddexp(others, close) - close
    return (loss * (view != place[:count])).sum() / (len(anchors) * (count - 1))


def info_nce(queries: Tensor, keys: Tensor, queue: Tensor, temperature: float) -> Tensor:
    """MoCo loss: query i against its own key i and all queued keys; queries, keys (B, D), queue (Q, D); scalar."""
    queries, keys, queue = queries.float(), keys.float(), queue.float()
    positive = (queries * keys).sum(1, keepdim=True)
    logits = torch.cat([positive, queries @ queue.T], dim=1) / temperature
    return F.cross_entropy(logits, torch.zeros(len(queries), dtype=torch.long, device=queries.device))


def consistency(anchor_logits: Tensor, neighbor_logits: Tensor) -> Tensor:
    """SCAN, first term of Eq. 2: mean of -log <s_i, s_j> over pairs of (B, C) logits; scalar.

    Computed as logsumexp of summed log-probabilities, so it can neither overflow nor exceed probability one.
    """
    joint = anchor_logits.float().log_softmax(1) + neighbor_logits.float().log_softmax(1)
    return -joint.logsumexp(1).mean()


def mean_entropy(logits: Tensor) -> Tensor:
    """SCAN, second term of Eq. 2: entropy in nats of the batch-mean prediction of (B, C) logits; scalar, 0..log C."""
    mean = logits.float().softmax(1).mean(0)
    return -(mean * mean.clamp_min(SMALLEST).log()).sum()


def scan_loss(
    anchor_logits: Tensor, neighbor_logits: Tensor, entropy_weight: float, most_entropy: float = math.inf
) -> Tensor:
    """SCAN loss: consistency of neighbours minus weighted entropy of the anchors' mean prediction; scalar.

    Entropy above `most_entropy`, in nats, wins nothing: unbalanced classes are not to be cut into even clusters.
    """
    entropy = mean_entropy(anchor_logits).clamp_max(most_entropy)
    return consistency(anchor_logits, neighbor_logits) - entropy_weight * entropy


def negative_entropy(logits: Tensor) -> Tensor:
    """Confidence penalty of DivideMix's warm-up: mean over the batch of sum_c s log s, (B, C) logits; scalar <= 0."""
    log_probability = logits.float().log_softmax(1)
    return (log_probability.exp() * log_probability).sum(1).mean()


def sharpen(probabilities: Tensor, temperature: float) -> Tensor:
    """p^(1/T), renormalised over classes; (B, C)."""
    powered = probabilities.float() ** (1.0 / temperature)
    return powered / powered.sum(1, keepdim=True)


def co_guess(own: tuple[Tensor, Tensor], peer: tuple[Tensor, Tensor], temperature: float) -> Tensor:
    """Labels of unlabelled images: mean probability of two views under both networks, sharpened (DivideMix Eq. 4).

    `own` and `peer` hold the two views' probabilities, (B, C) each; returns (B, C).
    """
    return sharpen((own[0] + own[1] + peer[0] + peer[1]) / 4, temperature)


def co_refine(given: Tensor, posterior: Tensor, views: tuple[Tensor, Tensor], temperature: float) -> Tensor:
    """Labels of labelled images: the given one-hot (B, C) weighed by the clean posterior (B,) of the peer network
    against the mean probability of two views, sharpened (DivideMix Eq. 3); returns (B, C)."""
    weight = posterior.float().unsqueeze(1)
    return sharpen(weight * given + (1 - weight) * (views[0] + views[1]) / 2, temperature)


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """L_x: mean over the batch of -sum_c q log s for (B, C) logits and target distributions; scalar."""
    return -(targets * logits.float().log_softmax(1)).sum(1).mean()


def squared_error(logits: Tensor, targets: Tensor) -> Tensor:
    """L_u: mean over batch and classes of (s - q)^2, i.e. the Brier score divided by C; scalar."""
    return ((logits.float().softmax(1) - targets) ** 2).mean()


def prior_loss(logits: Tensor, prior: Tensor) -> Tensor:
    """L_r: KL(prior || batch-mean prediction) for (B, C) logits and a (C,) prior; scalar >= 0."""
    mean = logits.float().softmax(1).mean(0).clamp_min(SMALLEST)
    return (prior * (prior.clamp_min(SMALLEST) / mean).log()).sum()


def ramp_up(epochs_since_warmup: float, lambda_u: float, length: float) -> float:
    """Weight of L_u: rises linearly from 0 to lambda_u over `length` epochs after warm-up."""
    return lambda_u * min(max(epochs_since_warmup / length, 0.0), 1.0)


def early_learning_regulariser(probabilities: Tensor, targets: Tensor) -> Tensor:
    """ELR Eq. 6: mean of log(1 - <p, t>), with (B, C) predictions and their running average t; scalar <= 0."""
    overlap = (probabilities.float() * targets).sum(1).clamp(max=1 - 1e-4)
    return (1 - overlap).log().mean()


def uniform_prior(classes: int, device: torch.device) -> Tensor:
    """(C,) uniform class prior."""
    return torch.full((classes,), 1.0 / classes, device=device)


def given_prior(labels: Tensor, classes: int) -> Tensor:
    """(C,) class prior from given labels int64 (N,), -1 left out, with one image more of each class.

    Symmetric noise moves the shares of unbalanced classes towards even ones, so this lies between the truth and the
    uniform prior of the paper.
    """
    counts = torch.bincount(labels[labels >= 0], minlength=classes) + 1.0
    return counts / counts.sum()


def cosine_rate(start: float, final_share: float, fraction: float) -> float:
    """Cosine schedule from `start` at fraction 0 to `start * final_share` at fraction 1."""
    final = start * final_share
    return final + (start - final) * (1 + math.cos(math.pi * fraction)) / 2
