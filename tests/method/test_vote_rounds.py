"""How often neighbours' votes are passed on, asked of hidden labels."""

import math

import pytest
import torch
from torch import Tensor

from scanmix_cli.method import vote_rounds
from scanmix_cli.method.beliefs import class_prior, fitted_noise_matrix, soft_labels, tempered, votes
from scanmix_cli.method.vote_rounds import FOLDS, ROUNDS, USUAL, best_rounds, foretold, hidden_votes, needed_votes
from scanmix_cli.streams import parts


def clusters(classes: int, each: int, alike: float, wrong: float, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """True classes and given labels int64 (N,), a share `wrong` of them drawn anew, and 10 neighbours (N, 10), of which
    a share `alike` is of the image's class and the rest of any."""
    draw = torch.Generator().manual_seed(seed)
    truth = torch.arange(classes * each) % classes
    n = len(truth)
    own = torch.randint(each, (n, 10), generator=draw) * classes + truth.unsqueeze(1)
    other = torch.randint(n, (n, 10), generator=draw)
    neighbors = torch.where(torch.rand((n, 10), generator=draw) < alike, own, other)
    anew = torch.rand(n, generator=draw) < wrong
    return truth, torch.where(anew, torch.randint(classes, (n,), generator=draw), truth), neighbors


def hidden_log_likelihoods(given: Tensor, labels: Tensor, neighbors: Tensor, prior: Tensor) -> Tensor:
    rows, voted = hidden_votes(given, labels, neighbors, prior)
    return torch.stack([foretold(votes, labels[rows]) for votes in voted])


def asked(labels: Tensor, neighbors: Tensor, classes: int) -> int:
    return best_rounds(soft_labels(labels, classes), labels, neighbors, class_prior(labels, classes))


def test_a_hidden_label_is_foretold_by_votes_that_have_not_seen_it() -> None:
    classes = 3
    _, labels, neighbors = clusters(classes, 40, 0.8, 0.3)
    given, prior = soft_labels(labels, classes), class_prior(labels, classes)
    found = hidden_log_likelihoods(given, labels, neighbors, prior)
    assert found.shape == (len(ROUNDS), len(labels))
    place = torch.from_numpy(parts(len(labels), FOLDS))
    rows = torch.cat([(place == fold).nonzero().squeeze(1) for fold in range(FOLDS)])
    voted = torch.empty(len(labels), classes)
    for fold in range(FOLDS):  # rows of the result stand fold by fold
        seen = given.clone()
        seen[place == fold] = 0
        voted[place[rows] == fold] = votes(seen, neighbors, prior, ROUNDS[1])[place == fold]
    truths, by_exponent = labels[rows], []
    half = torch.from_numpy(parts(len(rows), 2))
    for exponent in vote_rounds.EXPONENTS:
        beliefs = tempered(voted, exponent)
        matrices = [fitted_noise_matrix(beliefs[half != own], truths[half != own]) for own in (0, 1)]
        by_exponent.append(
            [math.log(float(beliefs[k] @ matrices[own][:, truths[k]])) for k, own in enumerate(half.tolist())]
        )
    expected = max(by_exponent, key=sum)
    torch.testing.assert_close(found[1], torch.tensor(expected), atol=1e-4, rtol=1e-4)


def test_its_own_label_does_not_help_to_foretell_it() -> None:
    # With labels drawn at random nothing can be foretold, however often a vote comes back to where it came from.
    labels = torch.randint(4, (400,), generator=torch.Generator().manual_seed(1))
    neighbors = (torch.arange(400).unsqueeze(1) // 4 * 4 + torch.arange(4)) % 400  # groups of four, all mutual
    found = hidden_log_likelihoods(soft_labels(labels, 4), labels, neighbors, class_prior(labels, 4))
    assert (found.mean(1) < -math.log(4) + 0.02).all()


def test_weak_votes_in_clear_neighbourhoods_are_passed_on_as_usual() -> None:
    _, labels, neighbors = clusters(5, 200, 0.95, 0.85)
    assert asked(labels, neighbors, 5) == USUAL


def test_votes_are_passed_on_seldom_where_classes_border_on_each_other_everywhere() -> None:
    places = torch.arange(1000)  # on a circle, its classes in stretches of 12
    labels = places // 12 % 5
    neighbors = (places.unsqueeze(1) + torch.tensor([-5, -4, -3, -2, -1, 1, 2, 3, 4, 5])) % 1000
    assert asked(labels, neighbors, 5) < USUAL


def test_the_usual_rounds_where_labels_cannot_tell() -> None:
    _, labels, neighbors = clusters(3, 20, 1.0, 0.0)  # every number of rounds foretells all
    assert asked(labels, neighbors, 3) == USUAL
    unlabelled = torch.full((60,), -1)
    assert asked(unlabelled, neighbors, 3) == USUAL
    one = unlabelled.clone()
    one[7] = 1
    assert asked(one, neighbors, 3) == USUAL


@pytest.mark.parametrize(("enough", "asked_of"), [(30, 40), (20, 20), (7, 7), (5, 5)])
def test_no_more_labels_are_hidden_than_are_needed(enough: int, asked_of: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, labels, neighbors = clusters(3, 50, 0.9, 0.2)
    labels[::3] = -1  # 100 labels, folds of 20
    monkeypatch.setattr(vote_rounds, "ENOUGH", enough)
    found = hidden_log_likelihoods(soft_labels(labels, 3), labels, neighbors, class_prior(labels, 3))
    assert found.shape == (len(ROUNDS), asked_of)


def test_the_labels_are_left_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    _, labels, neighbors = clusters(3, 20, 0.9, 0.2)
    given = soft_labels(labels, 3)
    before = given.clone()
    best_rounds(given, labels, neighbors, class_prior(labels, 3))
    assert torch.equal(given, before)

    def short_of_memory(*_: Tensor) -> Tensor:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(vote_rounds, "neighbor_mean", short_of_memory)
    with pytest.raises(torch.OutOfMemoryError):
        best_rounds(given, labels, neighbors, class_prior(labels, 3))
    assert torch.equal(given, before)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [(2.9, 2.9, USUAL), (3.1, 0.0, 1), (2.9, 3.1, 2), (3.1, 9.0, 2), (9.0, 3.1, 1)],
)
def test_fewer_rounds_must_be_ahead_by_three_standard_errors(
    one: float, two: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Differences whose mean is so many times their standard error, the same one for both."""
    count = 400
    spread = torch.linspace(-1, 1, count, dtype=torch.float64)
    spread /= spread.std() / count**0.5  # a standard error of 1
    leads = {1: one, 2: two, USUAL: 0.0}
    likely = iter([(spread if leads[rounds] else 0 * spread) + leads[rounds] for rounds in ROUNDS])
    voted = torch.zeros(len(ROUNDS), count, 3)
    monkeypatch.setattr(vote_rounds, "hidden_votes", lambda *_: (torch.arange(count), voted))
    monkeypatch.setattr(vote_rounds, "foretold", lambda *_: next(likely))
    labels = torch.zeros(count, dtype=torch.long)
    assert asked(labels, torch.zeros(count, 2, dtype=torch.long), 3) == expected


def test_needed_votes_by_hand() -> None:
    """Four images of two classes and one without a label: of 8 votes between labels 6 are for the image's own; by
    chance half would be."""
    labels = torch.tensor([0, 0, 1, 1, -1])
    neighbors = torch.tensor([[1, 1, 4], [0, 0, 4], [3, 0, 4], [2, 1, 4], [0, 1, 2]])
    assert needed_votes(labels, neighbors, 2) == pytest.approx(32 * 0.25 / (6 / 8 - 0.5))


@pytest.mark.parametrize("classes", [2, 5, 10])
def test_no_class_is_hidden_altogether_where_classes_come_in_turn(classes: int) -> None:
    truth, labels, neighbors = clusters(classes, 400 // classes, 0.9, 0.3)
    rows, voted = hidden_votes(soft_labels(labels, classes), labels, neighbors, class_prior(labels, classes))
    assert (voted[-1].argmax(1) == truth[rows]).float().mean() > 0.9
