"""What a linear classifier on features that no label has touched says of every image, without the image's own label.

Votes of neighbours hear few labels at a time; a linear classifier hears all of them, and errs elsewhere. It is fitted
to the given labels through their noise matrix (forward correction, Patrini et al., CVPR 2017), on four fifths of the
images at a time, and asked about the rest, so that no label speaks for itself. N images, C classes, D features.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from scanmix_cli.engine.context import Context
from scanmix_cli.method.beliefs import balance
from scanmix_cli.method.losses import SMALLEST
from scanmix_cli.streams import parts

FOLDS = 5
BATCH, EPOCHS, STEPS = 512, 12, (200, 1_200)  # labels a step; steps: those epochs, at least and at most
RATE, DECAY = 3e-3, 0.1  # of AdamW; the rate falls along a cosine
LENGTH = 10.0  # of the centred features
SUREST, FEWEST, LAST = 0.2, 20, 0.2  # images whose labels tell how many are drawn evenly, and classes
MOST = 0.98  # of the labels: with none to believe nothing could be learned


def probe(features: Tensor, labels: Tensor, matrix: Tensor, context: Context) -> Tensor:
    """float32 (N, C): class probabilities of the classifier that has not seen the image's label.

    features float32 (N, D); labels int64 (N,), -1 where unlabelled; matrix float32 (C, C) is P(given | true).
    """
    known, center = (labels >= 0).nonzero().squeeze(1), features.mean(0)
    fold = torch.from_numpy(parts(len(features), FOLDS)).to(features.device)
    classes, others = len(matrix), torch.arange(FOLDS, device=features.device).unsqueeze(1)
    weights = features.new_zeros(FOLDS, features.shape[1], classes).requires_grad_()
    biases = features.new_zeros(FOLDS, 1, classes).requires_grad_()
    optimizer = torch.optim.AdamW([weights, biases], lr=RATE, weight_decay=DECAY)
    steps = min(max(EPOCHS * len(known) // BATCH, STEPS[0]), STEPS[1])
    for step in range(steps):
        chosen = torch.randint(len(known), (BATCH,), generator=context.generator, device=features.device)
        rows = known[chosen]
        logits = _placed(features[rows], center) @ weights + biases
        chance = (logits.softmax(2) @ matrix).gather(2, labels[rows].expand(FOLDS, -1).unsqueeze(2)).squeeze(2)
        losses = -chance.clamp_min(SMALLEST).log() * (fold[rows] != others)
        optimizer.param_groups[0]["lr"] = RATE * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.zero_grad()
        (losses.sum() / BATCH).backward()
        optimizer.step()
    result = features.new_empty(len(features), classes)
    with torch.no_grad():
        for k in range(FOLDS):
            result[fold == k] = (_placed(features[fold == k], center) @ weights[k] + biases[k]).softmax(1)
    return result


def even_share(witness: Tensor, labels: Tensor) -> tuple[float, float]:
    """Share of labels int64 (N,), -1 where unlabelled, that are drawn evenly from all classes, by a witness (N, C) that
    has not seen them, and the standard error of a count: of labels of the surest fifth of images, how many are among
    the fifth of classes that it holds for the least likely. Right labels are seldom there, and labels that are mistaken
    for a similar class. One more is assumed to be: few images do not tell that none is.

    Only the order of the classes counts, not how sure the witness is, which labels cannot tell.
    """
    known = (labels >= 0).nonzero().squeeze(1)
    surest = known[witness[known].max(1).values.topk(max(int(SUREST * len(known)), min(FEWEST, len(known)))).indices]
    own = witness[surest].gather(1, labels[surest].unsqueeze(1))
    last = max(int(LAST * witness.shape[1]), 1)
    found = int(((witness[surest] > own).sum(1) >= witness.shape[1] - last).sum())
    one = witness.shape[1] / last / (len(surest) + 1)  # the share that a label among the last stands for
    return min((found + 1) * one, MOST), math.sqrt(found + 1) * one


def _placed(features: Tensor, center: Tensor) -> Tensor:
    return LENGTH * F.normalize(features - center, dim=1)


def joined(beliefs: Tensor, witness: Tensor, weight: float, floor: float, prior: Tensor) -> Tensor:
    """float32 (N, C): beliefs (N, C) times what the witness (N, C) says to the power of its weight, near the prior
    (C,): two opinions that do not err together. The witness rules no class out further than `floor`."""
    return balance(beliefs * witness.clamp_min(floor) ** weight, prior)
