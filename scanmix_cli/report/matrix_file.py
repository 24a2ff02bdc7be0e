"""`noise_matrix.csv`: a table of classes by classes, or a list of its entries where there are many classes; and
`noise_intervals.csv` beside the table."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from scanmix_cli.errors import DataError
from scanmix_cli.evidence.noise_matrix import share_intervals

NOISE_MATRIX, NOISE_INTERVALS = "noise_matrix.csv", "noise_intervals.csv"
TABLE_CLASSES = 500  # above that a list: the table grows with their square, the list with what is confused
LEAST = 0.0005  # share off the diagonal that the list names
LISTED = ("true_label", "given_label", "probability")


def matrix_table(matrix: np.ndarray, classes: Sequence[str]) -> pd.DataFrame:
    """First column the true class, then a column per given class; rows and columns in class order.

    Above TABLE_CLASSES classes the columns LISTED instead: a row for every class as itself and for each entry of LEAST
    or more off the diagonal, by true class, then by given class.
    """
    names = np.array(classes, dtype=object)
    if len(names) <= TABLE_CLASSES:
        table = pd.DataFrame({"true_label": pd.Series(list(classes), dtype=object)})
        # built by position: classes may bear any name, also that of the first column
        values = pd.DataFrame(matrix)
        values.columns = pd.Index(list(classes), dtype=object)
        return pd.concat([table, values], axis=1)
    true, given = np.nonzero((matrix >= LEAST) | np.eye(len(names), dtype=bool))
    columns = (names[true], names[given], matrix[true, given])
    return pd.DataFrame(dict(zip(LISTED, columns, strict=True)))


def intervals_table(matrix: np.ndarray, images: np.ndarray, classes: Sequence[str]) -> pd.DataFrame | None:
    """A row for every pair of classes, by true class, then by given class: the columns LISTED, and `low` and `high`,
    the ends of the 90 % interval; None above TABLE_CLASSES classes. images float64 (C,): as in `share_intervals`."""
    names = np.array(classes, dtype=object)
    if len(names) > TABLE_CLASSES:
        return None
    ends = (matrix, *share_intervals(matrix, images))
    columns = (np.repeat(names, len(names)), np.tile(names, len(names)), *(numbers.ravel() for numbers in ends))
    return pd.DataFrame(dict(zip((*LISTED, "low", "high"), columns, strict=True)))


def read_noise_matrix(run_dir: Path) -> np.ndarray | csr_array:
    """float64 (C, C) of a run folder, sparse where it was written as a list; DataError where the file is missing or
    broken."""
    path = run_dir / NOISE_MATRIX
    try:
        table = pd.read_csv(path, dtype=object, na_filter=False, encoding_errors="surrogateescape")
        if tuple(table.columns) != LISTED or len(table) <= TABLE_CLASSES:
            return table.iloc[:, 1:].to_numpy().astype(np.float64)
        true, given = table["true_label"].to_numpy(), table["given_label"].to_numpy()
        number = {name: k for k, name in enumerate(true[true == given])}
        places = [[number[name] for name in names] for names in (true, given)]
        values = table["probability"].to_numpy().astype(np.float64)
        return csr_array((values, tuple(places)), (len(number), len(number)))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} cannot be read: name the folder of a finished run with `--run`") from error
