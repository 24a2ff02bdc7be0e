"""FiftyOne's `FiftyOneImageClassificationDataset`: `data/` and `labels.json`."""

import json
from pathlib import Path
from typing import Any

from scanmix_cli.export.content import Content
from scanmix_cli.export.items import Item
from scanmix_cli.files import write_text

LABELS = "labels.json"


def write(folder: Path, content: Content) -> None:
    """labels.json: by file name without suffix, the cleaned label with the run's view of it as attributes."""
    labels = {item.stem: _label(item) for item in content.items}
    write_text(folder / LABELS, json.dumps({"classes": list(content.classes), "labels": labels}, indent=1) + "\n")


def _label(item: Item) -> dict[str, Any] | None:
    if not item.label:
        return None
    attributes = {
        "given_label": item.given_label,
        "predicted_label": item.predicted_label,
        "suggested_action": item.suggested_action,
        "p_mislabeled": item.p_mislabeled,
        "split": item.split,
    }
    confidence = {} if item.confidence is None else {"confidence": item.confidence}
    return {"label": item.label, **confidence, "attributes": attributes}
