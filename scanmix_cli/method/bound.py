"""The EM view: the lower bound that ScanMix maximises, on neighbour links.

A link z_ij says whether image j, a mined neighbour of i, shares the class of image i. Given the classifier,
P(z_ij = 1 | x_i, x_j, theta) = <s_i, s_j>: the probability that both have the same class. With the label likelihood
P(y_i | x_i, theta) = s_i[y_i] and independent links, the complete-data log-likelihood of image i is

    log s_i[y_i] + (1/K) sum_j [ z_ij log <s_i, s_j> + (1 - z_ij) log(1 - <s_i, s_j>) ].

For any q(z) the bound is  E_q[complete-data log-likelihood] + H(q)  =  log-likelihood - KL(q || posterior).
The E-step sets q to the posterior under the current classifier (KL = 0); the M-step (training) changes theta with q
held. The neighbour filter of the training step is the mode of this q when predictions are confident: a link is kept
when both ends have the same predicted class (paper, section 3.2).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

EDGE = 1e-6  # link probabilities are held this far from 0 and 1 inside logarithms


@dataclass(frozen=True)
class Bound:
    """Mean per image, in nats: expected complete-data log-likelihood under q, entropy of q."""

    expected: float
    entropy: float

    @property
    def total(self) -> float:
        return self.expected + self.entropy


def link_posterior(probabilities: Tensor, anchors: Tensor, neighbors: Tensor) -> Tensor:
    """E-step: q (n, K), probability that each link joins equal classes.

    probabilities (N, C) of all images, anchors int64 (n,), neighbors int64 (n, K) of those anchors.
    """
    return torch.einsum("nc,nkc->nk", probabilities[anchors], probabilities[neighbors])


def lower_bound(q: Tensor, probabilities: Tensor, labels: Tensor, anchors: Tensor, neighbors: Tensor) -> Bound:
    """The bound at classifier outputs `probabilities` (N, C) for a fixed q (n, K); labels int64 (N,), -1 unlabelled."""
    given = labels[anchors]
    label_probability = probabilities[anchors, given.clamp_min(0)].clamp_min(EDGE)
    label_term = torch.where(given >= 0, label_probability.log(), torch.zeros_like(label_probability))
    link = link_posterior(probabilities, anchors, neighbors).clamp(EDGE, 1 - EDGE)
    q = q.clamp(EDGE, 1 - EDGE)
    link_term = q * link.log() + (1 - q) * (1 - link).log()
    entropy = -(q * q.log() + (1 - q) * (1 - q).log())
    return Bound((label_term + link_term.mean(1)).mean().item(), entropy.mean(1).mean().item())


def keep_links(predictions: Tensor, neighbors: Tensor) -> Tensor:
    """bool (N, K): the filter of the clustering step, links whose ends have the same predicted class (int64 (N,))."""
    return predictions[neighbors] == predictions.unsqueeze(1)
