"""The Hugging Face `imagefolder` layout with a metadata file per split: `load_dataset(OUT)`."""

import json
from pathlib import Path
from typing import Any

from scanmix_cli.export.content import Content
from scanmix_cli.files import write_text

METADATA, CARD = "metadata.jsonl", "README.md"
TEXTS = ("given_label", "predicted_label", "suggested_label", "suggested_action")
NUMBERS = ("p_mislabeled", "confidence")


def write(folder: Path, content: Content) -> None:
    """A metadata.jsonl beside the pictures of each split, and a card that names splits, columns and classes.

    The card makes `label` a ClassLabel with the run's classes in order; without it the loader would take a label such
    as "01" for a number. Images without a label have None.
    """
    lines: dict[str, list[str]] = {}
    for item, path in content.pairs():
        split, name = path.split("/", 1)
        record: dict[str, Any] = {"file_name": name, "label": item.label or None}
        record |= {key: getattr(item, key) for key in TEXTS}
        record |= {"p_mislabeled": item.p_mislabeled, "confidence": item.confidence}
        lines.setdefault(split, []).append(json.dumps(record) + "\n")
    for split, texts in lines.items():
        write_text(folder / split / METADATA, "".join(texts))
    write_text(folder / CARD, _card(content, list(lines)))


def _card(content: Content, splits: list[str]) -> str:
    """The YAML that the loader reads, in JSON notation, which is YAML and needs no quoting rules of its own."""
    names = {str(number): name for number, name in enumerate(content.classes)}
    features: list[dict[str, Any]] = [
        {"name": "image", "dtype": "image"},
        {"name": "label", "dtype": {"class_label": {"names": names}}},
        *({"name": name, "dtype": "string"} for name in TEXTS),
        *({"name": name, "dtype": "float64"} for name in NUMBERS),
    ]
    configs = [
        {
            "config_name": "default",
            "data_files": [{"split": _split_name(split), "path": f"{split}/**"} for split in splits],
        }
    ]
    header = f"configs: {json.dumps(configs)}\ndataset_info: {json.dumps({'features': features})}\n"
    return f"---\n{header}---\n\nCleaned labels of the scanmix run {content.run}.\n"


def _split_name(split: str) -> str:
    """Split names of the loader are words."""
    return "".join(mark if mark.isalnum() else "_" for mark in split)
