"""A linear classifier on untouched features: what it learns from wrong labels; no label speaks for itself."""

import pytest
import torch
from torch import Tensor
from toy_runs import toy_context

from scanmix_cli.method.probe import FOLDS, MOST, even_share, joined, probe
from scanmix_cli.method.vote_rounds import foretells_better
from scanmix_cli.streams import parts


def shapes(classes: int, each: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Classes int64 (N,) and features float32 (N, 8) that lie around their class's own direction."""
    draw = torch.Generator().manual_seed(seed)
    truth = torch.arange(classes * each) % classes
    centers = torch.nn.functional.normalize(torch.randn(classes, 8, generator=draw), dim=1)
    return truth, centers[truth] + 0.25 * torch.randn(len(truth), 8, generator=draw)


def pairs(classes: int, share: float) -> Tensor:
    """P(given | true): so often the next class."""
    return (1 - share) * torch.eye(classes) + share * torch.eye(classes).roll(1, 1)


def test_the_noise_matrix_turns_wrong_labels_into_right_classes() -> None:
    truth, features = shapes(3, 200)
    draw = torch.Generator().manual_seed(1)
    wrong = torch.rand(len(truth), generator=draw) < 0.6
    labels = torch.where(wrong, (truth + 1) % 3, truth)
    found = probe(features, labels, pairs(3, 0.6), toy_context())
    assert found.shape == (600, 3)
    assert torch.allclose(found.sum(1), torch.ones(600))
    assert (found.argmax(1) == truth).float().mean() > 0.9
    believed = probe(features, labels, torch.eye(3), toy_context())  # labels taken at their word
    assert (believed.argmax(1) == truth).float().mean() < 0.5


def test_a_label_does_not_speak_for_itself() -> None:
    truth, features = shapes(3, 50)
    changed = truth.clone()
    fold = torch.from_numpy(parts(len(truth), FOLDS))
    changed[fold == 0] = (truth[fold == 0] + 1) % 3
    before, after = (probe(features, labels, pairs(3, 0.1), toy_context()) for labels in (truth, changed))
    assert torch.equal(before[fold == 0], after[fold == 0])
    assert not torch.equal(before[fold == 1], after[fold == 1])


def test_every_class_is_learned_where_classes_come_in_turn() -> None:
    truth, features = shapes(FOLDS, 100)
    found = probe(features, truth, pairs(FOLDS, 0.1), toy_context())
    assert (found.argmax(1) == truth).float().mean() > 0.8


def test_unlabelled_images_are_asked_about_and_teach_nothing() -> None:
    truth, features = shapes(3, 60)
    labels = truth.clone()
    labels[:60] = -1
    found = probe(features, labels, pairs(3, 0.1), toy_context())
    assert (found[:60].argmax(1) == truth[:60]).float().mean() > 0.9


def test_beliefs_and_witness_are_multiplied() -> None:
    beliefs, even = torch.tensor([[0.8, 0.2], [0.2, 0.8]]), torch.tensor([0.5, 0.5])
    witness = torch.tensor([[0.1, 0.9], [0.9, 0.1]])
    heard = torch.tensor([[4 / 7, 3 / 7], [3 / 7, 4 / 7]])  # 4 to 1, and the root of 1 to 9
    assert torch.allclose(joined(beliefs, witness, 0.5, 0.01, even), heard)
    sure = torch.tensor([[0.0, 1.0], [1.0, 0.0]])  # rules nothing out further than the floor: 0.25 to 1
    assert torch.allclose(joined(beliefs, sure, 1.0, 0.25, even), torch.tensor([[0.5, 0.5], [0.5, 0.5]]))


def test_a_witness_is_heard_where_hidden_labels_bear_it_out() -> None:
    truth, _ = shapes(3, 200)
    draw = torch.Generator().manual_seed(2)
    vague, chance = (torch.rand(600, 3, generator=draw).softmax(1) for _ in range(2))
    even = torch.full((3,), 1 / 3)
    knows = 0.6 * torch.eye(3)[truth] + 0.4 / 3
    assert foretells_better(joined(vague, knows, 0.5, 0.01, even), vague, truth)
    assert not foretells_better(joined(vague, chance, 0.5, 0.01, even), vague, truth)
    assert not foretells_better(vague, vague, truth)


def test_one_label_tells_nothing() -> None:
    assert not foretells_better(torch.ones(1, 2), torch.ones(1, 2), torch.tensor([0]))


def test_the_even_share_counts_labels_among_the_least_likely_classes_of_the_surest() -> None:
    """200 images of ten classes; the surest fifth are 40, and the last fifth of the classes are two."""
    witness = torch.linspace(0.10, 0.01, 10).repeat(200, 1)
    witness[:40, 0] = 0.5
    labels = torch.zeros(200, dtype=torch.int64)
    labels[40:] = 9  # of the others nothing is asked
    labels[:6] = torch.tensor([8, 9, 8, 9, 7, 2])
    assert even_share(witness, labels) == pytest.approx(((4 + 1) / (40 + 1) * 5, 5**0.5 / (40 + 1) * 5))
    labels[:40] = 9
    assert even_share(witness, labels)[0] == MOST
    labels[20:] = -1  # twenty labels are left: all of them are asked
    labels[:20] = 0
    assert even_share(witness, labels) == pytest.approx((1 / 21 * 5, 1 / 21 * 5))


@pytest.mark.parametrize("classes", [3, 10, 40])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
def test_the_even_share_is_found_by_a_witness_that_is_often_wrong(classes: int, share: float) -> None:
    draw = torch.Generator().manual_seed(0)
    truth, features = shapes(classes, 6000 // classes)
    features += 0.3 * torch.randn(features.shape, generator=draw)
    even = torch.rand(len(truth), generator=draw) < share
    labels = torch.where(even, torch.randint(classes, truth.shape, generator=draw), truth)
    witness = probe(features, labels, torch.eye(classes), toy_context())
    found, error = even_share(witness, labels)
    assert found == pytest.approx(share, abs=0.12)
    assert abs(found - share) <= 3 * error
