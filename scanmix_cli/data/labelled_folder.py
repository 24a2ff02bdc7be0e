"""A folder of images whose labels stand in a table elsewhere (`--labels`)."""

import os
from pathlib import Path

from scanmix_cli.data.columns import has_split_column
from scanmix_cli.data.held_out import hold_out_splits
from scanmix_cli.data.listing import IMAGE_SUFFIXES, list_images
from scanmix_cli.data.rows import Rows
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.table_rows import TableOptions, resolve, unplaced_rows
from scanmix_cli.data.tables import Table
from scanmix_cli.data.wording import shown
from scanmix_cli.errors import DataError


def labelled_folder_rows(
    folder: Path, table: Table, options: TableOptions, leave_out: Path | None = None
) -> list[Rows]:
    """Rows of the table in table order, and the images of `folder` that it does not name, as unlabelled.

    Cells start at the folder, at `--root` or beside the table; they may leave out folders or the suffix where only one
    image fits. Images of the folder `leave_out` have rows only where the table names them.
    """
    images, ignored = list_images(folder, leave_out)
    if not images:
        raise DataError(f"{folder} holds no images; give the folder of the images that {table.path} names")
    every = images if leave_out is None else list_images(folder)[0]
    rows = unplaced_rows(table, options, options.root or folder)
    rows.paths = _places(rows.filenames, every, folder, options.root, table.path.parent)
    rows.ignored += ignored
    rest = _unnamed(folder, images, set(rows.paths))
    if len(rest):
        rows.warnings.append(
            f"{len(rest)} of {len(images)} images have no row in {table.path.name} and count as unlabelled, "
            f"such as {shown(rest.filenames[0])}."
        )
    hold_out_splits(
        [rest] if has_split_column(table, options.split_column) else [rows, rest], folder, images, leave_out
    )
    return [rows, rest]


def _unnamed(folder: Path, images: list[str], named: set[str]) -> Rows:
    """Unlabelled rows of the images that are not among the paths `named`."""
    base = f"{folder.absolute()}/"
    names = [name for name in images if base + name not in named]
    paths = [base + name for name in names]
    return Rows(folder, names, paths, [TRAIN] * len(names), [""] * len(names), classes=set())


def _places(cells: list[str], images: list[str], folder: Path, root: Path | None, beside: Path) -> list[str]:
    """Where each cell's file lies: an image of the folder if one fits, else where the path leads."""
    names = _by_short_name(images)
    base = f"{folder.absolute()}/"
    places = []
    for cell, path, other in zip(cells, resolve(cells, root or folder), resolve(cells, beside), strict=True):
        if cell in names:
            places.append(base + names[cell])
        elif cell and not os.path.exists(path) and os.path.exists(other):
            places.append(os.path.normpath(other))
        else:
            places.append(os.path.normpath(path) if cell else "")
    return places


def _by_short_name(images: list[str]) -> dict[str, str]:
    """Images by path, by base name, by path without suffix and by base name without suffix, ambiguous ones left out."""
    found: dict[str, str | None] = {}
    for name in images:
        stem, suffix = os.path.splitext(name)
        bare = stem if suffix.casefold() in IMAGE_SUFFIXES else name
        for short in {name.rsplit("/", 1)[-1], bare, bare.rsplit("/", 1)[-1]} - {name}:
            found[short] = None if short in found else name
    return {short: name for short, name in found.items() if name is not None} | {name: name for name in images}
