"""What scanmix reaches on the sample data, beside plain cross-entropy training of the same network for the same time.

    python benchmarks/sample_data.py > table.md

trains once a seed (0 to 4) and prints one Markdown table. The true labels are read here, after training, and only here.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from scanmix_cli.data.cache import default_cache_dir
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.sources import read_samples
from scanmix_cli.engine.budget import Budget
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.evidence.verdicts import judge
from scanmix_cli.method.methods import METHODS
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.profiles import fast
from scanmix_cli.report.files import cleaned_labels
from scanmix_cli.report.table import build_report
from scanmix_cli.workflow.classifier import make_classifier
from scanmix_cli.workflow.facts import train_rows
from scanmix_cli.workflow.request import read_request
from scanmix_cli.workflow.sets import image_set

REPOSITORY = Path(__file__).resolve().parents[1]
DIGITS = REPOSITORY / "sample_data" / "digits"
ROWS = {
    "auroc": "label-error AUROC",
    "rows_right": "share of rows right in `cleaned.csv`",
    "accuracy": "test accuracy",
}


@dataclass(frozen=True)
class Figures:
    """What one training reached; all in 0..1, more is better."""

    auroc: float  # of p_mislabeled, for telling the wrong training labels from the right ones
    rows_right: float  # training rows with their true label in cleaned.csv; a row left out is not right
    accuracy: float  # predicted label = label on the held-out rows


def read_text_table(path: Path) -> pd.DataFrame:
    """A CSV with every cell as the text that stands there."""
    return pd.read_csv(path, dtype=str, na_filter=False)


def read_truth(data: Path) -> pd.Series:
    """The true labels, text, by file name relative to `data`."""
    table = read_text_table(data / "truth.csv")
    return pd.Series(table["label"].to_numpy(), index="train/" + table["file_name"])


def figures(report: pd.DataFrame, cleaned: pd.DataFrame, truth: pd.Series) -> Figures:
    """Score report.csv and cleaned.csv, as text, against the true labels."""
    train = report[report["split"] == "train"].set_index("filename").loc[truth.index]
    held_out = report[report["split"] != "train"]
    labels = cleaned.set_index("file_name")["label"].reindex(truth.index, fill_value="")
    return Figures(
        auroc=float(roc_auc_score(train["given_label"] != truth, train["p_mislabeled"].astype(float))),
        rows_right=float((labels == truth).mean()),
        accuracy=float((held_out["predicted_label"] == held_out["given_label"]).mean()),
    )


def train(data: Path, seed: int, run: Path, *options: str) -> dict:
    """Train in a process of its own, as a user without outside weights does; returns summary.json."""
    command = [sys.executable, "-m", "scanmix_cli", "train", str(data), "--seed", str(seed), "--out", str(run)]
    subprocess.run([*command, "--weights", "none", *options, "--overwrite"], check=True, stdout=sys.stderr)
    return json.loads((run / "summary.json").read_text(encoding="utf-8"))


def cross_entropy(data: Path, run: Path, summary: dict, truth: pd.Series) -> Figures:
    """Plain cross-entropy training of the same network for as many seconds as the run's own training took."""
    samples = read_samples(data)
    request, given = read_request(run / "config.toml", {})
    assert given is not None
    profile = given.profile(fast.CPU)  # all of it: the file of a finished run is complete
    pixels = load_pixels(samples, profile.stored_size, workers=2, cache_dir=default_cache_dir())
    seconds = sum(taken for stage, taken in summary["seconds"].items() if stage not in ("decoding", "total"))
    budget = Budget(seconds, {"cross-entropy": 1.0})
    context = Context(choose_compute(request.device, request.precision), request.seed, budget=budget)
    rows, ids = train_rows(samples, pixels), samples.label_ids()
    images = image_set(pixels, rows, ids, samples, profile, context)
    endless = replace(profile, supervised=replace(profile.supervised, epochs=100_000))
    outcome = METHODS["cross-entropy"](images, endless, Monitor(), context, None)
    assert outcome.evidence is not None
    verdicts = judge(outcome.evidence, ids[rows], None)
    others = np.setdiff1d(pixels.rows, rows)
    classifier = make_classifier(outcome.nets, profile, samples.classes)
    predicted = classifier.probabilities(pixels.images[np.searchsorted(pixels.rows, others)], context.compute).argmax(1)
    report = build_report(samples, pixels, verdicts, rows, (others, predicted))
    return figures(report, cleaned_labels(report), truth)


def table(columns: Mapping[str, Sequence[Figures]]) -> str:
    """Markdown: a row per figure, a column with mean and worst over seeds per method."""
    lines = [
        "| | " + " | ".join(f"{name}, mean | worst" for name in columns) + " |",
        "| --- |" + " --- | --- |" * len(columns),
    ]
    for field, title in ROWS.items():
        cells = []
        for runs in columns.values():
            values = [asdict(run)[field] for run in runs]
            cells += [f"{sum(values) / len(values):.4f}", f"{min(values):.4f}"]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="train with seeds 0 to this less one (default: 5)")
    parser.add_argument("--out", type=Path, default=Path("scanmix-runs/sample-data"), help="folder for the runs")
    options = parser.parse_args()

    truth = read_truth(DIGITS)
    columns: dict[str, list[Figures]] = {"scanmix": [], "cross-entropy": []}
    seconds = []
    for seed in range(options.seeds):
        run = options.out / f"seed-{seed}"
        summary = train(DIGITS, seed, run)
        seconds.append(summary["seconds"]["total"])
        reached = figures(read_text_table(run / "report.csv"), read_text_table(run / "cleaned.csv"), truth)
        columns["scanmix"].append(reached)
        print(f"seed {seed}: scanmix {reached}", file=sys.stderr)
        plain = cross_entropy(DIGITS, run, summary, truth)
        columns["cross-entropy"].append(plain)
        print(f"seed {seed}: cross-entropy {plain}", file=sys.stderr)
    print(table(columns))
    day = datetime.now(timezone.utc).date()
    print(
        f"\n{options.seeds} seeds, {day}, {summary['device']}, a run {sum(seconds) / len(seconds):.0f} s in the mean "
        f"and {max(seconds):.0f} s at most: `python benchmarks/sample_data.py`"
    )


if __name__ == "__main__":
    main()
