"""Semantic neighbours: mining, the filter of the clustering step, and drawing one."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from toy_runs import toy_context, toy_images, toy_profile

from scanmix_cli.engine.context import Context
from scanmix_cli.method import clustering
from scanmix_cli.method import neighbors as mining
from scanmix_cli.method.bound import keep_links
from scanmix_cli.method.clustering import ClusteringSteps
from scanmix_cli.method.learner import make_learner
from scanmix_cli.method.neighbors import mine_neighbors, vote_accuracy
from scanmix_cli.method.networks import scanmix_net
from scanmix_cli.method.scan import draw_neighbors, draw_partners
from scanmix_cli.method.scanmix import EMLoop

ANGLES = torch.tensor([0.0, 10.0, 30.0, 80.0]).deg2rad()
POINTS = torch.stack([ANGLES.cos(), ANGLES.sin()], dim=1)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_neighbors_come_in_order_of_similarity() -> None:
    assert mine_neighbors(POINTS, 2, include_self=True).tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0], [3, 2, 1]]
    assert mine_neighbors(POINTS, 2, include_self=False).tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]


def test_few_images_have_few_neighbors() -> None:
    assert mine_neighbors(POINTS, 20, include_self=True).shape == (4, 4)
    assert mine_neighbors(POINTS, 20, include_self=False).shape == (4, 3)


def test_copies_of_an_image_do_not_smuggle_it_into_its_own_neighbors() -> None:
    copies = torch.tensor([[1.0, 0.0]]).repeat(7, 1)
    found = mine_neighbors(copies, 3, include_self=False)
    assert found.shape == (7, 3)
    assert (found != torch.arange(7).unsqueeze(1)).all()


def test_accelerator_search_finds_what_the_cpu_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    features = normalize(torch.randn(50, 8, generator=generator()), dim=1)
    monkeypatch.setattr(mining, "CHUNK", 7)
    assert torch.equal(mining._search_device(features, features, 6), mining._search_cpu(features, features, 6))


def test_accelerator_search_never_compares_all_with_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its largest table has a row for each image of a chunk."""
    largest = 0

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            made = function(*args, **(kwargs or {}))
            largest = max(largest, *(part.numel() for part in tree_leaves(made) if isinstance(part, torch.Tensor)), 0)
            return made

    features = normalize(torch.randn(500, 8, generator=generator()), dim=1)
    monkeypatch.setattr(mining, "CHUNK", 20)
    with Sizes():
        mining._search_device(features, features, 6)
    assert largest == 20 * 500


def test_vote_leaves_the_image_itself_and_unlabelled_neighbors_out() -> None:
    neighbors = torch.tensor([[0, 1, 2], [1, 0, 4], [2, 3, 4], [3, 0, 1], [4, 2, 3]])
    labels = torch.tensor([0, 0, 1, 1, -1])
    # votes: a tie that goes to class 0, then 0, 1, 0 (wrong); the last row has no label to compare with
    assert vote_accuracy(neighbors, labels, 2) == pytest.approx(3 / 4)


def test_links_between_equal_predictions_are_kept() -> None:
    predictions, neighbors = torch.tensor([0, 0, 1, 1]), torch.tensor([[0, 1, 2], [1, 0, 3], [2, 3, 0], [3, 2, 2]])
    expected = [[True, True, False], [True, True, False], [True, True, False], [True, True, True]]
    assert keep_links(predictions, neighbors).tolist() == expected


def test_the_image_itself_is_always_an_allowed_neighbor() -> None:
    neighbors = mine_neighbors(POINTS, 2, include_self=True)
    for predictions in (torch.tensor([0, 1, 2, 3]), torch.tensor([0, 0, 0, 1])):
        assert keep_links(predictions, neighbors).any(1).all()


def test_only_allowed_neighbors_are_drawn_and_each_of_them_equally_often() -> None:
    candidates = torch.tensor([[10, 11, 12, 13]]).repeat(6000, 1)
    allowed = torch.tensor([[True, False, True, True]]).repeat(6000, 1)
    drawn = draw_neighbors(candidates, allowed, generator())
    counts = torch.bincount(drawn, minlength=14)[10:]
    assert counts[1] == 0
    assert counts.sum() == 6000
    assert counts[[0, 2, 3]].tolist() == pytest.approx([2000] * 3, abs=150)


def test_without_an_allowed_neighbor_all_may_be_drawn() -> None:
    candidates = torch.tensor([[5, 6], [7, 8]]).repeat(50, 1)
    allowed = torch.tensor([[False, False], [False, True]]).repeat(50, 1)
    drawn = draw_neighbors(candidates, allowed, generator()).view(50, 2)
    assert set(drawn[:, 0].tolist()) == {5, 6}
    assert set(drawn[:, 1].tolist()) == {8}


