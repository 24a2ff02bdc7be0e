"""From DATA as the user names it to one Samples table."""

from collections import Counter
from pathlib import Path

import pandas as pd

from scanmix_cli.data.audit import copy_warnings, label_warnings, require_classes, split_warnings
from scanmix_cli.data.folders import has_classes, read_folder
from scanmix_cli.data.held_out import hold_out_folder, hold_out_images, other_rows, places_of_images
from scanmix_cli.data.labelled_folder import labelled_folder_rows
from scanmix_cli.data.metadata import read_described_folder
from scanmix_cli.data.rows import Rows
from scanmix_cli.data.samples import TRAIN, Samples
from scanmix_cli.data.table_rows import TableOptions, open_table, table_rows
from scanmix_cli.data.wording import quoted, valid
from scanmix_cli.errors import DataError

TEST = "test"
_TABLE_OF_TEST = "give --test a table of these images and their labels"


def read_samples(
    data: Path,
    *,
    labels: Path | None = None,
    path_column: str | None = None,
    label_column: str | None = None,
    split_column: str | None = None,
    root: Path | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    test: Path | None = None,
) -> Samples:
    """Read a folder or a table; `test` is a further source whose rows only measure accuracy.

    Folder rows are sorted by path, table rows keep the table's order, rows of `test` come last. Files are not opened:
    one that is missing shows up when pixels are read. Raises DataError where nothing can be trained on the input.
    """
    options = TableOptions(path_column, label_column, split_column, root, sep, encoding)
    if test is not None:
        _require_test(test, data)
    parts = _read(data, labels, options, leave_out=test)
    root = parts[0].root
    if test is not None:
        parts += _read_test(test, options, parts)
    tables = tuple(dict.fromkeys(part.table for part in parts if part.table is not None))
    if not tables:
        _refuse_options(data, options)
    splits = [split for part in parts for split in part.splits]
    given = [label for part in parts for label in part.labels]
    paths = [path for part in parts for path in part.paths]
    require_classes(data, splits, given)
    # Stray bytes in a file name are needed to open it; in a class name they would only break what writes it.
    names = {name: valid(name) for part in parts for name in part.classes | {""}}
    given = [names[label] for label in given]
    classes = tuple(sorted(set(names.values()) - {""}))
    extra = _joined_extra(parts)
    columns = {
        "filename": [name for part in parts for name in part.filenames],
        "path": paths,
        "split": splits,
        "given_label": given,
        **extra,
    }
    warnings = [warning for part in parts for warning in part.warnings]
    if changed := sorted(new for name, new in names.items() if new != name):
        warnings.append(f"Class names that are no valid UTF-8, and what they are called: {quoted(changed)}.")
    return Samples(
        name=data_name(data),
        root=root,
        # Plain objects: file names that are no valid Unicode have no place in pandas' own text type.
        table=pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}),
        classes=classes,
        warnings=(
            *warnings,
            *split_warnings(splits),
            *label_warnings(classes, splits, given),
            *copy_warnings(paths, given),
        ),
        ignored=_by_count(sum((part.ignored for part in parts), Counter())),
        extra_columns=tuple(extra),
        tables=tables,
    )


def _read(data: Path, labels: Path | None, options: TableOptions, leave_out: Path | None = None) -> list[Rows]:
    """All parts of one source; `leave_out` is a folder inside it that is read on its own."""
    if not data.exists():
        raise DataError(f"{data} does not exist; check the path")
    if not data.is_dir():
        if labels is not None:
            raise DataError(f"--labels goes with a folder of images, but {data} is a file; give the table alone")
        return [table_rows(open_table(data, options), options)]
    if labels is None:
        return read_described_folder(data, options, leave_out) or [read_folder(data, leave_out)]
    if not labels.is_file():
        raise DataError(f"{labels} (--labels) is no file; check the path")
    return labelled_folder_rows(data, open_table(labels, options), options, leave_out)


def _refuse_options(data: Path, options: TableOptions) -> None:
    """DataError where an option of tables was given, of which there is none."""
    given = [name for name, value in vars(options).items() if value is not None]
    if given:
        raise DataError(
            f"--{given[0].replace('_', '-')} goes with a table, but the labels of {data} are the names of its folders; "
            "leave it out or give the table"
        )


def _require_test(test: Path, data: Path) -> None:
    if not test.exists():
        raise DataError(f"{test} (--test) does not exist; check the path")
    if data.exists() and test.samefile(data):
        raise DataError(f"{test} (--test) is DATA itself; name a source of other images")


def _read_test(test: Path, options: TableOptions, data: list[Rows]) -> list[Rows]:
    """Rows of `--test`; what `data` names of it already is held out where it stands."""
    trained = any(TRAIN in rows.splits for rows in data)
    parts: list[Rows] = []
    named: dict[str, str] = {}
    if test.is_dir():
        named = hold_out_folder(data, test, TEST)
    else:
        parts = [hold_out_images(data, table_rows(open_table(test, options), options), TEST, test)]
    if trained and not any(TRAIN in rows.splits for rows in data):
        kind = "table" if parts else "folder"
        raise DataError(f"{test} (--test) holds all training images of DATA; name a {kind} of other images")
    if not parts:
        if named and not has_classes(test) and named.keys() >= set(places_of_images(test)):
            return []
        parts = read_described_folder(test, options) or [read_folder(test, advice=_TABLE_OF_TEST)]
    if named:
        classes = set().union(*(rows.classes for rows in data))
        parts = [other_rows(rows, named, classes, test) for rows in parts]
    for rows in parts:
        rows.splits = [TEST] * len(rows)
    return parts


def _joined_extra(parts: list[Rows]) -> dict[str, list]:
    """Further columns of all parts, blank in the parts that lack them."""
    names = dict.fromkeys(name for part in parts for name in part.extra)
    return {name: [v for part in parts for v in part.extra.get(name, [""] * len(part))] for name in names}


def _by_count(kinds: Counter[str]) -> dict[str, int]:
    return dict(sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0])))


def data_name(data: Path) -> str:
    """What data are called in the names of runs: the folder's name, or the table's without its ending."""
    return data.resolve().name if data.is_dir() else data.stem
