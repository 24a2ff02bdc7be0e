"""A folder that brings its own table of labels, as Hugging Face's `imagefolder` reads it."""

from pathlib import Path

from scanmix_cli.data.columns import has_label_column
from scanmix_cli.data.folders import has_classes, read_folder
from scanmix_cli.data.listing import sub_folders
from scanmix_cli.data.rows import Rows, is_known_split, is_train_name
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.table_rows import TableOptions, open_table, table_rows

METADATA_NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")


def read_described_folder(folder: Path, options: TableOptions) -> list[Rows] | None:
    """Rows by `metadata.csv` in the folder or in its split folders, None where there is none.

    A metadata table without labels leaves them to the class folders.
    """
    if metadata := _metadata(folder):
        table = open_table(metadata, options)
        if has_label_column(table, options.label_column) or not has_classes(folder):
            return [table_rows(table, options)]
        rows = read_folder(folder)
        rows.warnings.append(f"{metadata.name} has no label column; labels are the folder names.")
        return [rows]
    splits = [name for name in sub_folders(folder) if is_known_split(name) and _metadata(folder / name)]
    return [_split_rows(folder, name, options) for name in splits] if any(map(is_train_name, splits)) else None


def _metadata(folder: Path) -> Path | None:
    return next((folder / name for name in METADATA_NAMES if (folder / name).is_file()), None)


def _split_rows(folder: Path, split: str, options: TableOptions) -> Rows:
    """Rows of one split folder; file names start with the split, so that they are told apart."""
    metadata = _metadata(folder / split)
    assert metadata is not None
    rows = table_rows(open_table(metadata, options), options)
    rows.root = folder
    rows.filenames = [f"{split}/{name}" for name in rows.filenames]
    rows.splits = [TRAIN if is_train_name(split) else split] * len(rows)
    return rows
