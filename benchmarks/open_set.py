"""Images of no known class among wrong labels: does `outlier_score` tell them from the others?

    python benchmarks/open_set.py --data ../shared/data --images 5000 --weights efficientnet-lite0 --image-size 64
    python benchmarks/open_set.py --data ../shared/data --images 50000 --device cuda

20 % of the images are mini-ImageNet pictures under a CIFAR-10 label drawn evenly; classes that CIFAR-10 has too (dogs,
birds, ships, a truck) are left out. The others are CIFAR-10 training images, a fifth of them under another class.
Images and labels are drawn by the seed. `scanmix train` runs as a user would run it (options that are not known here
are handed to it). Printed: AUROC of `outlier_score`, which is low for what fits no class, against wrong labels of known
classes and against right ones; AUROC of `p_mislabeled`; shares called label issue and outlier, and actions, of the
three kinds. --record FILE puts the figures into detection.json as well.
"""

import argparse
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from clothing import train
from detection import Judged, first, origin, put
from detection import figures as label_figures
from sklearn.metrics import roc_auc_score

from sample_data import read_text_table

OPEN, WRONG = 0.2, 0.2  # share of all images; of the CIFAR-10 ones
RIGHT_KIND, WRONG_KIND, OPEN_KIND = "right", "wrong", "no known class"
KNOWN = {
    *("house finch", "robin", "toucan", "goose", "Walker hound", "Ibizan hound", "Saluki", "golden retriever"),
    *("Gordon setter", "komondor", "boxer", "Tibetan mastiff", "French bulldog", "malamute", "dalmatian"),
    *("Newfoundland", "miniature poodle", "aircraft carrier", "catamaran", "yawl", "garbage truck"),
}


def texts(names: np.ndarray) -> list[str]:
    return [str(name, "utf-8") if isinstance(name, bytes) else str(name) for name in names.tolist()]


def write_images(packed: Any, rows: np.ndarray, folder: Path) -> list[str]:
    """The training pictures `rows` of a packed set as files; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    header, content, ends = packed["header"].tobytes(), packed["train_data"].tobytes(), packed["train_offsets"]
    paths = []
    for row in rows:
        stream = io.BytesIO(header + content[ends[row] : ends[row + 1]])
        paths.append(str((folder / f"{row:05d}.jpg").absolute()))
        Path(paths[-1]).write_bytes(stream.getvalue())
    return paths


def make_set(data: Path, images: int, seed: int, folder: Path) -> pd.DataFrame:
    """Write the images and `table.csv` of their paths and labels; returns it with the column `kind`."""
    generator = np.random.default_rng(seed)
    with np.load(data / "cifar10" / "labels.npz") as labels:
        truth, classes = labels["train_clean"].astype(np.int64), texts(labels["class_names"])
    known = round((1 - OPEN) * images)
    rows = generator.permutation(len(truth))[:known]
    given = truth[rows].copy()
    wrong = generator.permutation(known)[: round(WRONG * known)]
    given[wrong] = (given[wrong] + generator.integers(1, len(classes), len(wrong))) % len(classes)
    with np.load(data / "cifar10" / "images.npz") as packed:
        paths = write_images(packed, rows, folder / "cifar10")
    with np.load(data / "mini_imagenet32" / "images.npz") as packed:
        names = texts(packed["class_names"])
        foreign = np.flatnonzero([names[label] not in KNOWN for label in packed["train_label"]])
        strangers = generator.permutation(foreign)[: images - known]
        paths += write_images(packed, strangers, folder / "mini_imagenet32")
    numbers = np.concatenate([given, generator.integers(0, len(classes), len(strangers))])
    kinds = np.full(len(paths), OPEN_KIND, dtype=object)
    kinds[:known] = np.where(given != truth[rows], WRONG_KIND, RIGHT_KIND)
    table = pd.DataFrame({"path": paths, "label": [classes[number] for number in numbers]})
    table.to_csv(folder / "table.csv", index=False)
    return table.assign(kind=kinds)


def figures(report: pd.DataFrame, kinds: np.ndarray) -> dict[str, Any]:
    """Of report.csv as text, in the order of `kinds` text (N,)."""
    strange = 1 - pd.to_numeric(report["outlier_score"]).to_numpy()
    suspicion = pd.to_numeric(report["p_mislabeled"]).to_numpy()
    stranger, wrong = kinds == OPEN_KIND, kinds == WRONG_KIND
    right = kinds == RIGHT_KIND

    def auroc(positive: np.ndarray, negative: np.ndarray, values: np.ndarray) -> float:
        both = positive | negative
        return round(float(roc_auc_score(positive[both], values[both])), 4)

    found = {
        "outlier_score, no known class against wrong": auroc(stranger, wrong, strange),
        "outlier_score, no known class against right": auroc(stranger, right, strange),
        "p_mislabeled, wrong against right": auroc(wrong, right, suspicion),
        "p_mislabeled, no known class against right": auroc(stranger, right, suspicion),
    }
    for kind in (RIGHT_KIND, WRONG_KIND, OPEN_KIND):
        rows = report[kinds == kind]
        found[kind] = {
            "label issues": round(float((rows["is_label_issue"] == "True").mean()), 4),
            "outliers": round(float((rows["is_outlier_issue"] == "True").mean()), 4),
            **{name: round(float(share), 4) for name, share in
               rows["suggested_action"].value_counts(normalize=True).sort_index().items()},
        }  # fmt: skip
    return found


def record(report: pd.DataFrame, summary: dict[str, Any], kinds: np.ndarray, found: dict[str, Any]) -> dict[str, Any]:
    """Of detection.json, without its origin: no label of an image of no known class is right; found: as `figures`."""
    said, wrong = Judged.of_report(report, summary), kinds != RIGHT_KIND
    name = f"open set, {len(kinds)} images, {summary['weights'] or 'from scratch'}, seed {summary['seed']}, scanmix"
    return {"data": name} | label_figures(said, wrong) | {"first": first(said, wrong), "open_set": found}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with cifar10/ and mini_imagenet32/")
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--out", type=Path, default=Path("scanmix-runs/open-set"), help="folder for images and run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, help="detection.json to put the figures into")
    given, options = parser.parse_known_args(arguments)  # all others are options of `scanmix train`
    kinds = make_set(given.data, given.images, given.seed, given.out)["kind"].to_numpy()
    run = given.out / "run"
    summary = train(given.out / "table.csv", run, given.seed, given.out / "cache", ["--no-html", *options])
    report = read_text_table(run / "report.csv")
    found = figures(report, kinds)
    if given.record is not None:
        asked = ["--data", str(given.data), "--images", str(given.images), "--seed", str(given.seed), *options]
        put(given.record, [record(report, summary, kinds, found) | origin(run, summary, "open_set.py", asked)])
    found |= {name: summary[name] for name in ("weights", "image_size", "device", "noise_rate")}
    print(json.dumps(found | {"seconds": summary["seconds"]["total"], "images": given.images}, indent=1))


if __name__ == "__main__":
    main()
