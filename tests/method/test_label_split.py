"""Clean or noisy: the mixture on the losses, and the guards around it."""

import numpy as np
import pytest

from scanmix_cli.method.settings import SplitSettings
from scanmix_cli.method.split import (
    UNDECIDED,
    LossHistory,
    clean_posterior,
    divide,
    monotone,
    normalise_losses,
    rescue_classes,
    select_clean,
)

SETTINGS = SplitSettings()
CONVERGED = SplitSettings(max_iter=2000, tol=1e-10)


def yes(*flags: int) -> np.ndarray:
    return np.array(flags, dtype=bool)


def fitted_by_hand(values: np.ndarray, reg_covar: float) -> np.ndarray:
    """Posterior of the smaller-mean component of a two-Gaussian mixture: EM written out, to convergence."""
    responsibility = (values < 0.5).astype(float)
    for _ in range(3000):
        densities = []
        for r in (responsibility, 1 - responsibility):
            weight, mean = r.mean(), (r * values).sum() / r.sum()
            variance = (r * (values - mean) ** 2).sum() / r.sum() + reg_covar
            densities.append(weight * np.exp(-((values - mean) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance))
        responsibility = densities[0] / (densities[0] + densities[1])
    return responsibility


def test_posterior_is_that_of_a_two_gaussian_mixture() -> None:
    values = np.array([0.0, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.7, 0.8, 0.85, 0.9, 1.0])
    expected = fitted_by_hand(values, SETTINGS.reg_covar)
    assert (np.diff(expected) <= 0).all(), "here the plain posterior falls already"
    assert 0.05 < expected[4:6].min() < expected[4:6].max() < 0.95, "and the middle is undecided"
    assert clean_posterior(values, CONVERGED, seed=0) == pytest.approx(expected, abs=1e-5)


def test_the_covariance_floor_is_the_profiles() -> None:
    values = np.array([0.0, 0.0, 0.0, 0.4, 1.0, 1.0, 1.0])
    for floor in (5e-4, 0.1):
        settings = SplitSettings(reg_covar=floor, max_iter=2000, tol=1e-10)
        expected = monotone(values, fitted_by_hand(values, floor))
        assert clean_posterior(values, settings, seed=0) == pytest.approx(expected, abs=1e-3)


def test_losses_are_scaled_by_their_extremes() -> None:
    assert normalise_losses(np.array([1.0, 3.0, 5.0])).tolist() == [0.0, 0.5, 1.0]


def test_nan_and_infinite_losses_count_as_the_largest() -> None:
    losses = np.array([1.0, np.nan, 3.0, np.inf, 5.0])
    assert normalise_losses(losses).tolist() == [0.0, 1.0, 0.5, 1.0, 1.0]
    assert normalise_losses(np.array([np.nan, np.nan])).tolist() == [0.0, 0.0]


def test_equal_losses_and_none_at_all_become_zero() -> None:
    assert normalise_losses(np.full(3, 2.5)).tolist() == [0.0, 0.0, 0.0]
    assert normalise_losses(np.array([])).tolist() == []


def test_clipping_cuts_the_losses_above_the_percentile() -> None:
    losses = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    assert normalise_losses(losses, 75.0).tolist() == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0, 1.0])


def outlier_among_ten_thousand() -> np.ndarray:
    generator = np.random.default_rng(0)
    clean = np.abs(generator.normal(0.0, 0.4, 8000))
    noisy = generator.normal(4.0, 0.8, 2000)
    losses = np.concatenate([clean, noisy])
    losses[-1] = 60.0
    return losses


@pytest.mark.parametrize(("percentile", "least", "most"), [(0.0, 1900, 2000), (99.9, 0, 50)])
def test_one_outlier_hides_the_noisy_labels_unless_it_is_clipped(percentile: float, least: int, most: int) -> None:
    settings = SplitSettings(clip_percentile=percentile)
    known = np.ones(10_000, dtype=bool)
    posterior = divide(outlier_among_ten_thousand(), known, LossHistory(1), settings, seed=0)
    selected = select_clean(posterior, known, settings.threshold)
    assert least <= selected[8000:].sum() <= most
    assert selected[:8000].mean() > 0.95


def test_posterior_never_rises_with_the_loss() -> None:
    losses, posterior = np.array([3.0, 0.0, 4.0, 1.0, 2.0]), np.array([0.3, 0.6, 0.4, 0.9, 0.8])
    assert monotone(losses, posterior).tolist() == [0.3, 0.9, 0.3, 0.9, 0.8]


def test_a_very_low_loss_is_not_lost_to_the_wide_component() -> None:
    generator = np.random.default_rng(1)
    narrow, wide = generator.normal(0.30, 0.01, 600), generator.uniform(0.32, 1.0, 400)
    values = np.concatenate([[0.0, 0.05], narrow, wide])
    plain = fitted_by_hand(values, SETTINGS.reg_covar)
    assert plain[0] < 0.5, "left alone the mixture would call the lowest loss noisy"
    found = clean_posterior(values, CONVERGED, seed=0)
    assert found[0] == found[1] == found.max()
    assert (np.diff(found[np.argsort(values)]) <= 0).all()


