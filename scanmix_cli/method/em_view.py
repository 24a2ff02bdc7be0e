"""The EM algorithm made visible: the lower bound on a fixed probe of images, and what the neighbour filter keeps."""

import torch
from torch import Tensor

from scanmix_cli.method.bound import keep_links, link_posterior, lower_bound
from scanmix_cli.method.learner import Outlook

PROBE = 1000  # about this many images carry the bound


class EMView:
    """Follows the first network; neighbors int64 (N, K), labels int64 (N,)."""

    def __init__(self, neighbors: Tensor, labels: Tensor) -> None:
        self.neighbors, self.labels = neighbors, labels
        self.anchors = torch.arange(0, len(labels), max(len(labels) // PROBE, 1), device=labels.device)

    def values(self, before: list[Outlook], after: list[Outlook]) -> dict[str, float]:
        """Metrics of one epoch from both networks' outlooks before and after its M-step.

        q is the E-step's posterior under the classifier before; the bound is taken after the M-step, and before it
        for comparison. Links are kept by the peer's predictions before, and compared with the network's own after.
        """
        links = self.neighbors[self.anchors]
        q = link_posterior(before[0].probabilities, self.anchors, links)
        old = lower_bound(q, before[0].probabilities, self.labels, self.anchors, links)
        new = lower_bound(q, after[0].probabilities, self.labels, self.anchors, links)
        kept = keep_links(before[1].predictions, self.neighbors)
        alike = kept & keep_links(after[0].predictions, self.neighbors)
        count = int(kept.sum().item())
        return {
            "em_expected_log_likelihood": new.expected,
            "em_entropy": new.entropy,
            "em_bound": new.total,
            "em_bound_before": old.total,
            "links_kept": float(count),
            "links_kept_alike": int(alike.sum().item()) / max(count, 1),
        }
