"""Leave-one-out regression on features."""

import numpy as np
import pytest

from scanmix_cli.evidence import regression
from scanmix_cli.evidence.regression import _Fit, corrected_labels, leave_one_out
from scanmix_cli.evidence.witnesses import Witnesses


def blobs(images: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features float32 (N, 4) around three centres, and their classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, images)
    centres = np.eye(4)[:3] * 3
    return (centres[truth] + rng.normal(size=(images, 4))).astype(np.float32), truth


def test_a_prediction_is_that_of_a_fit_without_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression, "BLOCK", 7)  # more than one block
    features, labels = blobs(20, 0)
    fit, ridge = _Fit(features, labels, 3, np.random.default_rng(0)), 0.7
    predicted = fit.predict(features, labels, ridge)
    mapped = np.concatenate([rows for _, rows in fit.map.blocks(features)]).astype(np.float64)
    targets = np.eye(3)[labels] - fit.shares
    for row in (0, 7, 19):
        others = np.arange(20) != row
        gram = mapped[others].T @ mapped[others] + ridge * np.eye(mapped.shape[1])
        wanted = mapped[row] @ np.linalg.solve(gram, mapped[others].T @ targets[others]) + fit.shares
        own = fit.predict(features, labels, ridge)[row]
        leverage = mapped[row] @ np.linalg.solve(mapped.T @ mapped + ridge * np.eye(mapped.shape[1]), mapped[row])
        assert leverage < 1 - regression.LEAST_FREE
        assert own == pytest.approx(wanted, abs=1e-4)
    assert predicted.shape == (20, 3)


def test_wrong_labels_are_found_and_corrected() -> None:
    features, truth = blobs(300, 1)
    labels = truth.copy()
    labels[:60] = (labels[:60] + 1) % 3
    probabilities = leave_one_out(features, labels, 3, seed=0)
    assert probabilities.dtype == np.float32
    assert probabilities.sum(1) == pytest.approx(np.ones(300), abs=1e-5)
    doubt = 1 - probabilities[np.arange(300), labels]
    assert np.median(doubt[:60]) > 0.9 > 0.1 > np.median(doubt[60:])
    assert (corrected_labels(probabilities, labels) == truth).mean() > 0.97


def test_unlabelled_images_have_no_vote_and_get_a_prediction() -> None:
    features, truth = blobs(300, 2)
    labels = np.where(np.arange(300) % 3 == 0, -1, truth)
    probabilities = leave_one_out(features, labels, 3, seed=0)
    assert (probabilities.argmax(1) == truth)[labels < 0].mean() > 0.95
    assert (corrected_labels(probabilities, labels)[labels < 0] == -1).all()


def test_nothing_to_learn_from_gives_even_probabilities() -> None:
    features = np.zeros((3, 2), np.float32)
    assert (leave_one_out(features, np.array([-1, 0, -1]), 2, seed=0) == 0.5).all()


def test_regression_networks_and_votes_are_one_witness_of_the_verdicts() -> None:
    mean = np.array([[0.8, 0.2], [0.5, 0.5], [0.3, 0.7]], np.float32)
    loo = np.array([[0.25, 0.75], [0.9, 0.1], [0.6, 0.4]], np.float32)
    witnesses = Witnesses(mean, mean, np.array([0, 1, 1]), np.array([[1, 2], [0, 2], [0, 1]]), loo)
    rows = np.arange(3)
    voted = np.array([[0.5, 0.5], [0.25, 0.75], [0.25, 0.75]])  # each of image 1 and 2 hears 0 and 1, 0 hears 1 twice
    assert witnesses.passed_on(rows) == pytest.approx(voted)
    assert witnesses.full(rows)[0] == pytest.approx(np.log(mean) + np.log(loo) + np.log(voted), abs=1e-6)
    assert witnesses.around(rows)[0] == pytest.approx(np.log(loo))


def test_votes_are_sharpened_before_they_are_passed_on() -> None:
    even = np.full((4, 2), 0.5, np.float32)
    witnesses = Witnesses(even, even, np.array([0, 0, 1, -1]), np.array([[3, 0, 0], [0, 1, 2], [2, 2, 0], [0, 1, 2]]))
    # Image 3 hears two votes for class 0 and one for class 1, 4 / 5 and 1 / 5 once squared; nobody hears itself.
    assert witnesses.passed_on(np.array([0])) == pytest.approx(np.array([[0.8, 0.2]]))
    # Of the neighbours of image 1, 2 alone has something to say: it hears 0.
    assert witnesses.passed_on(np.array([1])) == pytest.approx(np.array([[1.0, 0.0]]))


def test_where_nobody_votes_the_votes_are_even() -> None:
    even = np.full((2, 4), 0.25, np.float32)
    silent = Witnesses(even, even, np.array([-1, -1]), np.array([[1], [0]]))
    assert silent.passed_on(np.arange(2)) == pytest.approx(np.full((2, 4), 0.25))
