"""How well wrong labels are found, from the cells that `scanmix bench` keeps: docs/results/detection.json and a table.

    python benchmarks/detection.py RESULTS... --command "scanmix bench cifar10 ..." --out docs/results/detection.json

judges the evidence of every cell (`cells/*.npz`) anew with the code at hand, so verdicts can be mended without
training, and prints one Markdown table. The true labels are read here, for scoring only.

    scanmix bench test.csv --noise none --methods scanmix --out test-labels
    python benchmarks/detection.py test-labels --errors test_truth.npz

With --errors, a file whose `mturk_index` and `mturk_is_error` name human-confirmed errors by row, the data set's own
labels are what is doubted, so the cells are those of --noise none; test.csv names the images in the data set's order.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from scanmix_cli.bench.kept_evidence import KeptEvidence, load_cell_evidence
from scanmix_cli.bench.scores import detection_scores
from scanmix_cli.evidence.verdicts import Verdicts, judge

FIRST = (100, 500, 2_000)  # expected against real errors among the first so many
LOOKED_AT = (10, 25, 50, 100)  # hits among the first so many, where few errors are known
COLUMNS = (
    "data", "auroc", "ap", "f1_at_cut", "best_f1", "flag_all_f1", "ece", "noise_rate", "estimated_noise_rate",
    "interval", "flagged_share",
)  # fmt: skip


def record(cell: dict[str, Any], kept: KeptEvidence, verdicts: Verdicts, wrong: np.ndarray) -> dict[str, Any]:
    """One line of detection.json; wrong bool (N,), by the true labels."""
    found = detection_scores(wrong, verdicts.p_mislabeled, verdicts.is_label_issue)
    rate = verdicts.noise_rate
    order = np.argsort(verdicts.rank)
    first = {
        str(k): {
            "expected": round(float(verdicts.p_mislabeled[order[:k]].sum()), 1),
            "real": int(wrong[order[:k]].sum()),
        }
        for k in FIRST
        if k <= len(order)
    }
    kind = {"data": f"{cell['dataset']}, {cell['noise']} {cell['rate'] or 0:g}, {cell['method']}, seed {cell['seed']}"}
    figures = {
        "auroc": found["auroc"],
        "ap": found["ap"],
        "f1_at_cut": found["f1"],
        "best_f1": found["best_f1"],
        "flag_all_f1": found["flag_all_f1"],
        "ece": found["calibration_error"],
        "noise_rate": float(wrong.mean()),
        "estimated_noise_rate": rate.estimate,
        "interval": [round(rate.low, 4), round(rate.high, 4)],
        "covered": bool(rate.low <= wrong.mean() <= rate.high),
        "flagged_share": found["flagged_share"],
        "predicted_right": None if kept.clean is None else float((verdicts.suggested == kept.clean).mean()),
    }
    rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()}
    return kind | rounded | {"kind_of_noise": verdicts.noise_kind, "first": first}


def confirmed(verdicts: Verdicts, errors: np.ndarray, images: int) -> dict[str, Any]:
    """Scores on a set with few confirmed errors, row numbers int64 (n,): the rest counts as right."""
    wrong = np.zeros(images, bool)
    wrong[errors] = True
    order = np.argsort(verdicts.rank)
    return {
        "confirmed_errors": len(errors),
        "ap": round(float(average_precision_score(wrong, verdicts.p_mislabeled)), 4),
        "auroc": round(float(roc_auc_score(wrong, verdicts.p_mislabeled)), 4),
        "hits": {str(k): int(wrong[order[:k]].sum()) for k in LOOKED_AT},
        "estimated_noise_rate": round(verdicts.noise_rate.estimate, 4),
        "flagged_share": round(float(verdicts.is_label_issue.mean()), 4),
        "top": order[:25].tolist(),
    }


def judge_cells(folder: Path, errors: Path | None) -> list[dict[str, Any]]:
    """A record for every cell of a results folder that keeps evidence and knows the true labels."""
    records = []
    for path in sorted(folder.glob("cells/*.npz")):
        cell = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        kept = load_cell_evidence(path)
        verdicts = judge(kept.evidence, kept.given, kept.neighbors)
        origin = {"device": cell["device"], "date": cell["date"][:10]}
        if errors is not None:
            with np.load(errors) as truth:
                rows = truth["mturk_index"][truth["mturk_is_error"]]
            found = confirmed(verdicts, rows, len(kept.given))
            records.append({"data": f"{cell['dataset']}, its own labels, {cell['method']}"} | found | origin)
        elif kept.clean is not None:
            records.append(record(cell, kept, verdicts, kept.given != kept.clean) | origin)
        print(records[-1]["data"] if records else path.name, file=sys.stderr)
    return records


def markdown(records: Sequence[dict[str, Any]]) -> str:
    """The table of the README and the results page."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(shown(row.get(name)) for name in COLUMNS)} |" for row in records]
    return "\n".join(lines) + "\n"


def shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " to ".join(f"{part:.3f}" for part in value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path, help="folders that `scanmix bench --out` wrote")
    parser.add_argument("--out", type=Path, help="detection.json; records of the same data are replaced")
    parser.add_argument("--command", default="", help="what made the results, kept in every record")
    parser.add_argument("--errors", type=Path, help="npz with the human-confirmed errors of the data set itself")
    options = parser.parse_args(arguments)
    found = [row for folder in options.results for row in judge_cells(folder, options.errors)]
    records = [row | {"command": options.command} for row in found]
    if options.out is not None:
        before = json.loads(options.out.read_text(encoding="utf-8")) if options.out.is_file() else []
        new = {row["data"] for row in records}
        kept = [row for row in before if row["data"] not in new]
        options.out.write_text(json.dumps(kept + records, indent=1) + "\n", encoding="utf-8")
    print(markdown(records), end="")


if __name__ == "__main__":
    main()
