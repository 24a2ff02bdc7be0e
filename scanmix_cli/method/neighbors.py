"""Stage B: mining of semantic neighbours, the K nearest by cosine similarity in a self-supervised feature space.

Brute force in chunks on an accelerator, faiss on a CPU (exact up to EXACT_ROWS, above that by cells); memory grows with
N x K, never N x N. Processes that share the run search for a part of the rows each.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from scanmix_cli.engine.parallel import gather_rows, rows_of_this_process, world
from scanmix_cli.engine.parts import halving
from scanmix_cli.streams import few

CHUNK = 4096
EXACT_ROWS = 20_000  # on a CPU; above that, cells of similar rows are searched, and a neighbour may be missed
CELLS, PROBES = 2, 24  # cells, times the root of the rows; how many of them are searched for each row
ROWS_A_CELL = 40  # rows that an index is trained with, for each cell


def mine_neighbors(features: Tensor, count: int, include_self: bool) -> Tensor:
    """Nearest rows of L2-normalised features (N, D), most similar first: int64 (N, K) on the features' device.

    K = count + 1 with `include_self` (column 0 is then the row itself up to ties), else `count` others;
    fewer when there are not that many rows.
    """
    wanted = min(count + 1, len(features))
    search = _search_cpu if features.device.type == "cpu" else _search_device
    asking = features if world() == 1 else features[rows_of_this_process(len(features), features.device)]
    found = gather_rows(search(features, asking, wanted), len(features))
    return found if include_self else _without_self(found)


def _search_cpu(features: Tensor, asking: Tensor, wanted: int) -> Tensor:
    import faiss  # only where it is used: accelerator machines often lack it

    values, rows = (np.ascontiguousarray(part.float().numpy()) for part in (features, asking))
    index: Any = faiss.IndexFlatIP(values.shape[1])
    if len(values) > EXACT_ROWS:
        cells = int(CELLS * len(values) ** 0.5)
        exact = index
        index = faiss.IndexIVFFlat(exact, values.shape[1], cells, faiss.METRIC_INNER_PRODUCT)
        index.nprobe = PROBES
        index.train(values[few(len(values), ROWS_A_CELL * cells)])
    index.add(values)
    near = index.search(rows, wanted)[1].astype(np.int64)
    return torch.from_numpy(np.where(near < 0, near[:, :1], near))  # too few in the cells: the nearest, itself


def _search_device(features: Tensor, asking: Tensor, wanted: int) -> Tensor:
    features = features.float()

    def search(size: int) -> Tensor:
        return torch.cat([(chunk @ features.T).topk(wanted, dim=1).indices for chunk in asking.float().split(size)])

    return halving(search, CHUNK, {}, "search")


def _without_self(found: Tensor) -> Tensor:
    """Drop each row's own number; where ties pushed it out of the list, drop the last column instead."""
    rows = torch.arange(len(found), device=found.device).unsqueeze(1)
    other = found != rows
    other[other.all(1), -1] = False
    return found[other].view(len(found), found.shape[1] - 1)


def vote_accuracy(neighbors: Tensor, labels: Tensor, classes: int) -> float:
    """Share of rows whose neighbours' majority label is their own, leave-one-out; labels int64 (N,), -1 ignored.

    A monitor of feature quality: with the given labels it needs no truth.
    """
    rows = torch.arange(len(neighbors), device=neighbors.device).unsqueeze(1)
    voters = labels[neighbors]
    weight = ((neighbors != rows) & (voters >= 0)).float()
    votes = torch.zeros(len(neighbors), classes, device=neighbors.device)
    votes.scatter_add_(1, voters.clamp_min(0), weight)
    known = labels >= 0
    return (votes.argmax(1) == labels)[known].float().mean().item()
