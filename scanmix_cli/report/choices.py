"""What somebody decided about one row, and which row of a run a file name means."""

from collections.abc import Sequence
from dataclasses import dataclass

from scanmix_cli.errors import DataError
from scanmix_cli.evidence.verdicts import DROP, KEEP, RELABEL

LONGEST_NUMBER = 18  # digits of a row number; Python refuses to read thousands of them
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
    """Finds the row of a run that a file name, or a row number and a file name, mean.

    Of several rows with the name it is the one that the number tells, else the only one that is trained on.
    """

    def __init__(self, filenames: Sequence[str], training: Sequence[bool] = ()) -> None:
        self._training = training
        self._rows: dict[str, list[int]] = {}
        for row, name in enumerate(filenames):
            self._rows.setdefault(name, []).append(row)

    def find(self, name: str, number: str = "") -> int | None:
        """The row, None where no row fits or several do."""
        rows = self.find_all(name, number)
        return rows[0] if len(rows) == 1 else None

    def find_all(self, name: str, number: str = "") -> list[int]:
        """All rows that may be meant."""
        rows = named_by_number(self.named(name), number)
        trained = [row for row in rows if self._training[row]] if len(rows) > 1 and self._training else []
        return trained if len(trained) == 1 else rows

    def named(self, name: str) -> list[int]:
        """All rows of that name."""
        return self._rows.get(name, [])


@dataclass
class Unfound:
    """How many names of a table mean no image of a run, how many mean several, and the first of these."""

    foreign: int = 0
    repeated: int = 0
    such: str = ""

    def only(self, rows: Sequence[int], name: str) -> int | None:
        """The row that a name means; None, which is counted, where it means none or several."""
        if len(rows) == 1:
            return rows[0]
        if rows:
            self.repeated += 1
            self.such = self.such or name
        else:
            self.foreign += 1
        return None


def named_by_number(rows: list[int], number: str) -> list[int]:
    """Of the rows that a name may mean the one with the number, all where none has it."""
    told = int(number) if number.isdecimal() and len(number) <= LONGEST_NUMBER else -1
    return [told] if told in rows else rows
