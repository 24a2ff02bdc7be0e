"""The Hugging Face `imagefolder` layout with a metadata table per split: `load_dataset(OUT)`."""

import json
from pathlib import Path

from scanmix_cli.export.content import Content
from scanmix_cli.export.items import Item
from scanmix_cli.files import write_file, write_text

METADATA, CARD = "metadata.parquet", "README.md"
TEXTS = ("given_label", "predicted_label", "suggested_label", "suggested_action")
NUMBERS = ("p_mislabeled", "confidence")


def write(folder: Path, content: Content) -> None:
    """A metadata.parquet beside the pictures of each split, and a card that names the splits and the classes.

    Parquet, since the loader guesses types from text: "01" would become a number, and a column that is blank in one
    split would have no type there. Images without a label have None.
    """
    splits: dict[str, list[tuple[Item, str]]] = {}
    for item, path in content.pairs():
        split, name = path.split("/", 1)
        splits.setdefault(split, []).append((item, name))
    for split, rows in splits.items():
        _write_metadata(folder / split / METADATA, rows)
    write_text(folder / CARD, _card(content, list(splits)))


def _write_metadata(path: Path, rows: list[tuple[Item, str]]) -> None:
    import pyarrow
    import pyarrow.parquet

    texts: dict[str, list[str | None]] = {
        "file_name": [name for _, name in rows],
        "label": [item.label or None for item, _ in rows],
        **{name: [getattr(item, name) for item, _ in rows] for name in TEXTS},
    }
    columns = {name: pyarrow.array(cells, pyarrow.string()) for name, cells in texts.items()}
    columns |= {name: pyarrow.array([getattr(item, name) for item, _ in rows], pyarrow.float64()) for name in NUMBERS}
    write_file(path, lambda file: pyarrow.parquet.write_table(pyarrow.table(columns), file))


def _card(content: Content, splits: list[str]) -> str:
    """The YAML that the loader reads, in JSON notation, which is YAML and needs no quoting rules of its own."""
    files = [{"split": _split_name(split), "path": f"{split}/**"} for split in splits]
    configs = json.dumps([{"config_name": "default", "data_files": files}])
    classes = json.dumps(list(content.classes))
    return (
        f"---\nconfigs: {configs}\n---\n\nCleaned labels of the scanmix run {content.run}, as text. For class "
        f'numbers in string order:\n\n    data.cast_column("label", datasets.ClassLabel(names={classes}))\n'
    )


def _split_name(split: str) -> str:
    """Split names of the loader are words."""
    return "".join(mark if mark.isalnum() else "_" for mark in split)
