"""The test parts of CIFAR-10 and MNIST as data sets of their own, whose few wrong labels people have confirmed.

    python benchmarks/known_errors.py cifar10 --data ../shared/data --weights efficientnet-lite0 --image-size 64
    python benchmarks/known_errors.py mnist --data ../shared/data --time-budget 10m
    python benchmarks/known_errors.py cifar10 --data ../shared/data --device cuda
    python benchmarks/known_errors.py mnist --data ../shared/data --images 1000 --time-budget 40s

`scanmix train` runs on the 10,000 images as a user would run it (options that are not known here are handed to it).
Printed as a table: average precision and confirmed errors among the first 10, 25, 50 and 100 of its ranking, beside the
rankings by the public out-of-sample probabilities that come with the confirmed errors. What nobody has confirmed counts
as right, so precision is a lower bound. `top25.png` beside the run shows the first 25 with given and suggested label, a
frame around the confirmed ones. --record FILE puts the figures into detection.json too. --run DIR scores a finished run
of these images instead of training (no pictures then); its options are given again, they are part of the record.
"""

import argparse
import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from clothing import train
from detection import LOOKED_AT, Judged, confirmed, origin, put
from PIL import Image, ImageDraw
from sklearn.metrics import average_precision_score, roc_auc_score

from sample_data import read_text_table

SHOWN, EDGE, CAPTION = 25, 128, 34  # pictures of the sheet, pixels a side, pixels below for the words


class TestSet:
    """Image files, their labels and what is known about them."""

    def __init__(self, name: str, data: Path, most: int | None = None) -> None:
        folder = data / ("cifar10" if name == "cifar10" else "mnist_test")
        known = folder / ("test_truth.npz" if name == "cifar10" else "mnist_test.npz")
        with np.load(known) as truth:
            self.errors = np.sort(truth["mturk_index"][truth["mturk_is_error"]])
            self.public = truth["pyx"].astype(np.float64)
        if name == "cifar10":
            with np.load(folder / "labels.npz") as labels:
                self.labels = labels["test_clean"].astype(np.int64)
                self.classes = [str(text, "utf-8") if isinstance(text, bytes) else str(text) for text in
                                labels["class_names"].tolist()]  # fmt: skip
        else:
            with np.load(known) as digits:
                self.labels = digits["labels"].astype(np.int64)
            self.classes = [str(digit) for digit in range(10)]
        self.source, self.name = folder, name
        self.labels, self.public = self.labels[:most], self.public[:most]
        self.errors = self.errors[self.errors < len(self.labels)]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Name and content of every image, in the published order."""
        if self.name == "cifar10":
            with np.load(self.source / "images.npz") as packed:
                header, content = packed["header"].tobytes(), packed["test_data"].tobytes()
                ends = packed["test_offsets"]
            for row, (start, end) in enumerate(pairwise(ends)):
                yield f"{row:05d}.jpg", header + content[start:end]
            return
        with np.load(self.source / "mnist_test.npz") as digits:
            images = digits["images"]
        for row, image in enumerate(images):
            stream = io.BytesIO()
            Image.fromarray(image).save(stream, "PNG")
            yield f"{row:05d}.png", stream.getvalue()

    def write(self, folder: Path) -> Path:
        """The images and a table of paths and labels; returns the table."""
        (folder / "images").mkdir(parents=True, exist_ok=True)
        names = []
        for name, content in islice(self.files(), len(self.labels)):
            (folder / "images" / name).write_bytes(content)
            names.append(str((folder / "images" / name).absolute()))
        table = pd.DataFrame({"path": names, "label": [self.classes[label] for label in self.labels]})
        table.to_csv(folder / f"{self.name}.csv", index=False)
        return folder / f"{self.name}.csv"


def scores(suspicion: np.ndarray, errors: np.ndarray) -> dict[str, Any]:
    """Of a ranking by suspicion float (N,), high first; errors int64 (n,): rows confirmed to be wrong."""
    wrong = np.zeros(len(suspicion), bool)
    wrong[errors] = True
    order = np.argsort(-suspicion, kind="stable")
    hits = {f"first {k}": int(wrong[order[:k]].sum()) for k in LOOKED_AT}
    ap, auroc = average_precision_score(wrong, suspicion), roc_auc_score(wrong, suspicion)
    return {"ap": round(float(ap), 3), "auroc": round(float(auroc), 4)} | hits


def public_rankings(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Suspicion float (N,) by name, from out-of-sample probabilities (N, C) of a network: one minus the given label's
    probability, and how far the best other class stands above it."""
    rows = np.arange(len(labels))
    own = probabilities[rows, labels]
    others = probabilities.copy()
    others[rows, labels] = -1
    return {"public, self-confidence": 1 - own, "public, margin": others.max(axis=1) - own}


