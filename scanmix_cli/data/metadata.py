"""A folder that brings its own table of labels, as Hugging Face's `imagefolder` reads it."""

import os
from pathlib import Path

from scanmix_cli.data.columns import has_label_column, has_split_column
from scanmix_cli.data.folders import (
    class_names,
    class_rows,
    has_classes,
    read_folder,
    split_folders,
    split_name,
    without_classes,
)
from scanmix_cli.data.held_out import hold_out_splits, true_places
from scanmix_cli.data.listing import list_images, sub_folders
from scanmix_cli.data.rows import Rows, is_known_split, is_train_name
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.table_rows import TableOptions, open_table, table_rows
from scanmix_cli.data.tables import Table

METADATA_NAMES = ("metadata.csv", "metadata.jsonl", "metadata.parquet")


def read_described_folder(folder: Path, options: TableOptions, leave_out: Path | None = None) -> list[Rows] | None:
    """Rows by `metadata.csv` in the folder or in its split folders, None where there is none.

    A metadata table without labels leaves them to the class folders, and so does a split folder without a table. Images
    of the folder `leave_out` have rows only where a table names them.
    """
    if metadata := _metadata(folder):
        table = open_table(metadata, options)
        if has_label_column(table, options.label_column) or not has_classes(folder):
            return [_described(folder, table, options, leave_out)]
        rows = read_folder(folder, leave_out)
        rows.warnings.append(_without_labels(metadata.name))
        return [rows]
    images, _ = list_images(folder, leave_out)
    folders = sub_folders(folder, leave_out)
    with_table = [name for name in folders if is_known_split(name) and _metadata(folder / name)]
    train = any(map(is_train_name, with_table))
    splits = list(filter(is_known_split, folders)) if train else split_folders(folders, images)
    return _split_rows(folder, images, splits, options) if splits and with_table else None


def _metadata(folder: Path) -> Path | None:
    return next((folder / name for name in METADATA_NAMES if (folder / name).is_file()), None)


def _without_labels(name: str) -> str:
    return f"{name} has no label column; labels are the folder names."


def _described(folder: Path, table: Table, options: TableOptions, leave_out: Path | None) -> Rows:
    """Rows of a table that lies in the folder of its images."""
    images, _ = list_images(folder, leave_out)
    rows = table_rows(table, options)
    if not has_split_column(table, options.split_column):
        hold_out_splits([rows], folder, images, leave_out)
    _leave_out_unnamed(rows, folder, images, table.path.name)
    return rows


def _leave_out_unnamed(rows: Rows, folder: Path, images: list[str], table: str) -> None:
    named = set(true_places(rows.paths))
    places = true_places([f"{folder.absolute()}/{name}" for name in images])
    unnamed = [name for name, place in zip(images, places, strict=True) if place not in named]
    rows.leave_out(unnamed, f"{table} does not name them", f"images without a row in {table}")


def _split_rows(folder: Path, images: list[str], splits: list[str], options: TableOptions) -> list[Rows]:
    """Rows of each split by its table, then those of the splits without labels in one by their class folders."""
    described, warnings = [], []
    plain = list(splits)
    for split in splits:
        metadata = _metadata(folder / split)
        if metadata is None:
            continue
        table, name = open_table(metadata, options), f"{split}/{metadata.name}"
        if not has_label_column(table, options.label_column) and has_classes(folder / split):
            warnings.append(_without_labels(name))
            continue
        rows = _of_split(folder, split, table, options)
        _leave_out_unnamed(rows, folder, [image for image in images if image.startswith(f"{split}/")], name)
        described.append(rows)
        plain.remove(split)
    elsewhere = [name for name in images if name.split("/", 1)[0] in plain or name.split("/", 1)[0] not in splits]
    rest = class_rows(folder, elsewhere, splits)
    rest.classes = class_names(folder, plain)
    rest.warnings += warnings
    if all(TRAIN not in rows.splits for rows in (*described, rest)):
        raise without_classes(folder, splits, images)
    return [*described, rest]


def _of_split(folder: Path, split: str, table: Table, options: TableOptions) -> Rows:
    """Rows of one split folder; file names start with the split, so that they are told apart and found."""
    rows = table_rows(table, options)
    if options.root is None:
        rows.root = folder
        rows.filenames = [f"{split}/{name}" if name and not os.path.isabs(name) else name for name in rows.filenames]
    rows.splits = [split_name(split)] * len(rows)
    return rows
