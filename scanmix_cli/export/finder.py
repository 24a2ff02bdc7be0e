"""From what another tool calls an image to its row."""

import os.path
import posixpath
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pandas as pd

from scanmix_cli.data.samples import TRAIN
from scanmix_cli.export.names import FLAT, class_folders, split_suffix, unique_stems
from scanmix_cli.report.choices import RowFinder, named_by_number
from scanmix_cli.report.export import unicode_text


class ImageFinder:
    """Finds the rows of a report that a name may mean: a file name, a path that ends in one or is the end of one, the
    place of the file, or the name of a picture in an export. `places`: where the file of every row lies.
    """

    def __init__(self, report: pd.DataFrame, places: Sequence[str] = ()) -> None:
        names, training = report["filename"].tolist(), (report["split"] == TRAIN).tolist()
        paths = [_plain(name) for name in names]
        self._exact = [RowFinder(own, training) for own in (names, [unicode_text(name) for name in names])]
        self._paths, self._places = RowFinder(paths, training), RowFinder(places, training)
        self._ends, self._stem_ends = _Ends(paths), _Ends([split_suffix(path)[0] for path in paths])
        self._exported = _Exported(report)

    def rows(self, names: Sequence[str], number: str = "", *, exported: bool = False) -> list[int]:
        """The rows that the first of the names that means any may mean, narrowed down by the others and the number.

        exported: a name without folders is that of an exported picture before it is anything else.
        """
        found: list[int] = []
        for name in filter(None, names):
            rows = named_by_number(self._meant(name, number, exported), number)
            found = [row for row in rows if row in found] or found or rows
        return found

    def _meant(self, name: str, number: str, exported: bool) -> list[int]:
        path = _plain(name)
        exact = next(filter(None, (rows.find_all(name, number) for rows in self._exact)), [])
        if exported and "/" not in path and (pictures := self._exported.rows(path)):
            return sorted({*exact, *pictures})
        if exact:
            return exact
        alike = self._paths.find_all(path, number)
        if not alike and "/" in path:
            alike = self._places.find_all(os.path.abspath(name), number)
        if alike:
            return alike
        ends = self._ends.rows(path)
        if not ends and not split_suffix(path)[1]:
            ends = self._stem_ends.rows(path)
        return sorted({*ends, *self._exported.rows(path)})


class _Ends:
    """Finds paths by their last components, and by more than all of their components."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._whole, self._ends = defaultdict(list), defaultdict(list)
        for row, path in enumerate(paths):
            self._whole[path].append(row)
            for end in _ends(path):
                self._ends[end].append(row)

    def rows(self, path: str) -> list[int]:
        """Of the rows whose path ends `path` only those with the longest."""
        within = next((self._whole[end] for end in (path, *_ends(path)) if end in self._whole), [])
        return [*self._ends.get(path, []), *within]


def _ends(path: str) -> Iterator[str]:
    """What follows each of the slashes of a path, the longest first."""
    while "/" in path:
        path = path.partition("/")[2]
        yield path


class _Exported:
    """Finds rows by where an export lays their picture."""

    def __init__(self, report: pd.DataFrame) -> None:
        names = report["filename"].tolist()
        self._rows = {stem: row for row, stem in enumerate(unique_stems(names))}
        self._suffixes = [split_suffix(name)[1] for name in names]
        splits, labels = (
            report["split"].tolist(),
            [report[name].tolist() for name in ("given_label", "suggested_label")],
        )
        split_names, label_names = class_folders(splits), class_folders(filter(None, (*labels[0], *labels[1])))
        self._splits = [split_names[split] for split in splits]
        self._labels = [{label_names.get(label) for label in pair} for pair in zip(*labels, strict=True)]

    def rows(self, path: str) -> list[int]:
        *folders, name = path.split("/")
        stem, suffix = split_suffix(name)
        row = self._rows.get(stem)
        if row is None or (suffix and self._suffixes[row] not in ("", suffix)):
            return []
        split = self._splits[row]
        if not folders or folders[-1] in (*FLAT, split):
            return [row]
        return [row] if folders[-2:-1] == [split] and folders[-1] in self._labels[row] else []


def _plain(name: str) -> str:
    """The path with slashes and without `.` and `..`."""
    return posixpath.normpath(name.replace("\\", "/"))
