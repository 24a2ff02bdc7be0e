"""How many of the near-duplicate pairs known between CIFAR-10's test and training part are found.

    python benchmarks/duplicates.py --images cifar10/images.npz --truth cifar10/test_truth.npz

reads images packed as JPEGs (`header`, `train_data`, `train_offsets`, `test_data`, `test_offsets`) and the listed pairs
(`dup_test_train`, `dup_test_train_kind`: 0 exact, 1 near, 2 similar). Prints one JSON object: recall by kind, and
what else was put into sets, which is no error where the list is incomplete. Exact copies of a few images are planted.
"""

import argparse
import io
import json
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scanmix_cli.data.near_duplicates import near_duplicates
from scanmix_cli.data.pixels import Pixels

PLANTED = 100


def unpacked(path: Path, part: str, most: int | None = None) -> np.ndarray:
    """uint8 (n, 3, H, W): the first `most` images of a part."""
    with np.load(path) as packed:
        header, data = packed["header"].tobytes(), packed[f"{part}_data"].tobytes()
        ends = packed[f"{part}_offsets"][: None if most is None else most + 1]
    files = (io.BytesIO(header + data[a:b]) for a, b in pairwise(ends))
    return np.stack([np.asarray(Image.open(file).convert("RGB")) for file in files]).transpose(0, 3, 1, 2)


def measure(train: np.ndarray, test: np.ndarray, pairs: np.ndarray, kinds: np.ndarray) -> dict[str, Any]:
    """Figures for images uint8 (n, 3, H, W); pairs int64 (p, 2) of test and training rows, kinds int (p,)."""
    images = np.concatenate([train, test, train[:PLANTED]])
    count, codes = len(images), np.full(len(images), "VALID", dtype=object)
    sizes = np.full((count, 2), images.shape[-1], np.int32)
    began = time.monotonic()
    sets = near_duplicates(Pixels(images, np.arange(count), codes, codes, sizes))
    seconds = time.monotonic() - began
    found = sets[len(train) + pairs[:, 0]]
    found = (found >= 0) & (found == sets[pairs[:, 1]])
    of_test = sets[len(train) : len(train) + len(test)]
    unlisted = np.setdiff1d(np.flatnonzero(of_test >= 0), pairs[:, 0])
    sizes_of_sets = np.bincount(sets[sets >= 0])
    return {
        "images": count,
        "seconds": round(seconds, 1),
        "recall": {str(kind): round(float(found[kinds == kind].mean()), 4) for kind in np.unique(kinds)},
        "recall_exact_planted": float((sets[-PLANTED:] == sets[:PLANTED])[sets[:PLANTED] >= 0].sum() / PLANTED),
        "test_images_unlisted": len(unlisted),
        "test_images_unlisted_share": round(len(unlisted) / len(test), 5),
        "sets": len(sizes_of_sets),
        "largest_set": int(sizes_of_sets.max(initial=0)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    options = parser.parse_args(arguments)
    with np.load(options.truth) as truth:
        pairs, kinds = truth["dup_test_train"], truth["dup_test_train_kind"]
    train, test = (unpacked(options.images, part) for part in ("train", "test"))
    print(json.dumps(measure(train, test, pairs.astype(np.int64), kinds), indent=1))


if __name__ == "__main__":
    main()
