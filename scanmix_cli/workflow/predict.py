"""`scanmix predict` as a function: images in, classes and probabilities out."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from scanmix_cli.data.cores import usable_cores
from scanmix_cli.data.decode import VALID
from scanmix_cli.data.listing import list_images
from scanmix_cli.data.pixels import SKIP, Pixels, load_pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.errors import DataError, SettingsError
from scanmix_cli.report.files import read_settings
from scanmix_cli.report.runs import resolve_run
from scanmix_cli.workflow.classifier import Classifier, load_classifier
from scanmix_cli.workflow.views import MOST_VIEWS

CHUNK_BYTES = 256 * 2**20  # pixels decoded ahead of the networks; bounds memory whatever the number of images


@dataclass(frozen=True)
class Outputs:
    """What the networks gave for some files: `values` float32 (readable, ...), `rows` int64 (readable,) which of the
    files each is of, `error_codes` text (files,), "VALID" where readable."""

    values: np.ndarray
    rows: np.ndarray
    error_codes: np.ndarray


def predict(
    run: Path,
    inputs: list[Path],
    *,
    top_k: int = 1,
    device: str = "auto",
    network: str = "both",
    views: int = 1,
) -> pd.DataFrame:
    """Classify image files and all images below folders, in the order given.

    network: "both" (their ensemble), "1" or "2"; views: test-time views an image, 1 to 10.
    Columns: filename, predicted_label, probability, label_2, probability_2, ... up to `top_k`, error_code; one row per
    image, unreadable ones included with empty predictions. Files cut short are used where the run used them.
    """
    if not 1 <= views <= MOST_VIEWS:
        raise SettingsError(f"--views is {views}: give a number from 1 to {MOST_VIEWS}")
    if top_k < 1:
        raise SettingsError(f"--top-k is {top_k}: give a number of classes, 1 or more")
    folder = resolve_run(run)
    classifier = load_classifier(folder).network(network)
    names = _names(inputs)
    compute = choose_compute(device)

    def classify(images: np.ndarray) -> np.ndarray:
        return classifier.probabilities(images, compute, views)

    found = run_on_files(classifier, names, classify, truncated_of(folder))
    return prediction_table(names, classifier.classes, found, top_k)


def truncated_of(run: Path) -> str:
    """What became of files cut short in a run, one of `data.pixels.TRUNCATED`."""
    return read_settings(run).get("run", {}).get("truncated", SKIP)


def run_on_files(
    classifier: Classifier, paths: Sequence[str], function: Callable[[np.ndarray], np.ndarray], truncated: str = SKIP
) -> Outputs:
    """`function` of the pixels of every readable file, uint8 (n, 3, stored_size, stored_size), in the order given.

    The next files are decoded while the function works on those before. truncated: as `load_pixels` takes it.
    """
    values, rows, codes = [], [], []
    done = 0
    for pixels in _chunks(paths, classifier.stored_size, truncated):
        values.append(function(pixels.images))
        rows.append(pixels.rows + done)
        codes.append(pixels.error_codes)
        done += len(pixels.error_codes)
    return Outputs(np.concatenate(values), np.concatenate(rows), np.concatenate(codes))


def prediction_table(names: Sequence[str], classes: Sequence[str], found: Outputs, top_k: int) -> pd.DataFrame:
    """The table that `predict` returns, from probabilities (readable, C)."""
    probabilities = found.values
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, : min(top_k, len(classes))]
    labels = np.array(classes, dtype=object)
    result: dict[str, np.ndarray] = {"filename": np.array(names, dtype=object)}
    for place in range(order.shape[1]):
        label = np.full(len(names), "", dtype=object)
        value = np.full(len(names), np.nan)
        label[found.rows] = labels[order[:, place]]
        value[found.rows] = probabilities[np.arange(len(order)), order[:, place]]
        suffix = "" if place == 0 else f"_{place + 1}"
        result["predicted_label" if place == 0 else f"label{suffix}"] = label
        result[f"probability{suffix}"] = value
    result["error_code"] = found.error_codes
    # typed one by one: pandas would make UTF-8 of all text, and the bytes of a file name may be none
    return pd.DataFrame({name: pd.Series(cells, dtype=cells.dtype) for name, cells in result.items()})


def unreadable(predictions: pd.DataFrame) -> int:
    """How many rows could not be read."""
    return int((predictions["error_code"] != VALID).sum())


def _chunks(paths: Sequence[str], size: int, truncated: str) -> Iterator[Pixels]:
    """The files' pixels in pieces of CHUNK_BYTES, each decoded while the one before is in use; at least one piece."""
    step = max(1, CHUNK_BYTES // (3 * size * size))
    pieces = [list(paths[start : start + step]) for start in range(0, max(len(paths), 1), step)]
    with ThreadPoolExecutor(1) as ahead:
        waiting = ahead.submit(_decode, pieces[0], size, truncated)
        for following in pieces[1:]:
            pixels = waiting.result()
            waiting = ahead.submit(_decode, following, size, truncated)
            yield pixels
        yield waiting.result()


def _decode(paths: list[str], size: int, truncated: str) -> Pixels:
    table = pd.DataFrame({"filename": paths, "path": paths, "split": "predict", "given_label": ""}, dtype=object)
    samples = Samples("predict", Path.cwd(), table, ())
    return load_pixels(samples, size, workers=usable_cores(), cache_dir=None, truncated=truncated)


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
