"""What is measured during training and never fed back: held-out accuracy and, where a benchmark knows it, the truth."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from scanmix_cli.engine.context import Context
from scanmix_cli.method.images import ImageSet, accuracy, forward_all
from scanmix_cli.method.neighbors import vote_accuracy


@dataclass(frozen=True)
class Monitor:
    """Held-out images with labels, and the true labels int64 (N,) of the training images; either may be None."""

    held_out: ImageSet | None = None
    truth: np.ndarray | None = None

    def test(self, nets: Sequence[nn.Module], context: Context) -> dict[str, float]:
        """Held-out accuracy of each network and of the ensemble of summed logits."""
        if self.held_out is None:
            return {}
        logits = [forward_all(net, net, self.held_out, context) for net in nets]
        values = {"test_accuracy": accuracy(torch.stack(logits).sum(0), self.held_out.labels)}
        if len(logits) > 1:
            for k, single in enumerate(logits, start=1):
                values[f"test_accuracy_net{k}"] = accuracy(single, self.held_out.labels)
        return values

    def neighbors(self, neighbors: Tensor, images: ImageSet, context: Context) -> dict[str, float]:
        """Leave-one-out vote of neighbours (N, K) under the given labels and, where known, the true ones."""
        values = {"vote_agreement": vote_accuracy(neighbors, images.labels, images.classes)}
        if self.truth is not None:
            truth = torch.from_numpy(self.truth).to(context.device)
            values["knn_accuracy"] = vote_accuracy(neighbors, truth, images.classes)
        return values

    def selection(self, selected: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """Precision and recall of a clean set, bool (N,), where the truth is known; labels are the given ones."""
        if self.truth is None:
            return {}
        right = (labels == self.truth) & (labels >= 0)
        hits = float((selected & right).sum())
        return {
            "clean_precision": hits / max(int(selected.sum()), 1),
            "clean_recall": hits / max(int(right.sum()), 1),
        }
