"""How well wrong labels are found, from the cells that `scanmix bench` keeps: docs/results/detection.json and a table.

    python benchmarks/detection.py RESULTS... --out docs/results/detection.json

judges the evidence of every cell (`cells/*.npz`) anew with the code at hand, so verdicts can be mended without
training, and prints one Markdown table. Every record names the commit that judged it (`commit`). The true labels are
read here, for scoring only. Cells of methods that keep no evidence (cleanlab: its own ranking and filter on out-of-fold
probabilities of the same network) are scored by the opinion that they kept, so that they stand in the same table:

    scanmix bench cifar10 --noise human-worst --methods scanmix,cleanlab --out RESULTS

    scanmix bench test.csv --noise none --methods scanmix --out test-labels
    python benchmarks/detection.py test-labels --errors test_truth.npz

With --errors, a file whose `mturk_index` and `mturk_is_error` name human-confirmed errors by row, the data set's own
labels are what is doubted, so the cells are those of --noise none; test.csv names the images in the data set's order.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from scanmix_cli.bench.kept_evidence import PREFIX, load_cell_evidence
from scanmix_cli.bench.machine import commit
from scanmix_cli.bench.scores import detection_scores
from scanmix_cli.evidence.verdicts import judge

FIRST = (100, 500, 2_000)  # expected against real errors among the first so many
LOOKED_AT = (10, 25, 50, 100)  # hits among the first so many, where few errors are known
COLUMNS = (
    "data", "auroc", "ap", "f1_at_cut", "best_f1", "flag_all_f1", "ece", "noise_rate", "estimated_noise_rate",
    "interval", "flagged_share",
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """What a method says of N labels, and the labels int64 (N,) themselves."""

    p_mislabeled: np.ndarray
    is_label_issue: np.ndarray
    suggested: np.ndarray
    order: np.ndarray  # int64 (N,): the most suspect first
    noise_rate: float
    interval: tuple[float, float] | None  # None where the method gives none
    noise_kind: str
    given: np.ndarray
    clean: np.ndarray | None  # None where they are not known

    @classmethod
    def of_evidence(cls, path: Path) -> "Judged":
        """The evidence of a cell judged anew."""
        kept = load_cell_evidence(path)
        verdicts = judge(kept.evidence, kept.given, kept.neighbors)
        rate = verdicts.noise_rate
        return cls(
            verdicts.p_mislabeled,
            verdicts.is_label_issue,
            verdicts.suggested,
            np.argsort(verdicts.rank),
            rate.estimate,
            (rate.low, rate.high),
            verdicts.noise_kind,
            kept.given,
            kept.clean,
        )

    @classmethod
    def of_opinion(cls, path: Path, cell: dict[str, Any]) -> "Judged":
        """What a method without evidence said when it ran."""
        with np.load(path) as kept:
            p, given = kept["p_mislabeled"].astype(np.float64), kept["given"].astype(np.int64)
            clean = kept["clean"].astype(np.int64) if "clean" in kept.files else None
            flagged, suggested = kept["flagged"], kept["suggested"].astype(np.int64)
        order = np.argsort(-p, kind="stable")
        return cls(p, flagged, suggested, order, cell["noise_rate_estimate"], None, "", given, clean)


def judged(path: Path, cell: dict[str, Any]) -> Judged:
    """The cell whose arrays lie at `path`."""
    with np.load(path) as kept:
        has_evidence = any(name.startswith(PREFIX) for name in kept.files)
    return Judged.of_evidence(path) if has_evidence else Judged.of_opinion(path, cell)


def record(cell: dict[str, Any], verdicts: Judged, wrong: np.ndarray) -> dict[str, Any]:
    """One line of detection.json; wrong bool (N,), by the true labels."""
    found = detection_scores(wrong, verdicts.p_mislabeled, verdicts.is_label_issue)
    order, interval = verdicts.order, verdicts.interval
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
        "estimated_noise_rate": verdicts.noise_rate,
        "interval": interval and [round(end, 4) for end in interval],
        "covered": interval and bool(interval[0] <= wrong.mean() <= interval[1]),
        "flagged_share": found["flagged_share"],
        "predicted_right": float((verdicts.suggested == verdicts.clean).mean()),
    }
    rounded = {name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()}
    return kind | rounded | {"kind_of_noise": verdicts.noise_kind, "first": first}


def confirmed(verdicts: Judged, errors: np.ndarray, images: int) -> dict[str, Any]:
    """Scores on a set with few confirmed errors, row numbers int64 (n,): the rest counts as right."""
    wrong = np.zeros(images, bool)
    wrong[errors] = True
    order = verdicts.order
    return {
        "confirmed_errors": len(errors),
        "ap": round(float(average_precision_score(wrong, verdicts.p_mislabeled)), 4),
        "auroc": round(float(roc_auc_score(wrong, verdicts.p_mislabeled)), 4),
        "hits": {str(k): int(wrong[order[:k]].sum()) for k in LOOKED_AT},
        "estimated_noise_rate": round(verdicts.noise_rate, 4),
        "flagged_share": round(float(verdicts.is_label_issue.mean()), 4),
        "top": order[:25].tolist(),
    }


def judge_cells(folder: Path, errors: Path | None) -> list[dict[str, Any]]:
    """A record for every cell of a results folder that judges labels and knows the true ones."""
    records = []
    for path in sorted(folder.glob("cells/*.npz")):
        cell = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        verdicts = judged(path, cell)
        origin = {"device": cell["device"], "date": cell["date"][:10], "command": cell.get("command", "")}
        if errors is not None:
            with np.load(errors) as truth:
                rows = truth["mturk_index"][truth["mturk_is_error"]]
            found = confirmed(verdicts, rows, len(verdicts.given))
            records.append({"data": f"{cell['dataset']}, its own labels, {cell['method']}"} | found | origin)
        elif verdicts.clean is not None:
            records.append(record(cell, verdicts, verdicts.given != verdicts.clean) | origin)
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
    parser.add_argument("--command", help="what made the results, kept in every record (default: as the cell says)")
    parser.add_argument("--commit", help="of the code that judges, kept in every record (default: the checkout's)")
    parser.add_argument("--errors", type=Path, help="npz with the human-confirmed errors of the data set itself")
    options = parser.parse_args(arguments)
    found = [row for folder in options.results for row in judge_cells(folder, options.errors)]
    known = {"commit": options.commit or commit()} | ({} if options.command is None else {"command": options.command})
    records = [row | known for row in found]
    if options.out is not None:
        before = json.loads(options.out.read_text(encoding="utf-8")) if options.out.is_file() else []
        new = {row["data"] for row in records}
        kept = [row for row in before if row["data"] not in new]
        options.out.write_text(json.dumps(kept + records, indent=1) + "\n", encoding="utf-8")
    print(markdown(records), end="")


if __name__ == "__main__":
    main()
