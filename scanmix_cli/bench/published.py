"""Published results: the paper's tables and the record holders, as data with sources (`published.json`)."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

FILE = "published.json"


@dataclass(frozen=True)
class PublishedRow:
    """One published cell. Accuracies are in percent as printed; `rate` is nominal, None where the noise has none.

    `best` is the highest accuracy of all epochs or the one number of the table, `last` the mean of the final ten
    epochs. Rows about finding errors have F1 and AUROC in 0..1 instead.
    """

    table: str
    dataset: str
    noise: str
    rate: float | None
    method: str
    best: float | None
    last: float | None
    source: str
    test: str = ""  # where a set has more than one test part
    metric: str = "top1"
    f1: float | None = None
    best_f1: float | None = None
    auroc: float | None = None


@cache
def published_rows() -> tuple[PublishedRow, ...]:
    """All rows of `published.json`, table by table."""
    text = files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return tuple(PublishedRow(**row) for row in json.loads(text))


def rows_for(dataset: str, noise: str, rate: float | None) -> list[PublishedRow]:
    """Rows for the same data, noise and nominal rate."""
    return [row for row in published_rows() if (row.dataset, row.noise, row.rate) == (dataset, noise, rate)]
