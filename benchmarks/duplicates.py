"""How many of the near-duplicate pairs known between CIFAR-10's test and training part are found.

    python benchmarks/duplicates.py --images cifar10/images.npz --truth cifar10/test_truth.npz

reads images packed as JPEGs (`header`, `train_data`, `train_offsets`, `test_data`, `test_offsets`) and the listed pairs
(`dup_test_train`, `dup_test_train_kind`: 0 exact, 1 near, 2 similar). Prints one JSON object: recall by kind, and
what else was put into sets, which is no error where the list is incomplete. Exact copies of a few images are planted.

A reported pair is a test and a training image of one set. The list names one training image for a test image, and
lacks many copies, so a pair off the list may be right: --judged says what a look at both pictures found, `copy` (one
picture, recoloured, cut or stored anew), `different` (another car, bird or ship, however alike) or `doubtful`. False
are the pairs judged different; at most so many are false as are neither listed nor judged copies.
"""

import argparse
import io
import json
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from scanmix_cli.data.near_duplicates import near_sets
from scanmix_cli.data.pixels import Pixels

PLANTED = 100
JUDGED = Path(__file__).resolve().parents[1] / "docs" / "results" / "duplicates_judged.csv"  # test, train, verdict
VERDICTS = ("copy", "doubtful", "different")


def unpacked(path: Path, part: str, most: int | None = None) -> np.ndarray:
    """uint8 (n, 3, H, W): the first `most` images of a part."""
    with np.load(path) as packed:
        header, data = packed["header"].tobytes(), packed[f"{part}_data"].tobytes()
        ends = packed[f"{part}_offsets"][: None if most is None else most + 1]
    files = (io.BytesIO(header + data[a:b]) for a, b in pairwise(ends))
    return np.stack([np.asarray(Image.open(file).convert("RGB")) for file in files]).transpose(0, 3, 1, 2)


def reported_pairs(of_train: np.ndarray, of_test: np.ndarray) -> list[tuple[int, int]]:
    """Test and training rows that share a set; number of the set by row, -1 in none."""
    tests = np.flatnonzero(of_test >= 0).tolist()
    return [(row, int(other)) for row in tests for other in np.flatnonzero(of_train == of_test[row])]


def false_pairs(
    reported: list[tuple[int, int]], listed: set[tuple[int, int]], judged: dict[tuple[int, int], str], compared: int
) -> dict[str, Any]:
    """How many of the reported pairs are false, among them and among all `compared` pairs."""
    unlisted = [pair for pair in reported if pair not in listed]
    verdicts = Counter(judged.get(pair, "unjudged") for pair in unlisted)
    false, most = verdicts["different"], len(unlisted) - verdicts["copy"]
    return {
        "reported": len(reported),
        "listed": len(reported) - len(unlisted),
        "unlisted": {name: verdicts[name] for name in (*VERDICTS, "unjudged")},
        "false_of_reported": round(false / max(len(reported), 1), 4),
        "false_of_reported_at_most": round(most / max(len(reported), 1), 4),
        "false_of_compared_at_most": most / compared,
        "test_images_in_false_pairs": len({pair[0] for pair in unlisted if judged.get(pair) == "different"}),
    }


def measure(
    train: np.ndarray,
    test: np.ndarray,
    pairs: np.ndarray,
    kinds: np.ndarray,
    judged: dict[tuple[int, int], str],
) -> dict[str, Any]:
    """Figures for images uint8 (n, 3, H, W); pairs int64 (p, 2) of test and training rows, kinds int (p,); judged: what
    a look at unlisted pairs said."""
    images = np.concatenate([train, test, train[:PLANTED]])
    count, codes = len(images), np.full(len(images), "VALID", dtype=object)
    sizes = np.full((count, 2), images.shape[-1], np.int32)
    began = time.monotonic()
    sets = near_sets(Pixels(images, np.arange(count), codes, codes, sizes)).sets
    seconds = time.monotonic() - began
    found = sets[len(train) + pairs[:, 0]]
    found = (found >= 0) & (found == sets[pairs[:, 1]])
    of_test = sets[len(train) : len(train) + len(test)]
    unlisted = np.setdiff1d(np.flatnonzero(of_test >= 0), pairs[:, 0])
    listed = {(int(one), int(other)) for one, other in pairs}
    sizes_of_sets = np.bincount(sets[sets >= 0])
    return {
        "images": count,
        "seconds": round(seconds, 1),
        "recall": {str(kind): round(float(found[kinds == kind].mean()), 4) for kind in np.unique(kinds)},
        "recall_exact_planted": float((sets[-PLANTED:] == sets[:PLANTED])[sets[:PLANTED] >= 0].sum() / PLANTED),
        "test_images_unlisted": len(unlisted),
        "test_images_unlisted_share": round(len(unlisted) / len(test), 5),
        "pairs": false_pairs(
            reported_pairs(sets[: len(train)], of_test), listed, judged, compared=len(train) * len(test)
        ),
        "sets": len(sizes_of_sets),
        "largest_set": int(sizes_of_sets.max(initial=0)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--judged", type=Path, default=JUDGED, help="pairs off the list that were looked at")
    options = parser.parse_args(arguments)
    with np.load(options.truth) as truth:
        pairs, kinds = truth["dup_test_train"], truth["dup_test_train_kind"]
    train, test = (unpacked(options.images, part) for part in ("train", "test"))
    table = pd.read_csv(options.judged)
    judged = dict(zip(zip(table["test"], table["train"], strict=True), table["verdict"], strict=True))
    print(json.dumps(measure(train, test, pairs.astype(np.int64), kinds, judged), indent=1))


if __name__ == "__main__":
    main()
