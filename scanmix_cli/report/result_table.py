"""Tables about the images of a run, as people, spreadsheets and other tools write them, and our own."""

from collections.abc import Iterable
from pathlib import Path

from scanmix_cli.data.columns import PATH_NAMES, path_column
from scanmix_cli.data.tables import JSON_SUFFIXES, PARQUET_SUFFIXES, Table, read_result_table
from scanmix_cli.data.text import has_stray_bytes, normal_name
from scanmix_cli.report.spreadsheet import restored

KNOWN = frozenset((*PATH_NAMES, "decision", "suggested_action", "is_label_issue", "predicted_label"))


def open_result_table(path: Path, own: Iterable[str]) -> Table:
    """The table at `path`, in the dialect and encoding that its content tells; raises DataError.

    own: file names and classes of the run. Where one of them that holds bytes which are no UTF-8 is a cell of the
    table, such bytes stay as they are; else they are taken for a spreadsheet's encoding.
    """
    stray = set(filter(has_stray_bytes, own))
    if stray:
        table = read_result_table(path, known=KNOWN, keep_stray=True)
        cells = [cell for values in table.columns.values() for cell in values if isinstance(cell, str)]
        if stray.intersection(_unguarded(table, cells)):
            return table
    return read_result_table(path, known=KNOWN)


def has_column(table: Table, name: str) -> bool:
    """Whether there is a column of that name, given in normal form, in any writing."""
    return any(normal_name(own) == name for own in table.columns)


def column(table: Table, name: str) -> list[str]:
    """The cells of a column by its name in normal form, as before `harmless`; blanks where there is none."""
    found = next((own for own in table.columns if normal_name(own) == name), None)
    return [""] * len(table) if found is None else _unguarded(table, table.text(found))


def _unguarded(table: Table, cells: list[str]) -> list[str]:
    """The cells as before `harmless`, which changes those of tables that a spreadsheet opens, not JSON and Parquet."""
    is_text = table.path.suffix.casefold() not in JSON_SUFFIXES | PARQUET_SUFFIXES
    return [restored(cell) for cell in cells] if is_text else cells


def image_names(table: Table) -> list[str] | None:
    """The names of the images; None where no column has a name that is known to hold them."""
    found = "filename" if has_column(table, "filename") else path_column(table)
    return None if found is None else column(table, normal_name(found))
