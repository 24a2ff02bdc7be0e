"""Whitening of features before neighbours are mined."""

import pytest
import torch
from sklearn.decomposition import PCA
from torch.nn import functional as F

from scanmix_cli.method.neighbors import mine_neighbors, vote_accuracy
from scanmix_cli.method.whitening import CHUNK, ridge_for, whitened

BOX = torch.tensor([[3.0, 1.0], [3.0, -1.0], [-3.0, 1.0], [-3.0, -1.0]])  # variances 9 and 1


def cosines(features: torch.Tensor) -> torch.Tensor:
    return features @ features.T


@pytest.mark.parametrize(
    ("most", "ridge"),
    [
        (1.5, (52**0.5 - 5) / 3),  # 9 / (9 + s) + 1 / (1 + s) = 1.5, so 1.5 s^2 + 5 s - 4.5 = 0
        (1.0, 3.0),  # 9 / 12 + 1 / 4
        (0.5, 5 + 52**0.5),  # .5 s^2 - 5 s - 13.5 = 0
        (2.0, 9e-4),  # two directions: none too many
        (500.0, 9e-4),
    ],
)
def test_the_ridge_leaves_as_many_directions_as_the_images_are_worth(most: float, ridge: float) -> None:
    assert ridge_for(torch.tensor([1.0, 9.0], dtype=torch.float64), most) == pytest.approx(ridge, rel=1e-6)


def test_of_many_images_all_directions_count_alike() -> None:
    """The corners of a box become those of a square; where it stands does not matter."""
    for place in (BOX, BOX + torch.tensor([5.0, -2.0])):
        cosine = cosines(whitened(place, images_a_direction=2))
        torch.testing.assert_close(cosine[0], torch.tensor([1.0, 0.0, 0.0, -1.0]), atol=1e-3, rtol=0)


def test_of_fewer_images_the_large_directions_keep_a_part_of_their_lead() -> None:
    """Four images at four a direction are one direction, s = 3: (3, 1) becomes 3 / sqrt(12), 1 / sqrt(4)."""
    cosine = cosines(whitened(BOX, images_a_direction=4))
    torch.testing.assert_close(cosine[0, 1:], torch.tensor([0.5, -0.5, -1.0]), atol=1e-3, rtol=0)


def test_of_very_few_images_nothing_but_the_centre_changes() -> None:
    features = F.normalize(torch.randn(12, 6, generator=torch.Generator().manual_seed(0)), dim=1)
    plain = F.normalize(features - features.mean(0), dim=1)
    torch.testing.assert_close(cosines(whitened(features, 100)), cosines(plain), atol=0.02, rtol=0)


def test_it_is_the_whitening_of_scikit_learn_without_a_ridge() -> None:
    features = torch.randn(400, 5, generator=torch.Generator().manual_seed(1)) * torch.tensor([1.0, 0.5, 3.0, 0.8, 2.0])
    theirs = F.normalize(torch.from_numpy(PCA(whiten=True).fit_transform(features.numpy())).float(), dim=1)
    torch.testing.assert_close(cosines(whitened(features, 1)), cosines(theirs), atol=3e-3, rtol=0)


def test_directions_without_variance_and_equal_images_are_finite() -> None:
    flat = torch.randn(300, 5, generator=torch.Generator().manual_seed(4)) * torch.tensor([1.0, 1.0, 0.0, 0.0, 0.0])
    for features in (torch.ones(30, 4), flat):
        assert whitened(features, 2).isfinite().all()


def test_large_sets_are_seen_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    features = torch.randn(50, 4, generator=torch.Generator().manual_seed(2))
    whole = whitened(features, 5)
    assert len(features) < CHUNK
    monkeypatch.setattr("scanmix_cli.method.whitening.CHUNK", 7)
    torch.testing.assert_close(cosines(whitened(features, 5)), cosines(whole), atol=1e-4, rtol=0)


def test_neighbours_share_a_class_that_a_small_direction_tells() -> None:
    """Brightness varies most, and the class is in what varies a tenth as much."""
    generator = torch.Generator().manual_seed(3)
    labels = torch.arange(2000) % 2
    features = torch.randn(2000, 5, generator=generator)
    features[:, 4] = 0.03 * features[:, 4] + 0.1 * (2 * labels - 1)

    def right(place: torch.Tensor) -> float:
        return vote_accuracy(mine_neighbors(place, 10, include_self=False), labels, 2)

    assert right(F.normalize(features, dim=1)) < 0.85
    assert right(whitened(features)) > 0.97
