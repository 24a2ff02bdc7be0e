"""From a table with path, label and split columns to rows with places to open."""

import os
from dataclasses import dataclass
from pathlib import Path

from scanmix_cli.data.columns import find_roles, known_names
from scanmix_cli.data.listing import IMAGE_SUFFIXES, list_images
from scanmix_cli.data.rows import Rows, is_train_name
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.tables import Table, read_table
from scanmix_cli.errors import DataError

_OWN_COLUMNS = frozenset({"filename", "path", "split", "given_label"})
_PROBES = 50


@dataclass(frozen=True)
class TableOptions:
    """What the user said about the table; None means: find out."""

    path_column: str | None = None
    label_column: str | None = None
    split_column: str | None = None
    root: Path | None = None
    sep: str | None = None
    encoding: str | None = None


def open_table(path: Path, options: TableOptions) -> Table:
    known = known_names(options.path_column, options.label_column, options.split_column)
    return read_table(path, sep=options.sep, encoding=options.encoding, known=known)


def table_rows(table: Table, options: TableOptions) -> Rows:
    """Rows in table order; relative paths start at `--root` or at the table's folder."""
    root = options.root if options.root is not None else table.path.parent
    rows = _rows(table, options, root)
    rows.paths = resolve(rows.filenames, root)
    probes = [path for path in rows.paths[:: max(1, len(rows) // _PROBES)] if path]
    if not any(os.path.exists(path) for path in probes):
        rows.warnings.append(
            f"{table.path.name}: no file looked for exists, such as {probes[0] if probes else '(blank path)'}; "
            f"name the folder that relative paths start from with --root."
        )
    return rows


def labelled_folder_rows(folder: Path, table: Table, options: TableOptions) -> Rows:
    """Rows of the table in table order, then the images of `folder` that it does not name, as unlabelled.

    Cells may leave out folders or the suffix where that is unambiguous within the folder.
    """
    images, ignored = list_images(folder)
    if not images:
        raise DataError(f"{folder} holds no images; give the folder that the paths in {table.path} start from.")
    root = options.root if options.root is not None else folder
    rows = _rows(table, options, root)
    names = _by_short_name(images)
    base = f"{folder.absolute()}/"
    paths = resolve(rows.filenames, root)
    rows.paths = [
        base + names[cell] if cell in names else path for cell, path in zip(rows.filenames, paths, strict=True)
    ]
    named = set(rows.paths)
    rest = [name for name in images if base + name not in named]
    rows.filenames += rest
    rows.paths += [base + name for name in rest]
    rows.labels += [""] * len(rest)
    rows.splits += [TRAIN] * len(rest)
    for values in rows.extra.values():
        values += [""] * len(rest)
    rows.ignored += ignored
    if rest:
        rows.warnings.append(
            f"{len(rest)} of {len(images)} images have no row in {table.path.name} and count as unlabelled, "
            f"such as {rest[0]}."
        )
    return rows


def resolve(cells: list[str], root: Path) -> list[str]:
    """Where to open each cell; "" stays "". Backslashes part folders unless a file has that very name."""
    base = f"{root.absolute()}/"
    paths = []
    for cell in cells:
        path = os.path.join(base, cell) if cell else ""
        if "\\" in cell and os.sep == "/" and not os.path.exists(path):
            path = os.path.join(base, cell.replace("\\", "/"))
        paths.append(path)
    return paths


def _rows(table: Table, options: TableOptions, root: Path) -> Rows:
    """Rows without paths."""
    roles = find_roles(table, options.path_column, options.label_column, options.split_column)
    filenames = table.text(roles.path)
    labels = [label if label.strip() else "" for label in table.text(roles.label)]
    splits = [TRAIN] * len(table) if roles.split is None else _splits(table.text(roles.split))
    chosen = {roles.path, roles.label, roles.split}
    extra = {_extra_name(name): values for name, values in table.columns.items() if name not in chosen}
    classes = set(labels) - {""}
    warnings = [*table.warnings, *roles.warnings]
    return Rows(root, filenames, [], splits, labels, classes, extra, warnings=warnings)


def _splits(cells: list[str]) -> list[str]:
    """Any writing of "train" becomes "train", and so does a blank; other names stay."""
    names = {cell: TRAIN if not cell.strip() or is_train_name(cell) else cell for cell in set(cells)}
    return [names[cell] for cell in cells]


def _extra_name(name: str) -> str:
    return f"input_{name}" if name in _OWN_COLUMNS else name


def _by_short_name(images: list[str]) -> dict[str, str]:
    """Images by path, by base name, by path without suffix and by base name without suffix, ambiguous ones left out."""
    found: dict[str, str | None] = {}
    for name in images:
        stem, suffix = os.path.splitext(name)
        bare = stem if suffix.casefold() in IMAGE_SUFFIXES else name
        for short in {name.rsplit("/", 1)[-1], bare, bare.rsplit("/", 1)[-1]} - {name}:
            found[short] = None if short in found else name
    return {short: name for short, name in found.items() if name is not None} | {name: name for name in images}
