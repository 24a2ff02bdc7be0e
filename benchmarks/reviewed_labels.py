"""What 200 reviewed labels are worth on the sample data.

    python benchmarks/reviewed_labels.py

For each seed: train, let a reviewer who knows the truth decide about the 200 top-ranked rows (keep the right labels,
relabel the wrong ones), train again with `--reviewed`. Prints one Markdown table. Besides the figures over all rows,
which the reviewed ones improve by themselves, it gives those over the rows that nobody looked at.
"""

import argparse
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
from sklearn.metrics import roc_auc_score

from sample_data import DIGITS, read_text_table, read_truth
from sample_data import train as train_anew
from scanmix_cli.evidence.verdicts import KEEP, RELABEL
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions
from scanmix_cli.report.files import read_report

TITLES = {
    "accuracy": "test accuracy",
    "rows_right": "share of rows right in `cleaned.csv`",
    "rest_right": "the same, of the rows not reviewed",
    "auroc": "label-error AUROC",
    "rest_auroc": "the same, of the rows not reviewed",
}


@dataclass(frozen=True)
class Figures:
    """All in 0..1, more is better."""

    accuracy: float
    rows_right: float
    rest_right: float
    auroc: float
    rest_auroc: float


def review(run: Path, truth: pd.Series, number: int) -> list[str]:
    """Decide as the truth says about the `number` top-ranked rows; returns their file names."""
    report = read_report(run)
    top = report[report["rank"].notna()].sort_values("rank").head(number)
    choices = [
        Choice(int(row), name, KEEP) if truth[name] == given else Choice(int(row), name, RELABEL, truth[name])
        for row, name, given in zip(top.index, top["filename"], top["given_label"], strict=True)
    ]
    with open_decisions(run) as log:
        log.record_all(choices, who="truth", source="benchmark")
    return top["filename"].tolist()


def figures(run: Path, truth: pd.Series, reviewed: list[str]) -> Figures:
    """Score a run against the truth, over all rows and over those not in `reviewed`."""
    report, cleaned = read_text_table(run / "report.csv"), read_text_table(run / "cleaned.csv")
    train = report[report["split"] == "train"].set_index("filename").loc[truth.index]
    held_out = report[report["split"] != "train"]
    right = cleaned.set_index("file_name")["label"].reindex(truth.index, fill_value="") == truth
    wrong, p = train["given_label"] != truth, train["p_mislabeled"].astype(float)
    rest = ~truth.index.isin(reviewed)
    return Figures(
        accuracy=float((held_out["predicted_label"] == held_out["given_label"]).mean()),
        rows_right=float(right.mean()),
        rest_right=float(right[rest].mean()),
        auroc=float(roc_auc_score(wrong, p)),
        rest_auroc=float(roc_auc_score(wrong[rest], p[rest])),
    )


def table(before: list[Figures], after: list[Figures]) -> str:
    """Markdown: before and after, the mean over seeds, and every seed."""
    lines = ["| | before | after | each seed |", "| --- | --- | --- | --- |"]
    for name, title in TITLES.items():
        first, then = ([asdict(one)[name] for one in runs] for runs in (before, after))
        each = ", ".join(f"{a:.4f} → {b:.4f}" for a, b in zip(first, then, strict=True))
        lines.append(f"| {title} | {sum(first) / len(first):.4f} | {sum(then) / len(then):.4f} | {each} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0 to this less one (default: 3)")
    parser.add_argument("--reviewed", type=int, default=200, help="rows to decide about (default: 200)")
    parser.add_argument("--out", type=Path, default=Path("scanmix-runs/reviewed-labels"), help="folder for the runs")
    options = parser.parse_args()

    truth = read_truth(DIGITS)
    before, after = [], []
    for seed in range(options.seeds):
        first, then = options.out / f"seed-{seed}", options.out / f"seed-{seed}-reviewed"
        for run in (first, then):  # an earlier call's decisions, which --overwrite would spare
            for left in run.glob("decisions.sqlite*"):
                left.unlink()
        train_anew(DIGITS, seed, first)
        reviewed = review(first, truth, options.reviewed)
        train_anew(DIGITS, seed, then, "--reviewed", str(first))
        before.append(figures(first, truth, reviewed))
        after.append(figures(then, truth, reviewed))
        print(f"seed {seed}: {before[-1]} -> {after[-1]}", file=sys.stderr)
    print(table(before, after))


if __name__ == "__main__":
    main()
