"""COCO: one category an image, as a box around the whole of it, as detection tools expect image labels."""

import json
from pathlib import Path
from typing import Any

from scanmix_cli.data.decode import stored_size
from scanmix_cli.export.content import Content
from scanmix_cli.files import openable, write_text

ANNOTATIONS = "annotations.json"


def write(folder: Path, content: Content) -> None:
    """annotations.json: images in row order, categories in class order with ids from 1; unlabelled images have no
    annotation."""
    category = {name: number for number, name in enumerate(content.classes, start=1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, (item, path) in enumerate(content.pairs(), start=1):
        width, height = image_size(folder / path)
        images.append({"id": number, "file_name": path, "width": width, "height": height})
        if not item.label:
            continue
        annotations.append(
            {
                "id": len(annotations) + 1,
                "image_id": number,
                "category_id": category[item.label],
                "bbox": [0, 0, width, height],
                "area": width * height,
                "segmentation": [[0, 0, width, 0, width, height, 0, height]],
                "iscrowd": 0,
                "attributes": {"given_label": item.given_label, "p_mislabeled": item.p_mislabeled},
            }
        )
    categories = [{"id": number, "name": name, "supercategory": ""} for name, number in category.items()]
    whole = {
        "info": {"description": f"cleaned labels of the scanmix run {content.run}"},
        "licenses": [],
        "images": images,
        "annotations": annotations,
        "categories": categories,
    }
    write_text(folder / ANNOTATIONS, json.dumps(whole, indent=1) + "\n")


def image_size(path: Path) -> tuple[int, int]:
    """Width and height as stored."""
    return stored_size(openable(str(path)))
