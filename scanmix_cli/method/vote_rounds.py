"""How many votes are needed, and how far neighbours' votes should be passed on, asked of the labels themselves.

Passed on, weak votes add up where neighbours are mostly of one class, and mix the classes where they are not. A fifth
of the labels is hidden at a time and foretold by the votes of the others: the right number of rounds foretells hidden
labels best, whether they are right or wrong. No true label is needed. N images, C classes, K neighbours.
"""

import torch
from torch import Tensor

from scanmix_cli.method.beliefs import balance, fitted_noise_matrix, neighbor_mean, passed_on, tempered
from scanmix_cli.method.losses import SMALLEST
from scanmix_cli.streams import few, parts

USUAL = 3  # rounds, unless fewer foretell hidden labels better by more than chance
ROUNDS = (1, 2, USUAL)  # where more foretold hidden labels best, votes gained half a point at most
FOLDS = 5  # of the labels one is hidden at a time
ENOUGH = 10_000  # hidden labels: of more some are left out
AHEAD = 3.0  # standard errors: with fewer rounds votes are vaguer, which passes for weak features where it is chance
EXPONENTS = (0.5, 1.0, 2.0)  # votes may be surer or less sure than they should be


def best_rounds(given: Tensor, labels: Tensor, neighbors: Tensor, prior: Tensor) -> int:
    """The number of rounds out of ROUNDS whose votes foretell hidden labels best.

    USUAL where none is AHEAD of it by so many standard errors. given float (N, C) as `soft_labels` makes it of labels
    int64 (N,), -1 where unlabelled; neighbors int64 (N, K), without the image itself; prior (C,).
    """
    rows, voted = hidden_votes(given, labels, neighbors, prior)
    count = len(rows)
    if count < 2:
        return USUAL
    likely = torch.stack([foretold(votes, labels[rows]) for votes in voted])
    ahead = likely - likely[ROUNDS.index(USUAL)]
    mean, error = ahead.mean(1), ahead.std(1) / count**0.5
    clear = mean > AHEAD * error
    return ROUNDS[int(torch.where(clear, mean, -torch.inf).argmax())] if clear.any() else USUAL


def needed_votes(labels: Tensor, neighbors: Tensor, classes: int) -> float:
    """How many independent votes set the true class four standard deviations apart from another one.

    Of a share p of votes for the true class and q for each other, 32 q (1 - q) / (p - q)^2; q is near 1 / C, and by
    the square neighbours int64 (N, K) have the image's own label int64 (N,), -1 where unlabelled, more often than by
    chance, where they are of its class.
    """
    known = labels >= 0
    shares = torch.bincount(labels[known], minlength=classes) / known.sum().clamp_min(1)
    voting = known.unsqueeze(1) & known[neighbors]
    same = voting & (labels.unsqueeze(1) == labels[neighbors])
    excess = float(same.sum() / voting.sum().clamp_min(1) - (shares**2).sum())
    return 32 * (1 - 1 / classes) / classes / max(excess, SMALLEST)


def foretells_better(opinions: Tensor, others: Tensor, labels: Tensor) -> bool:
    """Whether opinions (M, C) foretell hidden labels int64 (M,) better than others, by more than a standard error."""
    if len(labels) < 2:
        return False
    ahead = foretold(opinions, labels) - foretold(others, labels)
    return bool(ahead.mean() > ahead.std() / len(labels) ** 0.5)


def hidden_votes(given: Tensor, labels: Tensor, neighbors: Tensor, prior: Tensor) -> tuple[Tensor, Tensor]:
    """Rows int64 (M,) of labelled images, and float32 (len(ROUNDS), M, C) votes on them for every number of rounds.

    Their own labels, a fold at a time, have no vote anywhere: after a round votes come back to where they came from.
    """
    known = (labels >= 0).nonzero().squeeze(1)
    place = torch.from_numpy(parts(len(known), FOLDS)).to(labels.device)
    votes: list[Tensor] = []
    rows: list[Tensor] = []
    for fold in range(FOLDS):
        hidden = known[place == fold]
        hidden = hidden[torch.from_numpy(few(len(hidden), ENOUGH)).to(labels.device)]
        result, kept = balance(_mean_without(hidden, given, neighbors), prior), []
        for done in range(1, max(ROUNDS) + 1):
            result = passed_on(result, neighbors, prior)
            if done in ROUNDS:
                kept.append(balance(result, prior)[hidden])
        votes.append(torch.stack(kept))
        rows.append(hidden)
        if sum(map(len, rows)) >= ENOUGH:
            break
    return torch.cat(rows), torch.cat(votes, 1)


def _mean_without(hidden: Tensor, given: Tensor, neighbors: Tensor) -> Tensor:
    """`neighbor_mean` of given (N, C) where rows `hidden` int64 (H,) have no vote; the table, large for many images, is
    changed for it and back, not copied."""
    own = given[hidden]
    given[hidden] = 0
    try:
        return neighbor_mean(given, neighbors)
    finally:
        given[hidden] = own


def foretold(voted: Tensor, labels: Tensor) -> Tensor:
    """float32 (M,): log-likelihood of labels int64 (M,) by votes (M, C) for the true class and a noise matrix that is
    fitted to the other half of them; votes tempered as serves them best."""
    half = torch.from_numpy(parts(len(labels), 2) == 0).to(labels.device)
    found = []
    for exponent in EXPONENTS:
        beliefs, result = tempered(voted.clamp_min(SMALLEST), exponent), torch.zeros_like(voted[:, 0])
        for seen in (half, ~half):
            chance = beliefs[~seen] @ fitted_noise_matrix(beliefs[seen], labels[seen])
            result[~seen] = chance.gather(1, labels[~seen].unsqueeze(1)).squeeze(1).clamp_min(SMALLEST).log()
        found.append(result)
    return max(found, key=lambda one: float(one.sum()))