def test_stage_c_draws_among_all_mined_neighbors() -> None:
    drawn = draw_neighbors(torch.tensor([[5, 6, 7]]).repeat(60, 1), None, generator())
    assert set(drawn.tolist()) == {5, 6, 7}


def test_clustering_step_filters_by_the_peers_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    profile, images, context = toy_profile(), toy_images(), toy_context()
    assert profile.clustering is not None
    learners = [make_learner(scanmix_net("small", 3, context, k), profile, context) for k in (1, 2)]
    neighbors = torch.randint(0, 64, (64, 6), generator=generator())
    pair = ClusteringSteps(learners, images, neighbors, profile.clustering, context)
    peers = [torch.arange(64) % 2, torch.arange(64) % 3]
    allowed: list[torch.Tensor] = []

    def record(batches: torch.Tensor, candidates: torch.Tensor, mask: torch.Tensor, context: Context) -> torch.Tensor:
        allowed.append(mask)
        return draw_partners(batches, candidates, mask, context)

    monkeypatch.setattr(clustering, "draw_partners", record)
    values = pair.epoch(torch.arange(64), peers)
    assert torch.equal(allowed[0], (neighbors % 2) == peers[0].unsqueeze(1))
    assert torch.equal(allowed[1], (neighbors % 3) == peers[1].unsqueeze(1))
    assert np.isfinite(values["loss_clustering"])


def test_a_subset_of_an_epoch_has_neighbors_inside_itself() -> None:
    profile, images, context = toy_profile(), toy_images(), toy_context()
    learners = [make_learner(scanmix_net("small", 3, context, k), profile, context) for k in (1, 2)]
    mined = torch.randint(0, 64, (64, 6), generator=generator())
    before = mined.clone()
    loop = EMLoop(learners, images, mined, profile, context)
    rows = np.arange(64) % 3 != 0
    loop.train_clustering(loop.look(), rows)
    for step in [step for steps in loop.clustering for step in steps.steps]:
        assert rows[step.neighbors[torch.from_numpy(rows)].numpy()].all()
        assert torch.equal(step.neighbors[~torch.from_numpy(rows)], mined[~torch.from_numpy(rows)])
    assert torch.equal(mined, before), "the neighbours of the run stay as mined"


@pytest.mark.parametrize(("steps", "expected"), [(0, 4), (2, 2), (9, 4)])
def test_clustering_step_passes_over_all_images_unless_limited(steps: int, expected: int) -> None:
    profile, context = toy_profile(), toy_context()
    assert profile.clustering is not None
    learners = [make_learner(scanmix_net("small", 3, context, k), profile, context) for k in (1, 2)]
    neighbors = torch.arange(64).unsqueeze(1)
    settings = replace(profile.clustering, batch_size=16, steps=steps)
    pair = ClusteringSteps(learners, toy_images(), neighbors, settings, context)
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def record(first: torch.Tensor, _: torch.Tensor, second: torch.Tensor, __: torch.Tensor) -> torch.Tensor:
        seen.append((first.clone(), second.clone()))
        return torch.tensor([2.5, 7.0])

    pair.captured = record  # type: ignore[assignment]
    assert pair.epoch(torch.arange(64), [torch.zeros(64, dtype=torch.int64)] * 2) == {"loss_clustering": 2.5}
    for anchors in zip(*seen, strict=True):
        assert [len(part) for part in anchors] == [16] * expected
        assert len(torch.cat(anchors).flatten(1).unique(dim=0)) == 16 * expected


def test_large_sets_are_searched_by_cells_and_miss_little(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(40, 16, generator=generator)
    rows = centres[torch.randint(40, (2000,), generator=generator)] + 0.5 * torch.randn(2000, 16, generator=generator)
    features = normalize(rows, dim=1)
    exact = mine_neighbors(features, 10, include_self=True)
    monkeypatch.setattr(mining, "EXACT_ROWS", 1000)
    near = mine_neighbors(features, 10, include_self=True)
    assert near.shape == exact.shape
    assert torch.equal(near[:, 0], torch.arange(2000))
    found = (near[:, :, None] == exact[:, None, :]).any(1).float().mean()
    assert found > 0.95


def test_up_to_twenty_thousand_rows_are_searched_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mining.EXACT_ROWS == 20_000
    features = normalize(torch.randn(500, 8, generator=generator()), dim=1)
    monkeypatch.setattr(mining, "EXACT_ROWS", 500)
    monkeypatch.setattr(mining, "PROBES", 1)
    expected = (features @ features.T).topk(6, dim=1).indices
    assert torch.equal(mine_neighbors(features, 5, include_self=True), expected)
    monkeypatch.setattr(mining, "EXACT_ROWS", 499)
    assert not torch.equal(mine_neighbors(features, 5, include_self=True), expected)
