"""A time budget shared out over the stages: schedules shrink so that the run ends in time."""

import time
from collections.abc import Callable, Mapping


class Budget:
    """Seconds for the whole run and each stage's share of what is left when it starts.

    With `seconds=None` there is no limit and schedules stay as planned. `least`: epochs of a stage that are not cut
    however late it is; 1 where nothing is said.
    """

    def __init__(
        self,
        seconds: float | None,
        shares: Mapping[str, float],
        clock: Callable[[], float] = time.monotonic,
        least: Mapping[str, int] | None = None,
    ) -> None:
        self.shares, self.clock = dict(shares), clock
        self.least, self.stage_least = dict(least or {}), 1
        self.end = None if seconds is None else clock() + seconds
        self.stage_began, self.stage_seconds, self.first_epoch = clock(), 0.0, 0.0

    def start(self, stage: str) -> None:
        """A stage begins: it may use its share of the time left, weighed against the stages still to come."""
        self.stage_began, self.stage_least = self.clock(), self.least.get(stage, 1)
        if self.end is None:
            return
        left = max(self.end - self.stage_began, 0.0)
        total = sum(self.shares.values())
        share = self.shares.pop(stage, 0.0)
        self.stage_seconds = left * share / total if total > 0 else left

    def epochs(self, finished: int, planned: int, preparation: float = 0.0) -> int:
        """How many epochs the current stage will have, its least at least, given those finished since it started.

        `preparation`: seconds of compiling and recording among those that it took. They are not of the stage's share,
        which may be too small for them, but of the whole. The first epoch is no measure of the others: where a second
        one like it still fits, the schedule stays as planned until that one is timed.
        """
        if self.end is None or finished == 0:
            return planned
        now = self.clock()
        elapsed = now - self.stage_began - preparation
        left = min(self.stage_seconds - elapsed, self.end - now)
        if finished == 1:
            self.first_epoch = elapsed
            return planned if elapsed <= left else min(planned, self.stage_least)
        later = (elapsed - self.first_epoch) / (finished - 1)
        affordable = finished + int(left / max(later, 1e-9))
        return min(planned, max(affordable, finished, self.stage_least))
