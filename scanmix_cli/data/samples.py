"""The table of samples: one row per input row, in input order, from reading to the last output."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

TRAIN = "train"
UNLABELLED = -1


@dataclass(frozen=True)
class Samples:
    """What the user gave us, before any pixel is read.

    `table` has the text columns `filename` (as the user knows it), `path` (where to open it), `split`
    ("train", or the name of the held-out part: "val" or "test") and `given_label` ("" where unlabelled),
    then any further columns of the input. Rows are never dropped or moved.
    """

    name: str
    root: Path
    table: pd.DataFrame
    classes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    ignored: dict[str, int] = field(default_factory=dict)  # what was passed over, by kind, such as "*.txt"
    extra_columns: tuple[str, ...] = field(default=())
    tables: tuple[Path, ...] = ()  # that the labels were read from

    def __len__(self) -> int:
        return len(self.table)

    def label_ids(self) -> np.ndarray:
        """int64 (rows,): index into `classes`, `UNLABELLED` where the label is blank."""
        number_of = {name: number for number, name in enumerate(self.classes)}
        labels = self.table["given_label"].tolist()  # by hand, since pandas refuses names that are no valid Unicode
        return np.fromiter((number_of.get(label, UNLABELLED) for label in labels), np.int64, len(labels))

    def is_train(self) -> np.ndarray:
        """bool (rows,): rows that are cleaned; the others only measure accuracy."""
        return (self.table["split"] == TRAIN).to_numpy()

    def fingerprint(self) -> str:
        """sha256 over names, splits and labels in row order."""
        columns = (self.table[name] for name in ("filename", "split", "given_label"))
        text = "".join(f"{name}\0{split}\0{label}\n" for name, split, label in zip(*columns, strict=True))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
