"""What decoding found out about every row, apart from the pixels."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scanmix_cli.data.prints import LENGTH


@dataclass
class Records:
    """One entry a row in `source_sizes`, `kinds` and `prints`, zero where the row is bad; errors and remarks by row."""

    source_sizes: np.ndarray  # int32 (rows, 2)
    kinds: np.ndarray  # uint16 (rows,): 0 where unreadable, else 1 + index into kind_names
    prints: np.ndarray  # uint8 (rows, prints.LENGTH)
    kind_names: list[str] = field(default_factory=list)
    bad: dict[int, tuple[str, str]] = field(default_factory=dict)  # code and message
    remarks: dict[int, list[str]] = field(default_factory=dict)  # what image libraries complained of

    @classmethod
    def empty(cls, rows: int) -> "Records":
        return cls(np.zeros((rows, 2), np.int32), np.zeros(rows, np.uint16), np.zeros((rows, LENGTH), np.uint8))

    def __len__(self) -> int:
        return len(self.kinds)

    def first(self, rows: int) -> "Records":
        """Of the first `rows` rows alone; arrays are shared."""
        bad = {row: error for row, error in self.bad.items() if row < rows}
        remarks = {row: said for row, said in self.remarks.items() if row < rows}
        return Records(
            self.source_sizes[:rows], self.kinds[:rows], self.prints[:rows], list(self.kind_names), bad, remarks
        )

    def extended(self, rows: int) -> "Records":
        """With nothing known yet of the rows that are added up to `rows`."""
        more = Records.empty(rows - len(self))
        sizes = np.concatenate([self.source_sizes, more.source_sizes])
        kinds, prints = np.concatenate([self.kinds, more.kinds]), np.concatenate([self.prints, more.prints])
        return Records(sizes, kinds, prints, list(self.kind_names), dict(self.bad), dict(self.remarks))

    def set_kind(self, row: int, name: str) -> None:
        """Remember the row's file format and pixel mode."""
        if name not in self.kind_names:
            self.kind_names.append(name)
        self.kinds[row] = self.kind_names.index(name) + 1

    def kind(self, row: int) -> str:
        """File format and pixel mode of a readable row."""
        return self.kind_names[self.kinds[row] - 1]

    def kind_counts(self) -> dict[str, int]:
        """Readable rows of each file format and pixel mode, the commonest first."""
        counts = np.bincount(self.kinds, minlength=len(self.kind_names) + 1)[1:].tolist()
        return _by_count(dict(zip(self.kind_names, counts, strict=True)))

    def complaints(self) -> dict[str, int]:
        """How often each remark was made, the commonest first."""
        return _by_count(Counter(remark for remarks in self.remarks.values() for remark in remarks))

    def is_readable(self) -> np.ndarray:
        """bool (rows,)."""
        readable = np.ones(len(self), bool)
        readable[list(self.bad)] = False
        return readable

    def arrays(self) -> dict[str, Any]:
        """What to save with NumPy; `notes` has the rest."""
        return {"source_sizes": self.source_sizes, "kinds": self.kinds, "prints": self.prints}

    def notes(self) -> dict[str, Any]:
        """What to save as JSON."""
        return {
            "kind_names": self.kind_names,
            "bad": [[row, *error] for row, error in self.bad.items()],
            "remarks": list(self.remarks.items()),
        }

    @classmethod
    def load(cls, arrays: dict[str, np.ndarray], notes: dict[str, Any]) -> "Records":
        """From what was saved; raises KeyError, TypeError or ValueError where it is damaged."""
        bad = {row: (code, message) for row, code, message in notes["bad"]}
        remarks = dict(notes["remarks"])
        sizes, kinds, prints = arrays["source_sizes"], arrays["kinds"], arrays["prints"]
        if kinds.max(initial=0) > len(notes["kind_names"]):
            raise ValueError("kinds without a name")
        return cls(sizes, kinds, prints, list(notes["kind_names"]), bad, remarks)


def _by_count(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
