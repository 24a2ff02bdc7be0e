"""Small sets: `scanmix train` as a user runs it beside cross-entropy and cleanlab's ranking, the same time allowed.

    python ../shared/tools/unpack_data.py folder clothing --set clothing80
    python benchmarks/small_sets.py clothing --time-budget 8m
    python ../shared/tools/unpack_data.py folder cifar --set cifar10 --per-class 100
    python benchmarks/small_sets.py cifar --time-budget 3m --seeds 0 1 2

TREE holds train/CLASS/FILE and test/CLASS/FILE. For every seed 20 % of the training labels are replaced by another
class, drawn evenly. `auto` is `scanmix train` from the files on, with the outside weights that it chooses for itself;
`auto, no weights` the same with `--weights none`; cross-entropy and cleanlab are cells of `scanmix bench`, which train
from scratch and count training alone: by their own schedules, which the budget shortens and does not lengthen, or with
`--epochs` (on two cores 145 of cross-entropy and 34 of cleanlab's take the seven minutes of clothing). True labels
serve for scoring alone. A line a seed and method: accuracy on the test part, AUROC of wrong against right labels, share
of labels right after cleaning, estimated share of wrong labels, minutes.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from clothing import scores, train

from scanmix_cli.bench.markdown import decimal, percent, table

RATE = 0.2
HEADER = ("seed", "method", "test", "AUROC", "labels right", "estimated wrong", "minutes")


def write_tables(tree: Path, seed: int, folder: Path) -> pd.DataFrame:
    """`truth.csv` and `noisy.csv` of path and label, and `noisy.npy` with the class numbers; returns path and truth."""
    files = sorted((tree / "train").absolute().glob("*/*.*"))
    if not files:
        raise SystemExit(f"{tree} holds no train/CLASS/FILE: unpack the pictures first (see the head of this file)")
    names = np.array(sorted({file.parent.name for file in files}))
    truth = np.searchsorted(names, [file.parent.name for file in files])
    rng = np.random.default_rng(seed)
    wrong = rng.permutation(len(truth))[: round(RATE * len(truth))]
    given = truth.copy()
    given[wrong] = (given[wrong] + rng.integers(1, len(names), len(wrong))) % len(names)
    rows = pd.DataFrame({"path": [str(file) for file in files], "label": names[truth]})
    for name, labels in (("truth", truth), ("noisy", given)):
        rows.assign(label=names[labels]).to_csv(folder / f"{name}.csv", index=False, quoting=csv.QUOTE_ALL)
    np.save(folder / "noisy.npy", given)
    return rows


def trained(
    folder: Path, rows: pd.DataFrame, tree: Path, seed: int, budget: str, options: list[str]
) -> tuple[str, list[str]]:
    """`scanmix train` on the noisy table, cold cache; the weights that it chose and its scores for the table."""
    run = folder / "run"
    options = ["--test", str(tree / "test"), "--time-budget", budget, *options]
    with tempfile.TemporaryDirectory() as cache:
        summary = train(folder / "noisy.csv", run, seed, Path(cache), options)
    found = scores(run, rows["label"], summary)
    return summary["weights"], [
        percent(summary["accuracy"]["test_accuracy"]),
        decimal(found["auroc"]),
        percent(found["right_after_cleaning"]),
        percent(found["estimated_wrong"]),
        f"{found['minutes']:.1f}",
    ]


def benched(folder: Path, tree: Path, seed: int, budget: str, methods: str, options: list[str]) -> list[dict]:
    """Cells of `scanmix bench` on the same labels."""
    out = folder / "bench"
    command = [sys.executable, "-m", "scanmix_cli", "bench", str(folder / "truth.csv"), "--test", str(tree / "test")]
    command += ["--noise", f"file:{folder / 'noisy.npy'}", "--methods", methods, "--seed", str(seed)]
    subprocess.run([*command, "--time-budget", budget, "--out", str(out), *options], check=True, stdout=sys.stderr)
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((out / "cells").glob("*.json"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="train/CLASS/FILE and test/CLASS/FILE as unpacked")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--time-budget", default="8m")
    parser.add_argument("--methods", default="cross-entropy,cleanlab", help="cells of scanmix bench")
    parser.add_argument("--epochs", type=int, default=0, help="of these cells; 0: their own schedules")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("scanmix-runs/small-sets"), help="folder for the runs")
    given = parser.parse_args()
    tree, budget, device = given.tree.absolute(), given.time_budget, ["--device", given.device]
    lines = []
    for seed in given.seeds:
        folder = (given.out / f"{tree.name}-{seed}").absolute()
        folder.mkdir(parents=True, exist_ok=True)
        rows = write_tables(tree, seed, folder)
        weights, figures = trained(folder, rows, tree, seed, budget, device)
        lines.append([str(seed), f"auto, {weights or 'no weights'}", *figures])
        if weights:
            _, figures = trained(folder, rows, tree, seed, budget, ["--weights", "none", *device])
            lines.append([str(seed), "auto, --weights none", *figures])
        epochs = ["--epochs", str(given.epochs)] if given.epochs else []
        for cell in benched(folder, tree, seed, budget, given.methods, [*epochs, *device]):
            figures = [percent(cell["last"]), decimal(cell["auroc"]), percent(cell["share_right"])]
            figures += [percent(cell["noise_rate_estimate"]), f"{cell['minutes']:.1f}"]
            lines.append([str(seed), cell["method"], *figures])
    print(table(HEADER, lines))


if __name__ == "__main__":
    main()