@pytest.mark.parametrize("values", [[], [0.3], [0.5, 0.5, 0.5], [0.2, 0.2 + 1e-8]])
def test_losses_that_do_not_differ_leave_every_label_undecided(values: list[float]) -> None:
    assert clean_posterior(np.array(values), SETTINGS, seed=0).tolist() == [UNDECIDED] * len(values)


@pytest.mark.parametrize("losses", [[2.0] * 6, [np.nan] * 6, [2.0, np.nan, 2.0, 2.0, 2.0, np.nan]])
def test_constant_or_nan_losses_make_everything_clean(losses: list[float]) -> None:
    known = np.ones(6, dtype=bool)
    posterior = divide(np.array(losses), known, LossHistory(1), SETTINGS, seed=0)
    assert posterior.tolist() == [UNDECIDED] * 6
    assert select_clean(posterior, known, 0.5).all()


def test_two_different_losses_are_told_apart() -> None:
    posterior = divide(np.array([0.1, 9.0]), yes(1, 1), LossHistory(1), SETTINGS, seed=0)
    assert posterior[0] > 0.9
    assert posterior[1] < 0.1


def test_some_nan_losses_are_the_noisiest() -> None:
    losses = np.array([0.1, 0.2, 0.1, np.nan, 4.0, 0.15, 4.2])
    posterior = divide(losses, np.ones(7, dtype=bool), LossHistory(1), SETTINGS, seed=0)
    assert np.isfinite(posterior).all()
    assert select_clean(posterior, np.ones(7, dtype=bool), 0.5).tolist() == [
        True,
        True,
        True,
        False,
        False,
        True,
        False,
    ]


def test_unlabelled_images_have_no_posterior_and_do_not_move_the_others() -> None:
    losses, known = np.array([0.1, 50.0, 0.2, 4.0, 0.0]), yes(1, 0, 1, 1, 0)
    posterior = divide(losses, known, LossHistory(1), SETTINGS, seed=0)
    assert posterior[~known].tolist() == [0.0, 0.0]
    alone = divide(losses[known], np.ones(3, dtype=bool), LossHistory(1), SETTINGS, seed=0)
    assert posterior[known].tolist() == alone.tolist()


def test_no_label_at_all_is_no_crash() -> None:
    nobody = np.zeros(4, dtype=bool)
    posterior = divide(np.ones(4), nobody, LossHistory(1), SETTINGS, seed=0)
    assert posterior.tolist() == [0.0] * 4
    assert not select_clean(posterior, nobody, 0.5).any()
    assert not rescue_classes(nobody, posterior, np.full(4, -1), 3).any()


def test_clean_is_above_the_threshold_and_labelled() -> None:
    posterior, known = np.array([0.1, 0.5, 0.51, 0.9, 0.95]), yes(1, 1, 1, 0, 1)
    assert select_clean(posterior, known, 0.5).tolist() == [False, False, True, False, True]


def test_neither_side_is_empty_while_posteriors_differ() -> None:
    known = np.ones(3, dtype=bool)
    assert select_clean(np.array([0.7, 0.8, 0.9]), known, 0.5).tolist() == [False, True, True]
    assert select_clean(np.array([0.1, 0.2, 0.3]), known, 0.5).tolist() == [False, False, True]


def test_every_given_class_has_a_clean_image() -> None:
    labels = np.array([0, 0, 1, 1, 2, -1])
    posterior = np.array([0.9, 0.2, 0.3, 0.4, 0.1, 0.99])
    clean = yes(1, 0, 0, 0, 0, 0)
    rescued = rescue_classes(clean, posterior, labels, classes=4)
    assert rescued.tolist() == [True, False, False, True, True, False], "class 3 is not given at all"
    assert clean.tolist() == [True, False, False, False, False, False], "the input is left alone"


def test_history_averages_the_last_few_loss_vectors() -> None:
    history = LossHistory(2)
    assert history.add(np.array([1.0, 0.0])).tolist() == [1.0, 0.0]
    assert history.add(np.array([0.0, 1.0])).tolist() == [0.5, 0.5]
    assert history.add(np.array([0.0, 1.0])).tolist() == [0.0, 1.0]
    assert history.fresh().rows == []


def test_history_is_kept_in_checkpoints() -> None:
    history, other = LossHistory(3), LossHistory(3)
    history.add(np.array([0.25, 0.75]))
    other.load_state_dict(history.state_dict())
    assert other.add(np.array([0.75, 0.75])).tolist() == [0.5, 0.75]


def test_averaged_losses_decide_the_split() -> None:
    known, history = np.ones(4, dtype=bool), LossHistory(5)
    for _ in range(4):
        divide(np.array([0.0, 0.1, 5.0, 5.1]), known, history, SETTINGS, seed=0)
    once_wrong = divide(np.array([5.1, 0.1, 5.0, 0.0]), known, history, SETTINGS, seed=0)
    assert select_clean(once_wrong, known, 0.5).tolist() == [True, True, False, False]
    without = divide(np.array([5.1, 0.1, 5.0, 0.0]), known, LossHistory(1), SETTINGS, seed=0)
    assert select_clean(without, known, 0.5).tolist() == [False, True, False, True]
