"""A time budget shortens schedules; the clock is a toy."""

import pytest

from scanmix_cli.engine.budget import Budget


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run(budget: Budget, clock: Clock, planned: int, *seconds: float) -> int:
    """Epochs a stage ends with when its epochs take the given seconds, the last of them over and over."""
    finished, total = 0, planned
    while finished < total:
        clock.now += seconds[min(finished, len(seconds) - 1)]
        finished += 1
        total = budget.epochs(finished, planned)
    return finished


def test_without_a_budget_schedules_stay_as_planned(clock: Clock) -> None:
    budget = Budget(None, {"scan": 1.0}, clock)
    budget.start("scan")
    assert run(budget, clock, 7, 1e6) == 7


def test_enough_time_leaves_the_schedule_alone(clock: Clock) -> None:
    budget = Budget(100.0, {"scan": 1.0}, clock)
    budget.start("scan")
    assert run(budget, clock, 10, 9.0) == 10


def test_a_stage_ends_within_its_share(clock: Clock) -> None:
    budget = Budget(100.0, {"simclr": 3.0, "scanmix": 1.0}, clock)
    budget.start("simclr")
    assert run(budget, clock, 1000, 5.0) == 15
    assert clock.now == 100 + 75
    budget.start("scanmix")
    assert run(budget, clock, 1000, 2.0) == 12
    assert clock.now <= 100 + 100


def test_what_a_stage_leaves_over_goes_to_those_after_it(clock: Clock) -> None:
    budget = Budget(100.0, {"warmup": 1.0, "scanmix": 1.0}, clock)
    budget.start("warmup")
    assert run(budget, clock, 2, 5.0) == 2
    budget.start("scanmix")
    assert run(budget, clock, 1000, 10.0) == 9


def test_a_slow_first_epoch_does_not_shorten_the_schedule_by_itself(clock: Clock) -> None:
    budget = Budget(100.0, {"simclr": 1.0}, clock)
    budget.start("simclr")
    assert run(budget, clock, 60, 41.0, 1.0) == 60


@pytest.mark.parametrize(("left", "share"), [(0.0, 1.0), (1.0, 1.0), (100.0, 0.0)])
def test_every_stage_gets_one_epoch(clock: Clock, left: float, share: float) -> None:
    budget = Budget(left, {"scan": share, "scanmix": 1.0}, clock)
    budget.start("scan")
    assert run(budget, clock, 50, 10.0) == 1


def test_a_stage_unknown_to_the_shares_gets_what_is_left_when_there_are_none(clock: Clock) -> None:
    budget = Budget(50.0, {}, clock)
    budget.start("elr")
    assert run(budget, clock, 1000, 5.0) == 10


def test_the_shares_given_are_left_alone(clock: Clock) -> None:
    shares = {"scan": 1.0}
    Budget(10.0, shares, clock).start("scan")
    assert shares == {"scan": 1.0}


@pytest.mark.parametrize(("planned", "expected"), [(32, 8), (5, 5)])
def test_the_least_epochs_of_a_stage_are_kept_however_late_it_is(clock: Clock, planned: int, expected: int) -> None:
    budget = Budget(0.0, {"warmup": 1.0, "scanmix": 1.0}, clock, least={"scanmix": 8})
    budget.start("warmup")
    assert run(budget, clock, 10, 10.0) == 1
    budget.start("scanmix")
    assert run(budget, clock, planned, 10.0) == expected


def test_compiling_and_recording_are_no_measure_of_the_epochs_to_come(clock: Clock) -> None:
    """SCAN has 20 of 100 s; 30 s of preparation are not of its share, and the last stage pays for them."""
    budget = Budget(100.0, {"scan": 1.0, "scanmix": 4.0}, clock)
    budget.start("scan")
    clock.now += 31.0
    assert budget.epochs(1, 50, preparation=30.0) == 50
    clock.now += 1.0
    assert budget.epochs(2, 50, preparation=30.0) == 20
    clock.now += 18.0
    assert budget.epochs(20, 50, preparation=30.0) == 20
    budget.start("scanmix")
    assert run(budget, clock, 1000, 5.0) == 10
    assert clock.now == 100 + 100
