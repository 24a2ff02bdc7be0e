"""From a table with path, label and split columns to rows with places to open."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from scanmix_cli.data.columns import find_roles, known_names, names_beside
from scanmix_cli.data.rows import Rows, is_train_name
from scanmix_cli.data.samples import TRAIN
from scanmix_cli.data.tables import Table, read_table
from scanmix_cli.data.wording import counted, shown
from scanmix_cli.errors import DataError
from scanmix_cli.files import openable

_OWN_COLUMNS = frozenset({"filename", "path", "split", "given_label"})
_PROBES = 50
_ADDRESS = re.compile("(https?|s3|gs|file)://", re.IGNORECASE)


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
    """The table at `path`, read as the options say; raises DataError."""
    known = known_names(options.path_column, options.label_column, options.split_column)
    return read_table(path, sep=options.sep, encoding=options.encoding, known=known)


def table_rows(table: Table, options: TableOptions) -> Rows:
    """Rows in table order; relative paths start at `--root` or at the table's folder."""
    root = options.root if options.root is not None else table.path.parent
    rows = unplaced_rows(table, options, root)
    rows.paths = resolve(rows.filenames, root)
    probes = [path for path in rows.paths[:: max(1, len(rows) // _PROBES)] if path]
    if not any(os.path.exists(path) for path in probes):
        rows.warnings.append(
            f"{table.path.name}: no file looked for exists, such as {shown(probes[0]) if probes else '(blank path)'}; "
            f"name the folder that relative paths start from with --root."
        )
    return rows


def resolve(cells: list[str], root: Path) -> list[str]:
    """Where to open each cell; "" stays "". Backslashes part folders unless a file has that very name."""
    base = f"{root.absolute()}/"
    paths = []
    for cell in cells:
        path = openable(os.path.join(base, cell)) if cell else ""
        if "\\" in cell and os.sep == "/" and not os.path.exists(path):
            path = openable(os.path.join(base, cell.replace("\\", "/")))
        paths.append(path)
    return paths


def unplaced_rows(table: Table, options: TableOptions, root: Path) -> Rows:
    """Rows of which it is still open where their files lie; DataError where all paths are addresses such as s3://."""
    roles = find_roles(table, options.path_column, options.label_column, options.split_column)
    filenames = table.text(roles.path)
    named = [name for name in filenames if name]
    addresses = [name for name in named if _ADDRESS.match(name)]
    if named and len(addresses) == len(named):
        raise DataError(
            f"{table.path} has addresses such as {shown(named[0])} in column '{shown(roles.path)}', but images must be "
            "files on this machine; download them and write their paths into the table, or name another column with "
            "--path-column"
        )
    labels = [label if label.strip() else "" for label in table.text(roles.label)]
    splits = [TRAIN] * len(table) if roles.split is None else _splits(table.text(roles.split))
    chosen = {roles.path, roles.label, roles.split}
    called = names_beside(_OWN_COLUMNS, [name for name in table.columns if name not in chosen])
    extra = {new: table.columns[name] for name, new in called.items()}
    classes = set(labels) - {""}
    warnings = [*table.warnings, *roles.warnings]
    if addresses:
        warnings.append(
            f"{counted(len(addresses), 'row')} of {table.path} {'names' if len(addresses) == 1 else 'name'} an address "
            f"such as {shown(addresses[0])} instead of a file; nothing is downloaded, so these images count as missing"
        )
    return Rows(root, filenames, [], splits, labels, classes, extra, warnings=warnings, table=table.path)


def _splits(cells: list[str]) -> list[str]:
    """Any writing of "train" becomes "train", and so does a blank; other names stay."""
    names = {cell: TRAIN if not cell.strip() or is_train_name(cell) else cell for cell in set(cells)}
    return [names[cell] for cell in cells]
