"""Labels swapped in pairs of classes, told from classes that beliefs confuse."""

import numpy as np
import pytest

from scanmix_cli.evidence.fitting import fit_noise
from scanmix_cli.evidence.noise_model import softmax
from scanmix_cli.evidence.swapped import swapped
from scanmix_cli.evidence.witnesses import Witnesses

CHOSEN = np.repeat(np.arange(4), 200)
DOUBT = np.tile(np.linspace(-1, 1, 200), 4)  # the first hundred images of each class are its surer half


def labelled(mistakes: dict[tuple[int, int], int]) -> np.ndarray:
    """The first choices, but for so many of the surest images of a class that name another one."""
    labels = CHOSEN.copy()
    for (true, given), count in mistakes.items():
        free = np.flatnonzero((labels == true) & (true == CHOSEN))[:count]
        labels[free] = given
    return labels


def test_pairs_are_told_by_the_surer_half_of_each_class() -> None:
    """30 mistakes of each class and 12 others: 132 in 12 places, 11 by chance; 30 is 21 at least, hence no pair, 40 of
    162 is 29.6 at least, above twice 13.5."""
    rest = {(0, 2): 3, (1, 2): 3, (2, 0): 3, (3, 0): 3}
    few = {(0, 1): 30, (1, 0): 30, (2, 3): 30, (3, 2): 30}
    assert swapped(CHOSEN, labelled(few | rest), DOUBT, 4) is None
    labels = labelled({(0, 1): 40, (1, 0): 40, (2, 3): 40, (3, 2): 30} | rest)
    labels[100:200] = 3  # doubtful images have no say
    found = swapped(CHOSEN, labels, DOUBT, 4)
    assert found is not None
    assert np.argwhere(found).tolist() == [[0, 1], [1, 0], [2, 3]]


@pytest.mark.parametrize("others", [26, 27])
def test_pairs_hold_most_of_the_mistakes_or_count_for_nothing(others: int) -> None:
    """80 of 132 mistakes are 61 %, 80 of 134 are 59.7 %."""
    found = swapped(CHOSEN, labelled({(0, 1): 80, (2, 0): others, (2, 1): others}), DOUBT, 4)
    assert (found is None) == (others == 27)


def test_right_labels_are_in_no_pairs() -> None:
    assert swapped(CHOSEN, CHOSEN, DOUBT, 4) is None
    assert swapped(np.zeros(0, int), np.zeros(0, int), np.zeros(0), 4) is None
    assert swapped(np.zeros(9, int), np.zeros(9, int), np.zeros(9), 1) is None


def test_a_spread_is_fitted_to_swapped_pairs_alone() -> None:
    """8,000 images of six classes, 5 % of the labels of four of them swapped in pairs: what else is wrong is even."""
    generator, rows = np.random.default_rng(0), np.arange(8_000)
    shown = softmax(10 * generator.normal(size=(len(rows), 6)))
    truth = (softmax(1.6 * np.log(shown)).cumsum(1) < generator.random((len(rows), 1))).sum(1).clip(0, 5)
    labels, hit = truth.copy(), (truth > 1) & (generator.random(len(rows)) < 0.05)
    labels[hit] = truth[hit] ^ 1
    model = fit_noise(Witnesses(shown, shown, labels, None, beliefs=True), seed=0).model
    assert np.argwhere(model.pairs).tolist() == [[2, 3], [3, 2], [4, 5], [5, 4]]
    spread = model.spread()
    assert spread[model.pairs].min() > 0.8
    rest = ~model.pairs & ~np.eye(6, dtype=bool)
    for row, even in zip(spread, rest, strict=True):
        assert row[even].max() / row[even].min() < 1.01
