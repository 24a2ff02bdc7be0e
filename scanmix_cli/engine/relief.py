"""What a run had to give way in: smaller parts where memory was short, lower rates where numbers were not finite."""

SLOWER = 0.5  # the rate after a loss that is not finite, as a share of the one before
MOST_SLOWED = 2  # so often a stage goes back and tries with a lower rate


class Relief:
    """Per stage; kept in checkpoints, so that a resumed run does as the undisturbed one."""

    def __init__(self) -> None:
        self.parts: dict[str, int] = {}
        self.slowed: dict[str, int] = {}

    def scale(self, stage: str) -> float:
        """What the stage's learning rates are multiplied by."""
        return SLOWER ** self.slowed.get(stage, 0)

    def slow_down(self, stage: str) -> bool:
        """One more time; False where that has been done often enough."""
        count = self.slowed.get(stage, 0)
        if count >= MOST_SLOWED:
            return False
        self.slowed[stage] = count + 1
        return True

    def state_dict(self) -> dict:
        return {"parts": dict(self.parts), "slowed": dict(self.slowed)}

    def load_state_dict(self, state: dict) -> None:
        self.parts, self.slowed = dict(state["parts"]), dict(state["slowed"])
