"""`scanmix predict` as a function: images in, classes and probabilities out."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.listing import list_images
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.errors import DataError
from scanmix_cli.report.runs import resolve_run
from scanmix_cli.workflow.classifier import load_classifier


def predict(run: Path, inputs: list[Path], *, top_k: int = 1, device: str = "auto") -> pd.DataFrame:
    """Classify image files and all images below folders, in the order given.

    Columns: filename, predicted_label, probability, label_2, probability_2, ... up to `top_k`, error_code; one row per
    image, unreadable ones included with empty predictions.
    """
    classifier = load_classifier(resolve_run(run))
    names = _names(inputs)
    table = pd.DataFrame({"filename": names, "path": names, "split": "predict", "given_label": ""}, dtype=object)
    samples = Samples("predict", Path.cwd(), table, classifier.classes)
    pixels = load_pixels(samples, classifier.stored_size, workers=os.cpu_count() or 1, cache_dir=None)
    probabilities = classifier.probabilities(pixels.images, choose_compute(device))
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, : min(top_k, len(classifier.classes))]
    classes = np.array(classifier.classes, dtype=object)
    result: dict[str, np.ndarray] = {"filename": np.array(names, dtype=object)}
    for place in range(order.shape[1]):
        label = np.full(len(names), "", dtype=object)
        value = np.full(len(names), np.nan)
        label[pixels.rows] = classes[order[:, place]]
        value[pixels.rows] = probabilities[np.arange(len(order)), order[:, place]]
        suffix = "" if place == 0 else f"_{place + 1}"
        result["predicted_label" if place == 0 else f"label{suffix}"] = label
        result[f"probability{suffix}"] = value
    result["error_code"] = pixels.error_codes
    return pd.DataFrame(result)


def unreadable(predictions: pd.DataFrame) -> int:
    """How many rows could not be read."""
    return int((predictions["error_code"] != VALID).sum())


def _names(inputs: list[Path]) -> list[str]:
    names: list[str] = []
    for item in inputs:
        if item.is_dir():
            found, _ = list_images(item)
            if not found:
                raise DataError(f"{item} holds no images; name image files or a folder of them")
            names += [str(item / name) for name in found]
        else:
            names.append(str(item))
    return names
