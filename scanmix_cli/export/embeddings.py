"""Embeddings for other tools: one array, and the same with names and labels as a Parquet table."""

from pathlib import Path

import numpy as np

from scanmix_cli.export.content import Content
from scanmix_cli.files import write_file

ARRAY, TABLE = "embeddings.npy", "embeddings.parquet"


def write(folder: Path, content: Content) -> None:
    """embeddings.npy float32 (N, D), row k being line k of manifest.csv; embeddings.parquet with a list column."""
    import pyarrow
    import pyarrow.parquet

    values = content.values
    assert values is not None
    write_file(folder / ARRAY, lambda file: np.save(file, values))
    flat = pyarrow.array(values.reshape(-1))
    columns = {
        "row": pyarrow.array([item.row for item in content.items], pyarrow.int64()),
        "filename": pyarrow.array([item.filename for item in content.items], pyarrow.string()),
        "label": pyarrow.array([item.label for item in content.items], pyarrow.string()),
        "embedding": pyarrow.FixedSizeListArray.from_arrays(flat, values.shape[1]),
    }
    table = pyarrow.table(columns)
    write_file(folder / TABLE, lambda file: pyarrow.parquet.write_table(table, file))
