"""What knowing the truth would bring: wrong labels found by a network that was trained on the true ones.

    python benchmarks/ceiling.py cifar10 --data-dir DATA --noise human-worst --noise "sym 0.9" --out ceiling.npy
    python benchmarks/ceiling.py sample_data/digits --noise "sym 0.4" --device cpu --epochs 1 --out toy.npy

Five folds: every image is looked at by a network of the profile's kind that learned the true labels of the other four.
A label is as suspect as that network finds it unlikely. No method that has to do without the truth, on the same images
with the same network and schedule, is expected above these figures. `--out` keeps the probabilities (N, C) and is read
where it exists. Prints a Markdown table: share of wrong labels, accuracy on images not seen, AUROC, best F1.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_auc_score

from scanmix_cli.bench.cleanlab_method import out_of_fold
from scanmix_cli.bench.injected import noisy_labels
from scanmix_cli.bench.markdown import decimal, percent, table
from scanmix_cli.bench.method_run import image_set
from scanmix_cli.bench.request import BenchRequest
from scanmix_cli.bench.runner import Bench, open_bench
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.progress import make_reporter

HEADER = ("noise", "wrong", "accuracy", "AUROC", "best F1")


def scores(probabilities: np.ndarray, given: np.ndarray, clean: np.ndarray) -> tuple[float, float, float, float]:
    """Share of wrong labels, accuracy, AUROC and best F1 of 1 - p(given); probabilities (N, C), labels int64 (N,)."""
    wrong, suspect = given != clean, 1 - probabilities[np.arange(len(given)), given]
    precision, recall, _ = precision_recall_curve(wrong, suspect)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    right = float((probabilities.argmax(axis=1) == clean).mean())
    return float(wrong.mean()), right, float(roc_auc_score(wrong, suspect)), float(f1.max())


def unseen(bench: Bench, epochs: int) -> np.ndarray:
    """float64 (N, C): what networks trained on true labels say of images that they have not seen."""
    profile = bench.profile
    if epochs:
        profile = replace(profile, supervised=replace(profile.supervised, epochs=epochs))
    train = bench.data.train
    images = image_set(bench.data, train, train.labels, profile, bench.compute)
    return out_of_fold(images, profile, 0.0, Context(bench.compute, 0, bench.reporter))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", help="data set or folder, as for scanmix bench")
    parser.add_argument("--noise", action="append", required=True, metavar="'NAME [RATE]'")
    parser.add_argument("--out", type=Path, required=True, help="probabilities, float32 (N, C)")
    parser.add_argument("--epochs", type=int, default=0, help="of each fold (default: the profile's)")
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    request = BenchRequest(
        target=options.target,
        data_dir=options.data_dir,
        out=options.out.parent,
        noise="none",
        methods=("cross-entropy",),
        download=False,
        device=options.device,
    )
    reporter = make_reporter(False)
    bench = open_bench(request, reporter)
    if not options.out.exists():
        options.out.parent.mkdir(parents=True, exist_ok=True)
        np.save(options.out, unseen(bench, options.epochs).astype(np.float32))
    reporter.close()
    probabilities, data, rows = np.load(options.out), bench.data, []
    for noise in options.noise:
        name, _, rate = noise.partition(" ")
        asked = replace(request, noise=name, rate=float(rate) if rate else None)
        given = noisy_labels(asked, data.classes, data.train.labels, data.given, 0, data.images)
        wrong, right, auroc, f1 = scores(probabilities, given.labels, data.train.labels)
        rows.append([noise, percent(wrong), percent(right), decimal(auroc), decimal(f1)])
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
