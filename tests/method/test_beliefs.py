"""The E-step of the belief loop, worked out by hand."""

from math import exp, sqrt

import pytest
import torch

from scanmix_cli.method import beliefs

EVEN = torch.tensor([0.5, 0.5])


def rows(*values: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(values)


def test_unlabelled_images_have_no_vote() -> None:
    given = beliefs.soft_labels(torch.tensor([1, -1]), 2)
    assert given.tolist() == [[0, 1], [0, 0]]
    assert beliefs.neighbor_mean(given, torch.tensor([[1, 1], [0, 1]])).tolist() == [[0, 0], [0, 0.5]]


def test_class_prior_lies_between_even_and_given_shares() -> None:
    labels = torch.tensor([0] * 15 + [1] * 3 + [-1] * 100)  # with one more each: 16 and 4
    torch.testing.assert_close(beliefs.class_prior(labels, 2), torch.tensor([4 / 6, 2 / 6]))


def test_balance_scales_columns_to_the_prior() -> None:
    # Column means .6 and .2, so columns are scaled by 5/6 and 5/2.
    values = rows((0.9, 0.1), (0.3, 0.3))
    expected = rows((0.75 / 1.0, 0.25 / 1.0), (0.25 / 1.0, 0.75 / 1.0))
    torch.testing.assert_close(beliefs.balance(values, EVEN), expected, rtol=1e-5, atol=1e-6)


def test_balance_gives_the_prior_where_nothing_is_known() -> None:
    prior = torch.tensor([0.8, 0.2])
    assert beliefs.balance(torch.zeros(3, 2), prior).tolist() == [pytest.approx([0.8, 0.2])] * 3


def test_votes_of_one_round() -> None:
    # Two pairs of images that are each other's neighbours, and one image that asks both pairs.
    labels = torch.tensor([0, 0, 1, 1, -1])
    neighbors = torch.tensor([[1, 1], [0, 0], [3, 3], [2, 2], [0, 2]])
    result = beliefs.votes(beliefs.soft_labels(labels, 2), neighbors, EVEN, rounds=1)
    torch.testing.assert_close(result, rows((1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (0.5, 0.5)))


def test_passing_votes_on_mends_weak_ones() -> None:
    # Two groups of 100 with 70 % of labels drawn anew: three neighbours alone are often wrong, not after rounds.
    generator = torch.Generator().manual_seed(0)
    truth = torch.arange(200) // 100
    drawn = torch.randint(0, 2, (200,), generator=generator)
    labels = torch.where(torch.rand(200, generator=generator) < 0.7, drawn, truth)
    neighbors = torch.randint(0, 100, (200, 3), generator=generator) + 100 * truth.unsqueeze(1)
    given = beliefs.soft_labels(labels, 2)
    right = [
        (beliefs.votes(given, neighbors, EVEN, rounds).argmax(1) == truth).float().mean().item() for rounds in (0, 3)
    ]
    assert right[0] < 0.8
    assert right[1] > 0.9


def test_belief_is_the_geometric_mean_of_opinions() -> None:
    first, even = rows((0.8, 0.2), (0.2, 0.8)), rows((0.5, 0.5), (0.5, 0.5))
    torch.testing.assert_close(beliefs.believe([first, first], EVEN, 0.01), first, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(  # the roots of 0.8 and 0.2 are as 2 to 1
        beliefs.believe([first, even], EVEN, 0.01), rows((2 / 3, 1 / 3), (1 / 3, 2 / 3)), rtol=1e-4, atol=1e-5
    )


def test_no_opinion_alone_is_certain() -> None:
    belief = beliefs.believe([rows((1.0, 0.0), (0.0, 1.0))], EVEN, 0.01)
    torch.testing.assert_close(belief[0], torch.tensor([1 / 1.01, 0.01 / 1.01]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("floor", [0.01, 0.001])
def test_a_high_floor_leaves_few_wrong_labels_half_believed(floor: float) -> None:
    """Ten classes of 900 images, every belief certain and right, one label in 51 wrong, evenly."""
    truth = torch.arange(10).repeat(900)
    labels, wrong = truth.clone(), torch.arange(0, 9_000, 51)
    labels[wrong] = (truth[wrong] + 1 + torch.arange(len(wrong)) // 10 % 9) % 10
    even = torch.full((10,), 0.1)
    belief = beliefs.believe([torch.nn.functional.one_hot(truth, 10).float()], even, floor)
    posterior = beliefs.label_posterior(belief, labels, beliefs.counted_noise_matrix(belief, labels))
    low, high = floor / (1 + 9 * floor), 1 / (1 + 9 * floor)
    confused = (2 + 1 + 900 * low) / 900  # two wrong labels of a kind, one assumed, and what the floor makes of 900
    expected = low * 0.98 / (low * 0.98 + high * confused)  # .42 and .18
    found = posterior[wrong].gather(1, labels[wrong].unsqueeze(1)).mean().item()
    assert found == pytest.approx(expected, abs=0.04)


def test_noise_matrix_counts_by_belief() -> None:
    labels = torch.tensor([0, 0, 0, 1, -1])
    belief = rows((1.0, 0.0), (1.0, 0.0), (0.5, 0.5), (0.0, 1.0), (1.0, 0.0))
    # Class 0: 2.5 given 0 and none given 1, one more assumed of each; class 1: 0.5 and 1.
    torch.testing.assert_close(
        beliefs.counted_noise_matrix(belief, labels), rows((3.5 / 4.5, 1 / 4.5), (1.5 / 3.5, 2 / 3.5))
    )


def test_fitted_noise_matrix_tells_vague_beliefs_from_wrong_labels() -> None:
    """Beliefs of 0.7 in right labels: counting takes 30 % of the labels for wrong, fitting takes ever fewer."""
    labels = torch.arange(2).repeat_interleave(10_000)
    other = torch.arange(10_000) % 10 < 3  # as often as the beliefs say
    first = torch.where(other, 0.3, 0.7)
    belief = torch.stack([torch.cat([first, 1 - first]), torch.cat([1 - first, first])], 1)
    counted = beliefs.fitted_noise_matrix(belief, labels, 0)
    torch.testing.assert_close(counted, rows((0.58, 0.42), (0.42, 0.58)), rtol=0, atol=1e-3)  # 0.7 ** 2 + 0.3 ** 2
    assert torch.equal(counted, beliefs.counted_noise_matrix(belief, labels))
    once = beliefs.fitted_noise_matrix(belief, labels, 1)
    # Given 0 and believed 0.7: 0.7 * 0.58 of 0.7 * 0.58 + 0.3 * 0.42 = 0.7632; believed 0.3: 0.3718.
    share = 0.7 * 0.7632 + 0.3 * 0.3718
    torch.testing.assert_close(once, rows((share, 1 - share), (1 - share, share)), rtol=0, atol=1e-3)
    assert beliefs.fitted_noise_matrix(belief, labels, 200)[0, 0] > 0.95


def test_fitting_leaves_the_matrix_of_sure_beliefs_alone() -> None:
    labels = torch.tensor([0, 0, 0, 1, 1])
    belief = rows((1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0))
    torch.testing.assert_close(
        beliefs.fitted_noise_matrix(belief, labels, 10), beliefs.counted_noise_matrix(belief, labels)
    )


def test_vague_beliefs_heed_the_even_share_of_labels() -> None:
    """Half the labels are drawn evenly from four classes; beliefs are as sure as labels are right, so that fitting
    alone finds nothing wrong."""
    labels = torch.arange(4).repeat(4000)
    wrong = torch.arange(16_000) // 4 % 8 < 3  # 3/8 named wrongly: half of the labels drawn, a quarter of these right
    truth = torch.where(wrong, (labels + 1 + torch.arange(16_000) // 32 % 3) % 4, labels)
    belief = torch.full((16_000, 4), 0.125)
    belief[torch.arange(16_000), truth] = 0.625
    assert beliefs.fitted_noise_matrix(belief, labels, 100).diagonal().min() > 0.9
    matrix = beliefs.even_noise_matrix(belief, labels, 0.5, 100)
    torch.testing.assert_close(matrix.sum(1), torch.ones(4))
    assert matrix.min() >= 0.5 / 4
    torch.testing.assert_close(matrix.diagonal(), torch.full((4,), 0.625), rtol=0, atol=0.02)


def test_a_fit_of_the_even_noise_matrix_by_hand() -> None:
    labels = torch.tensor([0, 0, 1])
    belief = rows((1.0, 0.0), (1.0, 0.0), (0.0, 1.0))
    # Counted: (3, 1) / 4 and (1, 2) / 3. Of a label 0 of class 0 the chance that it is none of the even half is
    # 0.375 / (0.375 + 0.25) = 0.6, of a label 1 of class 1 it is (1 / 3) / (1 / 3 + 0.25) = 4 / 7; half an image more
    # in every cell: (1.7, 0.5) / 2.2 and (0.5, 15 / 14) / (11 / 7).
    others = rows((1.7 / 2.2, 0.5 / 2.2), (7 / 22, 15 / 22))
    torch.testing.assert_close(beliefs.even_noise_matrix(belief, labels, 0.5, 1), 0.5 * others + 0.25)


def test_tempering_makes_beliefs_surer_or_vaguer() -> None:
    torch.testing.assert_close(beliefs.tempered(rows((0.8, 0.2)), 0.5), rows((2 / 3, 1 / 3)))
    torch.testing.assert_close(beliefs.tempered(rows((0.8, 0.2)), 2.0), rows((16 / 17, 1 / 17)))


def test_posterior_weighs_the_given_label_by_the_noise_matrix() -> None:
    matrix = rows((0.9, 0.1), (0.4, 0.6))  # class 1 is often called 0
    belief = rows((0.5, 0.5), (0.5, 0.5), (0.3, 0.7))
    posterior = beliefs.label_posterior(belief, torch.tensor([0, 1, -1]), matrix)
    torch.testing.assert_close(posterior, rows((9 / 13, 4 / 13), (1 / 7, 6 / 7), (0.3, 0.7)))


def test_labels_say_nothing_when_they_are_drawn_at_random() -> None:
    belief = rows((0.7, 0.3), (0.2, 0.8))
    posterior = beliefs.label_posterior(belief, torch.tensor([1, 0]), rows((0.5, 0.5), (0.5, 0.5)))
    torch.testing.assert_close(posterior, belief)


def test_confidence_weight_falls_below_the_mean_of_the_class() -> None:
    # Class 0: mean 0.7, standard deviation 0.1, so 0.6 lies two half deviations below; class 1 has a bar of its own.
    weights = beliefs.confidence_weight(rows((0.6, 0.4), (0.8, 0.2), (0.45, 0.55), (0.35, 0.65)))
    assert weights.tolist() == pytest.approx([exp(-2), 1, exp(-2), 1], rel=1e-4)


def test_confidence_weight_of_equals_is_one() -> None:
    assert beliefs.confidence_weight(rows((0.7, 0.3, 0.0), (0.7, 0.0, 0.3))).tolist() == pytest.approx([1, 1], rel=1e-4)


def test_ridge_head_finds_a_linear_map() -> None:
    features = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    weights, bias = rows((1.0, 2.0, 0.0), (0.0, -1.0, 1.0)), torch.tensor([0.5, -0.5])
    found = beliefs.ridge_head(features, features @ weights.T + bias, strength=1e-6)
    torch.testing.assert_close(found[0], weights, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found[1], bias, rtol=1e-3, atol=1e-3)


def test_ridge_head_shrinks() -> None:
    # One feature, values -1 and 1: slope = sum(x t) / (sum(x^2) + strength * sum(x^2)).
    weights, bias = beliefs.ridge_head(rows((-1.0,), (1.0,)), rows((0.0,), (2.0,)), strength=1.0)
    assert weights.item() == pytest.approx(0.5)
    assert bias.item() == pytest.approx(1.0)


def test_prior_of_equal_counts_is_even() -> None:
    assert beliefs.class_prior(torch.tensor([0, 1]), 2).tolist() == pytest.approx([sqrt(2) / sqrt(8)] * 2)
