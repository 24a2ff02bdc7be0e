"""A map of the images: their features in two dimensions, for people to look at."""

import numpy as np

from scanmix_cli.streams import stream

MOST = 2_000  # images on the map; the cost of t-SNE grows faster than their number
FEWEST = 5  # below that there is nothing to arrange
COMPONENTS = 32
ITERATIONS = 500
PERPLEXITY = 30.0


def map_rows(images: int, seed: int) -> np.ndarray:
    """int64 (M,) sorted: the images on the map, all of them or MOST drawn at random."""
    if images <= MOST:
        return np.arange(images)
    return np.sort(stream(seed).choice(images, MOST, replace=False))


def project(features: np.ndarray, seed: int) -> np.ndarray:
    """float32 (M, 2): t-SNE (van der Maaten and Hinton 2008) of features float (M, D), after PCA to COMPONENTS.

    Zeros for fewer than FEWEST images.
    """
    count = len(features)
    if count < FEWEST:
        return np.zeros((count, 2), np.float32)
    from sklearn.decomposition import PCA  # imported at the end of a run: training starts a second sooner
    from sklearn.manifold import TSNE

    components = min(COMPONENTS, count, features.shape[1])
    reduced = PCA(components, random_state=seed).fit_transform(features.astype(np.float32))
    perplexity = min(PERPLEXITY, (count - 1) / 3)
    tsne = TSNE(2, init="pca", perplexity=perplexity, max_iter=ITERATIONS, random_state=seed)
    return tsne.fit_transform(reduced).astype(np.float32)
