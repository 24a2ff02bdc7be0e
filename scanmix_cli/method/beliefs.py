"""E-step of the belief loop: what the given labels, the neighbours and the networks say about every image's class.

Nothing here is told the kind or the rate of the noise. The given labels of an image's neighbours vote (with symmetric
noise of 90 % the vote of 20 is weak, so it is passed on a few times from neighbour to neighbour); the networks'
probabilities and the vote together are the *belief*; how often a class was given another label, counted by the beliefs,
is the noise matrix; and Bayes' rule with that matrix weighs each image's own given label. Where one class is often
taken for another, exactly that confusion is doubted.

Related: neighbour votes for selection in SSR (Feng et al. 2022) and MOIT (Ortego et al. 2021); noise matrix as in
Dawid and Skene 1979. N images, C classes, K neighbours.
"""

import torch
from torch import Tensor

from scanmix_cli.method.losses import SMALLEST

SHARPNESS = 2.0  # exponent of a vote before it is passed on
LEAST_SPREAD = 1e-4  # of confidences: smaller differences are rounding
PRIOR_COUNT = 1.0  # images assumed in every cell of the noise matrix before any is counted


def soft_labels(labels: Tensor, classes: int) -> Tensor:
    """float32 (N, C): one-hot given labels int64 (N,); zeros where unlabelled (-1): such an image has no vote."""
    table = torch.zeros((len(labels), classes), device=labels.device)
    return table.scatter_(1, labels.clamp_min(0).unsqueeze(1), (labels >= 0).float().unsqueeze(1))


def class_prior(labels: Tensor, classes: int) -> Tensor:
    """float32 (C,): expected share of every class, between even and as given: the normalised root of the given shares.

    Even shares are wrong for sets that are imbalanced, given shares where one class is often taken for another.
    """
    counts = torch.bincount(labels[labels >= 0], minlength=classes).float()
    roots = (counts + 1).sqrt()
    return roots / roots.sum()


def tempered(beliefs: Tensor, exponent: float) -> Tensor:
    """Distributions (N, C) surer by an exponent above 1, vaguer below."""
    powers = beliefs**exponent
    return powers / powers.sum(1, keepdim=True)


def neighbor_mean(values: Tensor, neighbors: Tensor) -> Tensor:
    """Mean of the neighbours' rows of `values` float (N, C); neighbors int64 (N, K); memory stays at N x C."""
    total = torch.zeros_like(values)
    for column in neighbors.T:
        total += values[column]
    return total / neighbors.shape[1]


def balance(values: Tensor, prior: Tensor) -> Tensor:
    """Rows of `values` float (N, C) as distributions, their mean near the prior (C,); zeros become the prior.

    Columns are scaled first, so a class that is favoured everywhere loses (distribution alignment, ReMixMatch).
    """
    scaled = values * (prior / values.mean(0).clamp_min(SMALLEST)) + SMALLEST * prior
    return scaled / scaled.sum(1, keepdim=True)


def votes(given: Tensor, neighbors: Tensor, prior: Tensor, rounds: int) -> Tensor:
    """float32 (N, C): distribution over classes by the given labels (N, C) of the neighbours (N, K), the image's own
    left out if `neighbors` leaves it out; then in each round every image takes the mean of its neighbours' sharpened
    votes, so that weak votes are averaged over ever more images."""
    result = balance(neighbor_mean(given, neighbors), prior)
    for _ in range(rounds):
        result = passed_on(result, neighbors, prior)
    return balance(result, prior)


def passed_on(values: Tensor, neighbors: Tensor, prior: Tensor) -> Tensor:
    """float32 (N, C): one round of `votes`, not balanced yet."""
    return neighbor_mean(balance(values**SHARPNESS, prior), neighbors)


def believe(opinions: list[Tensor], prior: Tensor, floor: float) -> Tensor:
    """float32 (N, C): belief out of opinions, (N, C) distributions: their normalised geometric mean, near the prior.

    Their product would be right for independent opinions. These err together, and a product that is too sure of itself
    leaves the given label no say. No opinion alone rules a class out further than `floor`: networks and propagated
    votes are overconfident. Where fewer labels than that are wrong, though, a wrong one can no longer be told.
    """
    logs = torch.zeros_like(opinions[0])
    for opinion in opinions:  # one after another: of a million images each table is large
        logs += opinion.clamp_min(floor).log_()
    return balance(logs.div_(len(opinions)).softmax(1), prior)


