"""Learning rates over a stage, and the cutting of a stage's images into batches."""

from dataclasses import replace

import pytest
import torch
from toy_runs import toy_context, toy_images

from scanmix_cli.errors import RunError
from scanmix_cli.method.learner import semi_rate
from scanmix_cli.method.losses import cosine_rate
from scanmix_cli.method.networks import contrastive_net, fixed_order, set_rate, sgd
from scanmix_cli.method.settings import ContrastiveSettings, MixMatchSettings
from scanmix_cli.method.simclr import train_simclr


def test_cosine_falls_from_the_rate_to_its_final_share() -> None:
    assert cosine_rate(0.4, 0.001, 0.0) == pytest.approx(0.4)
    assert cosine_rate(0.4, 0.001, 0.5) == pytest.approx((0.4 + 0.0004) / 2)
    assert cosine_rate(0.4, 0.001, 1.0) == pytest.approx(0.0004)
    assert cosine_rate(0.4, 0.0, 0.25) == pytest.approx(0.2 * (1 + 2**-0.5))


def test_semi_supervised_rate_is_divided_by_ten_at_each_drop() -> None:
    settings = replace(MixMatchSettings(), learning_rate=0.02, rate_drops=(200, 250))
    rates = [semi_rate(settings, epoch) for epoch in (0, 199.9, 200, 249, 250, 400)]
    assert rates == pytest.approx([0.02, 0.02, 0.002, 0.002, 0.0002, 0.0002])
    assert semi_rate(replace(settings, rate_drops=()), 1000) == 0.02


def test_a_new_rate_reaches_every_parameter_group() -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = sgd([parameter], 0.5, 0.0, 0.0, toy_context())
    set_rate(optimizer, 0.25)
    parameter.sum().backward()
    optimizer.step()
    assert parameter.tolist() == [0.75, 0.75]


def test_a_rate_kept_as_a_tensor_is_changed_in_place() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=torch.tensor(0.5))
    kept = optimizer.param_groups[0]["lr"]
    set_rate(optimizer, 0.25)
    assert optimizer.param_groups[0]["lr"] is kept
    assert kept.item() == 0.25


def test_batches_are_full_and_the_remainder_is_dropped() -> None:
    rows = torch.arange(100, 110)
    assert fixed_order(rows, 4).tolist() == [[100, 101, 102, 103], [104, 105, 106, 107]]
    assert fixed_order(rows, 3).shape == (3, 3), "a last batch of one is dropped"
    assert fixed_order(rows, 64).tolist() == [rows.tolist()], "a short set makes one batch"


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_images_end_the_run_with_a_sentence(count: int) -> None:
    with pytest.raises(RunError, match="fewer than two images to train on; add images and run again"):
        fixed_order(torch.arange(count), 64)


def test_contrastive_rate_rises_over_the_first_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []
    monkeypatch.setattr("scanmix_cli.method.simclr.set_rate", lambda optimizer, rate: rates.append(rate))
    images, context = toy_images(32), toy_context()
    settings = ContrastiveSettings(epochs=2, batch_size=8, learning_rate=0.4, final_rate_share=1.0, rising_steps=5)
    train_simclr(contrastive_net("small", context), images, settings, context)
    assert rates == pytest.approx([0.08, 0.16, 0.24, 0.32, 0.4, 0.4, 0.4, 0.4])
