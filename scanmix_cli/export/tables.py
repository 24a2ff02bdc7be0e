"""CSV: the labels alone, and the manifest that every export carries."""

from pathlib import Path

import pandas as pd

from scanmix_cli.export.content import Content
from scanmix_cli.export.destination import MANIFEST
from scanmix_cli.files import write_text
from scanmix_cli.report.spreadsheet import csv_text

LABELS = "labels.csv"


def write_labels(folder: Path, content: Content) -> None:
    """labels.csv: `file_name,label,split`, cells as they are, for programs."""
    write_text(folder / LABELS, csv_text(labels_table(content), guard=False))


def labels_table(content: Content) -> pd.DataFrame:
    columns = {
        "file_name": content.paths,
        "label": [item.label for item in content.items],
        "split": [item.split for item in content.items],
    }
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


def write_manifest(folder: Path, content: Content) -> None:
    """manifest.csv: where each exported image comes from and what the run says of it, harmless in a spreadsheet."""
    items = content.items
    texts = ("filename", "split", "label", "given_label", "predicted_label", "suggested_label", "suggested_action")
    table = pd.DataFrame(
        {
            "file_name": pd.Series(content.paths, dtype=object),
            "row": [item.row for item in items],
            **{name: pd.Series([getattr(item, name) for item in items], dtype=object) for name in texts},
            "p_mislabeled": pd.Series([item.p_mislabeled for item in items], dtype="float64"),
            "confidence": pd.Series([item.confidence for item in items], dtype="float64"),
        }
    )
    write_text(folder / MANIFEST, csv_text(table))


def nothing_more(folder: Path, content: Content) -> None:
    """For layouts that are folders of pictures."""