def sheet(report: pd.DataFrame, errors: np.ndarray, path: Path) -> None:
    """A picture of the first SHOWN of the ranking."""
    first = report.assign(rank=pd.to_numeric(report["rank"])).sort_values("rank").head(SHOWN)
    side = int(np.ceil(np.sqrt(len(first))))
    canvas = Image.new("RGB", (side * (EDGE + 6), side * (EDGE + CAPTION + 6)), "white")
    draw = ImageDraw.Draw(canvas)
    for place, (row, cells) in enumerate(first.iterrows()):
        left, top = place % side * (EDGE + 6) + 3, place // side * (EDGE + CAPTION + 6) + 3
        if row in errors:
            draw.rectangle((left - 3, top - 3, left + EDGE + 2, top + EDGE + 2), fill="red")
        with Image.open(cells["filename"]) as file:
            canvas.paste(file.convert("RGB").resize((EDGE, EDGE), Image.Resampling.BICUBIC), (left, top))
        draw.text((left, top + EDGE + 3), f"{cells['given_label']} > {cells['suggested_label']}", fill="black")
        draw.text((left, top + EDGE + 17), f"{row}, p {float(cells['p_mislabeled']):.3f}", fill="black")
    canvas.save(path)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("cifar10", "mnist"))
    parser.add_argument("--data", type=Path, required=True, help="folder with cifar10/ and mnist_test/")
    parser.add_argument("--out", type=Path, default=Path("scanmix-runs/test-sets"), help="folder for images and run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", type=int, help="only the first so many, to try it out")
    parser.add_argument("--run", type=Path, help="score this finished run")
    parser.add_argument("--record", type=Path, help="detection.json to put the figures into")
    given, options = parser.parse_known_args(arguments)  # all others are options of `scanmix train`
    folder = given.out / given.name
    data = TestSet(given.name, given.data, given.images)
    if not len(data.errors):
        parser.error(f"no confirmed error is among the first {len(data.labels)} images: raise --images")
    run = given.run or folder / "run"
    if given.run is None:
        summary = train(data.write(folder), run, given.seed, folder / "cache", ["--no-html", *options])
    else:
        summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    report = read_text_table(run / "report.csv")
    if len(report) != len(data.labels):
        parser.error(f"{run} judges {len(report)} images instead of {len(data.labels)}")
    if given.record is not None:
        part = [f"{given.name} test part", "its own labels", summary["weights"] or "from scratch"]
        part += [] if given.images is None else [f"the first {given.images} images"]
        part += [f"seed {given.seed}"] if given.seed else []
        asked = [given.name, "--data", str(given.data), "--seed", str(given.seed), *options]
        asked += [] if given.images is None else ["--images", str(given.images)]
        found = confirmed(Judged.of_report(report, summary), data.errors)
        put(
            given.record,
            [{"data": ", ".join([*part, "scanmix"])} | found | origin(run, summary, "known_errors.py", asked)],
        )
    rankings = {"scanmix": -pd.to_numeric(report["rank"]).to_numpy(np.float64)}
    rankings |= public_rankings(data.public, data.labels)
    if given.run is None:
        sheet(report, data.errors, folder / "top25.png")
    table = pd.DataFrame({name: scores(values, data.errors) for name, values in rankings.items()}, dtype=object).T
    told = {"confirmed_errors": len(data.errors), "noise_rate": summary["noise_rate"], "counts": summary["counts"]}
    told |= {name: summary[name] for name in ("profile", "backbone", "weights", "image_size", "device", "seconds")}
    print(json.dumps(told))
    print("| ranking | " + " | ".join(table.columns) + " |\n|" + " --- |" * (len(table.columns) + 1))
    for name, cells in table.iterrows():
        print(f"| {given.name}, {name} | " + " | ".join(f"{cell:g}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