def counted_noise_matrix(beliefs: Tensor, labels: Tensor, assumed: float = PRIOR_COUNT) -> Tensor:
    """float32 (C, C): P(given | true), row = true class, counted over the labelled images by their beliefs (N, C) and
    over `assumed` images in every cell."""
    counts = beliefs.T @ soft_labels(labels, beliefs.shape[1]) + assumed
    return counts / counts.sum(1, keepdim=True)


def fitted_noise_matrix(beliefs: Tensor, labels: Tensor, fits: int = 10) -> Tensor:
    """float32 (C, C): P(given | true) after `fits` rounds of EM from `counted_noise_matrix` on (Dawid and Skene 1979).

    Counted by beliefs alone, every doubt of theirs passes for a confusion of labels; fitted, the matrix is the one by
    which the beliefs (N, C) foretell the given labels best.
    """
    matrix = counted_noise_matrix(beliefs, labels)
    for _ in range(fits):
        matrix = counted_noise_matrix(label_posterior(beliefs, labels, matrix), labels)
    return matrix


def even_noise_matrix(beliefs: Tensor, labels: Tensor, even: float, fits: int = 10) -> Tensor:
    """float32 (C, C): P(given | true) of labels of which a share `even` is drawn evenly from all classes, the others
    by a matrix that is fitted by EM as in `fitted_noise_matrix`, with one image assumed in every row.

    Vague beliefs (N, C) foretell labels just as well if all of them are right: the even share has to be known.
    """
    classes = beliefs.shape[1]
    others = counted_noise_matrix(beliefs, labels)
    for _ in range(fits):
        matrix = (1 - even) * others + even / classes
        drawn = ((1 - even) * others / matrix).T[labels.clamp_min(0)]  # chance that a label is none of the even ones
        others = counted_noise_matrix(label_posterior(beliefs, labels, matrix) * drawn, labels, PRIOR_COUNT / classes)
    return (1 - even) * others + even / classes


def label_posterior(beliefs: Tensor, labels: Tensor, matrix: Tensor) -> Tensor:
    """float32 (N, C): P(true class | image, given label), belief (N, C) times the chance (C, C) that such a class is
    given that label; unlabelled rows are the beliefs themselves."""
    chance = matrix.T[labels.clamp_min(0)]
    chance = torch.where((labels >= 0).unsqueeze(1), chance, torch.ones_like(chance))
    posterior = beliefs * chance
    return posterior / posterior.sum(1, keepdim=True).clamp_min(SMALLEST)


def confidence_weight(targets: Tensor) -> Tensor:
    """float32 (N,) in 0..1: weight of each image in training, from the confidence of its target, a row of (N, C).

    1 from the mean confidence of its likeliest class upwards, a Gaussian below it that is half a standard deviation
    wide (SoftMatch, Chen et al. 2023): the bar rises by itself as confidence grows. Each class has a bar of its own
    (FlexMatch, Zhang et al. 2021), or hard classes would hardly be trained on.
    """
    confidence, likeliest = targets.max(1)
    member = soft_labels(likeliest, targets.shape[1])
    count = member.sum(0).clamp_min(1)
    mean = (confidence @ member) / count
    above = confidence - mean[likeliest]
    spread = ((above**2 @ member) / count).sqrt()[likeliest].clamp_min(LEAST_SPREAD) / 2
    return (-0.5 * (above.clamp_max(0) / spread) ** 2).exp()


def ridge_head(features: Tensor, targets: Tensor, strength: float = 1e-2) -> tuple[Tensor, Tensor]:
    """Weights (C, D) and bias (C,) of the linear map from features (N, D) that is nearest to targets (N, C).

    Ridge regression with `strength` relative to the mean variance of a feature: many images leave few hundred weights
    a class little room to remember wrong targets.
    """
    x_mean, t_mean = features.mean(0), targets.mean(0)
    x, t = features - x_mean, targets - t_mean
    gram = x.T @ x
    gram.diagonal().add_(strength * gram.diagonal().mean())
    weights = torch.linalg.solve(gram, x.T @ t).T
    return weights, t_mean - weights @ x_mean
