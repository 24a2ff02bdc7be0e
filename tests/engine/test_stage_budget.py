"""How a time budget shortens a stage whose first epoch is slower than the others."""

from scanmix_cli.engine.budget import Budget


class Clock:
    """Seconds set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_slow_first_epoch_does_not_shorten_the_stage() -> None:
    clock = Clock()
    budget = Budget(120.0, {"simclr": 1.0}, clock)
    budget.start("simclr")
    clock.now = 40.0
    assert budget.epochs(1, 400) == 400
    clock.now = 42.0
    assert budget.epochs(2, 400) == 2 + 39
    clock.now = 50.0
    assert budget.epochs(6, 400) == 6 + 35


def test_a_stage_ends_where_no_further_epoch_fits() -> None:
    clock = Clock()
    budget = Budget(100.0, {"scan": 0.1, "scanmix": 0.9}, clock)
    budget.start("scan")
    clock.now = 6.0
    assert budget.epochs(1, 15) == 1
    budget.start("scanmix")
    clock.now = 50.0
    assert budget.epochs(1, 60) == 60
    clock.now = 99.0
    assert budget.epochs(2, 60) == 2
    clock.now = 150.0
    assert budget.epochs(3, 60) == 3
