"""Stored features in the place of images, and what stands for augmentations."""

import torch

from scanmix_cli.method.features import DROPPED, FeatureSet

STORED = torch.tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]).half()  # two images, two views each
FEATURES = FeatureSet(STORED, torch.tensor([0, 1]), 2, 1, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def test_the_test_view_is_the_mean_of_the_stored_ones() -> None:
    seen = FEATURES.view("test")(STORED)
    assert seen[:, :, 0, 0].tolist() == [[2.0, 3.0], [6.0, 7.0]]
    assert FEATURES.mean_features().tolist() == [[2.0, 3.0], [6.0, 7.0]]


def test_the_mirrored_view_is_the_last_one() -> None:
    assert FEATURES.view("mirrored")(STORED)[:, :, 0, 0].tolist() == [[3.0, 4.0], [7.0, 8.0]]


def test_a_weak_view_is_one_of_the_stored_ones() -> None:
    seen = FEATURES.view("weak").apply(STORED, torch.tensor([[0.4, 0.6]]))
    assert seen[:, :, 0, 0].tolist() == [[1.0, 2.0], [7.0, 8.0]]


def test_a_strong_view_hides_features_and_keeps_their_mean() -> None:
    uniforms = torch.tensor([[0.0, 0.0], [DROPPED - 0.01, 0.9], [0.9, DROPPED]])
    seen = FEATURES.view("strong").apply(STORED, uniforms)[:, :, 0, 0]
    assert torch.allclose(seen, torch.tensor([[0.0, 2.0], [5.0, 6.0]]) / torch.tensor([[1.0, 0.7], [0.7, 0.7]]))


def test_a_subset_is_one_of_features_again() -> None:
    part = FEATURES.subset(torch.tensor([1]))
    assert isinstance(part, FeatureSet)
    assert part.mean_features().tolist() == [[6.0, 7.0]]
