"""Whitening before neighbours are mined: what few directions of a feature space have most of no longer decides alone.

Contrastive features vary most in what tells crops of one image from others, such as its colours, and features that
labels have touched in the classes they name; what tells a cat from a dog is in directions that vary less.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

IMAGES_A_DIRECTION = 30  # at least so many images for each direction that is evened out: fewer tell it by chance
SMALLEST_SHARE = 1e-4  # of the largest variance: what varies less is hardly lifted, however many images there are
HALVINGS = 60
CHUNK = 65_536


def whitened(features: Tensor, images_a_direction: float = IMAGES_A_DIRECTION) -> Tensor:
    """Unit features (N, D) of `features` (N, D), centred, the variances v of their principal directions evened out.

    Each direction is divided by the root of v + s (PCA whitening, Kessy et al. 2018, with a ridge), where s makes the
    effective directions, the sum of v / (v + s) (degrees of freedom of ridge regression, Hastie et al. 2009, Eq. 3.50),
    no more than N / images_a_direction. Of many images all directions count alike, of few hardly any is changed.
    """
    count, mean = len(features), features.mean(0)
    products = torch.zeros(features.shape[1], features.shape[1], device=features.device)
    for chunk in features.split(CHUNK):
        spread = chunk.float() - mean
        products += spread.T @ spread
    # In float64: of features that hardly differ, as of equal images, LAPACK's float32 need not converge.
    home = features.device if features.device.type == "cuda" else torch.device("cpu")
    variances, directions = torch.linalg.eigh((products / count).to(home).double())
    variances = variances.clamp_min(0)
    ridge = ridge_for(variances.cpu(), count / images_a_direction)
    turned = (directions * (variances + ridge).rsqrt()).float().to(features.device)
    place = torch.empty_like(features, dtype=torch.float32)
    for into, chunk in zip(place.split(CHUNK), features.split(CHUNK), strict=True):
        F.normalize((chunk.float() - mean) @ turned, dim=1, out=into)
    return place


def ridge_for(variances: Tensor, most: float) -> float:
    """The least s, from SMALLEST_SHARE of the largest variance on, with sum v / (v + s) <= most; variances (D,)."""
    low = max(SMALLEST_SHARE * float(variances.max()), torch.finfo(torch.float32).tiny)
    if float((variances / (variances + low)).sum()) <= most:
        return low
    high = float(variances.sum()) / most  # v / (v + s) is less than v / s
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        if float((variances / (variances + middle)).sum()) > most:
            low = middle
        else:
            high = middle
    return high
