"""What somebody decided about one row, and which row of a run a file name means."""

from collections.abc import Sequence
from dataclasses import dataclass

from scanmix_cli.errors import DataError
from scanmix_cli.evidence.verdicts import DROP, KEEP, RELABEL

UNSURE = "unsure"
KINDS = (KEEP, RELABEL, DROP, UNSURE)
CLEANLAB = "cleanlab"
TOOLS = (CLEANLAB,)  # sources whose decisions no person made


def problem(decision: str, label: str) -> str:
    """What is wrong with a decision and its label, "" where nothing is."""
    if decision not in KINDS:
        return f"decision '{decision}' is unknown; use one of {', '.join(KINDS)}"
    if (decision == RELABEL) != bool(label):
        needs = "needs a label" if decision == RELABEL else "takes no label"
        return f"decision '{decision}' {needs}; mend that row"
    return ""


@dataclass(frozen=True)
class Origin:
    """Who decided and where; "" where a table does not say. `entry` is the number of the decision in its log."""

    who: str
    source: str
    entry: str = ""


@dataclass(frozen=True)
class Choice:
    """What is to be done with one row; `label` is the new label of a relabel and "" otherwise.

    origin: what a table says of it; None where whoever hands the choice over decided.
    """

    row: int
    filename: str
    decision: str
    label: str = ""
    origin: Origin | None = None

    def __post_init__(self) -> None:
        if wrong := problem(self.decision, self.label):
            raise DataError(f"row {self.row}: {wrong}")


class RowFinder:
    """Finds the row of a run that a file name, or a row number and a file name, mean."""

    def __init__(self, filenames: Sequence[str]) -> None:
        self._names = list(filenames)
        self._rows: dict[str, int | None] = {}
        for row, name in enumerate(self._names):
            self._rows[name] = None if name in self._rows else row  # named twice: only the number tells which

    def find(self, name: str, number: str = "") -> int | None:
        """The row, None where no row fits or several do."""
        if number.isdecimal() and int(number) < len(self._names) and self._names[int(number)] == name:
            return int(number)
        return self._rows.get(name)
