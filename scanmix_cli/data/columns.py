"""Which columns of a table hold the image path, the label and the split."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from scanmix_cli.data.listing import IMAGE_SUFFIXES
from scanmix_cli.data.tables import JSON_SUFFIXES, Table, one_object
from scanmix_cli.data.text import normal_name
from scanmix_cli.data.wording import shown
from scanmix_cli.errors import DataError

# Names seen in the wild, the commonest first.
PATH_NAMES = (
    *("file_name", "filename", "filepath", "path", "image"),
    *("file_path", "image_path", "img_path", "image_file", "image_name", "filepaths", "filenames", "file", "img"),
)
LABEL_NAMES = (
    *("label", "class", "category", "target", "ground_truth"),
    *("labels", "class_name", "label_name", "given_label", "classes"),
)
SPLIT_NAMES = ("split", "subset", "data_set")


@dataclass(frozen=True)
class Roles:
    """Names of the columns that were chosen; `split` is None where the table has none."""

    path: str
    label: str
    split: str | None
    warnings: tuple[str, ...] = ()


def known_names(*chosen: str | None) -> frozenset[str]:
    """Names, in normal form, that a header is likely to hold."""
    return frozenset((*PATH_NAMES, *LABEL_NAMES, *(normal_name(name) for name in chosen if name)))


def find_roles(table: Table, path: str | None, label: str | None, split: str | None) -> Roles:
    """The named columns, or the ones whose names are known; raises DataError listing the columns found."""
    path_name, path_others = _find(table, path, PATH_NAMES, "--path-column")
    label_name, label_others = _find(table, label, LABEL_NAMES, "--label-column")
    split_name, _ = _find(table, split, SPLIT_NAMES, "--split-column")
    if path_name is None:
        raise _missing(table, "column of image paths", "--path-column")
    if label_name is None:
        raise _missing(table, "label column", "--label-column")
    warnings = (
        *_ambiguous(table, "paths", path_name, path_others, "--path-column"),
        *_ambiguous(table, "labels", label_name, label_others, "--label-column"),
    )
    return Roles(path_name, label_name, split_name, warnings)


def path_column(table: Table) -> str | None:
    """The column of image paths by a known name, None where there is none."""
    return _find(table, None, PATH_NAMES, "")[0]


def has_label_column(table: Table, label: str | None) -> bool:
    """Whether labels can be read from the table: by the option `label` or by a known name."""
    return label is not None or any(normal_name(name) in LABEL_NAMES for name in table.columns)


def has_split_column(table: Table, split: str | None) -> bool:
    """Whether the table tells splits: in the column `split` or under a known name."""
    return split is not None or any(normal_name(name) in SPLIT_NAMES for name in table.columns)


def names_beside(ours: Iterable[str], names: Iterable[str]) -> dict[str, str]:
    """What further columns are called beside ours: a name of ours gets `input_` before it until no other has it."""
    ours, names = frozenset(ours), tuple(names)
    taken = ours.union(names)
    called = {}
    for name in names:
        new = name
        while name in ours and new in taken:
            new = f"input_{new}"
        called[name] = new
        taken |= {new}
    return called


def _find(table: Table, chosen: str | None, known: tuple[str, ...], option: str) -> tuple[str | None, list[str]]:
    """The column and the other columns that might have been meant."""
    if chosen is not None:
        if chosen not in table.columns:
            raise DataError(f"{table.path} has no column '{shown(chosen)}' ({option}); columns found: {_list(table)}")
        return chosen, []
    matches = [name for name in table.columns if normal_name(name) in known]
    matches.sort(key=lambda name: known.index(normal_name(name)))
    if not matches:
        return None, []
    repeated = re.compile(re.escape(matches[0]) + r" \d+")  # what a table's reader calls a second column of one name
    return matches[0], matches[1:] + [name for name in table.columns if repeated.fullmatch(name)]


def _missing(table: Table, what: str, option: str) -> DataError:
    if any(os.path.splitext(name)[1].casefold() in IMAGE_SUFFIXES for name in table.columns):
        if table.path.suffix.casefold() in JSON_SUFFIXES:
            return one_object(table.path)
        return DataError(
            f"{table.path} has no header, since its first line names an image; add the line file_name,label"
        )
    return DataError(
        f"{table.path} has no {what} under a known name; columns found: {_list(table)}; name it with {option}"
    )


def _ambiguous(table: Table, what: str, name: str, others: list[str], option: str) -> tuple[str, ...]:
    if not others:
        return ()
    quoted = ", ".join(f"'{shown(other)}'" for other in others)
    return (
        f"{table.path.name}: {what} are taken from column '{shown(name)}', not from {quoted}; choose with {option}.",
    )


def _list(table: Table) -> str:
    return ", ".join(map(shown, table.columns))
