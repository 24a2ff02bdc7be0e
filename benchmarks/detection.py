"""How well wrong labels are found, from the cells that `scanmix bench` keeps: docs/results/detection.json and a table.

    python benchmarks/detection.py RESULTS... --out docs/results/detection.json

judges the evidence of every cell (`cells/*.npz`) anew with the code at hand, so verdicts can be mended without
training, and prints one Markdown table. A record names the commit that judged it (`commit`), but for six of 2026-11-28
that are older than the field. The true labels are read here, for scoring only. Cells of methods that keep no evidence
(cleanlab: its own ranking and filter on out-of-fold probabilities of the same network) are scored by the opinion that
they kept, so that they stand in the same table:

    scanmix bench cifar10 --noise human-worst --methods scanmix,cleanlab --out RESULTS

    scanmix bench test.csv --noise none --methods scanmix --out test-labels
    python benchmarks/detection.py test-labels --errors test_truth.npz

    python benchmarks/detection.py --page docs/results/detection.json

prints the table of docs/verdicts.md from the records that are there.

With --errors, a file whose `mturk_index` and `mturk_is_error` name human-confirmed errors by row, the data set's own
labels are what is doubted, so the cells are those of --noise none; test.csv names the images in the data set's order.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from cifar10_table import titled

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
    suggested: np.ndarray  # int64 (N,), or text, as `given`
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

    @classmethod
    def of_report(cls, report: pd.DataFrame, summary: dict[str, Any]) -> "Judged":
        """What a run says, by summary.json and report.csv as text, every row of which is judged."""
        rate = summary["noise_rate"]
        return cls(
            pd.to_numeric(report["p_mislabeled"]).to_numpy(np.float64),
            (report["is_label_issue"] == "True").to_numpy(),
            report["suggested_label"].to_numpy(),
            np.argsort(pd.to_numeric(report["rank"]).to_numpy(), kind="stable"),
            rate["estimate"],
            (rate["low"], rate["high"]),
            summary["noise_kind"],
            report["given_label"].to_numpy(),
            None,
        )


def judged(path: Path, cell: dict[str, Any]) -> Judged:
    """The cell whose arrays lie at `path`."""
    with np.load(path) as kept:
        has_evidence = any(name.startswith(PREFIX) for name in kept.files)
    return Judged.of_evidence(path) if has_evidence else Judged.of_opinion(path, cell)


def figures(verdicts: Judged, wrong: np.ndarray) -> dict[str, Any]:
    """What every record holds; wrong bool (N,)."""
    found = detection_scores(wrong, verdicts.p_mislabeled, verdicts.is_label_issue)
    interval, rate = verdicts.interval, float(wrong.mean())
    numbers = {
        "auroc": found["auroc"],
        "ap": found["ap"],
        "f1_at_cut": found["f1"],
        "best_f1": found["best_f1"],
        "flag_all_f1": found["flag_all_f1"],
        "ece": found["calibration_error"],
        "noise_rate": rate,
        "estimated_noise_rate": verdicts.noise_rate,
        "interval": interval and [round(end, 4) for end in interval],
        "covered": interval and bool(interval[0] <= rate <= interval[1]),
        "flagged_share": found["flagged_share"],
    }
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in numbers.items()}


def first(verdicts: Judged, wrong: np.ndarray) -> dict[str, dict[str, float]]:
    """Expected and real errors among the first so many of the ranking."""
    order = verdicts.order
    return {
        str(k): {
            "expected": round(float(verdicts.p_mislabeled[order[:k]].sum()), 1),
            "real": int(wrong[order[:k]].sum()),
        }
        for k in FIRST
        if k <= len(order)
    }


def record(cell: dict[str, Any], verdicts: Judged, wrong: np.ndarray) -> dict[str, Any]:
    """One line of detection.json; wrong bool (N,), by the true labels."""
    kind = {"data": f"{cell['dataset']}, {cell['noise']} {cell['rate'] or 0:g}, {settings(cell)}, seed {cell['seed']}"}
    last = {"kind_of_noise": verdicts.noise_kind, "first": first(verdicts, wrong)}
    return kind | figures(verdicts, wrong) | last


def settings(cell: dict[str, Any]) -> str:
    """The method; behind it what differs from plain `fast`, and only then the time budget."""
    if (title := titled(cell)) == cell["method"]:
        return title
    return f"{title}, {cell['time_budget']:g} s" if cell["time_budget"] else title


def confirmed(verdicts: Judged, errors: np.ndarray) -> dict[str, Any]:
    """Scores on a set with few confirmed errors, row numbers int64 (n,): the rest counts as right."""
    wrong = np.zeros(len(verdicts.given), bool)
    wrong[errors] = True
    order = verdicts.order
    suspicion = np.empty(len(order))
    suspicion[order] = np.arange(len(order), 0, -1)  # a report rounds what it ranks by
    ranked = detection_scores(wrong, suspicion, verdicts.is_label_issue)
    return figures(verdicts, wrong) | {
        **{name: round(ranked[name], 4) for name in ("auroc", "ap", "best_f1")},
        "confirmed_errors": len(errors),
        "hits": {str(k): int(wrong[order[:k]].sum()) for k in LOOKED_AT},
        "first": first(verdicts, wrong),
        "top": order[:25].tolist(),
    }


def origin(run: Path, summary: dict[str, Any], script: str, arguments: Sequence[str]) -> dict[str, Any]:
    """Where a finished run's figures come from; `script` of this folder and what it was given."""
    written = datetime.fromtimestamp((run / "summary.json").stat().st_mtime, timezone.utc)
    command = shlex.join(["python", f"benchmarks/{script}", *arguments])
    return {"device": summary["device"], "date": written.date().isoformat(), "command": command, "commit": commit()}


def put(path: Path, records: list[dict[str, Any]]) -> None:
    """Write records into detection.json; those of the same data are replaced, the others stay."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    new = {row["data"] for row in records}
    kept = [row for row in before if row["data"] not in new]
    path.write_text(json.dumps(kept + records, indent=1) + "\n", encoding="utf-8")


def judge_cells(folder: Path, errors: Path | None) -> list[dict[str, Any]]:
    """A record for every cell of a results folder that judges labels and knows the true ones."""
    records = []
    for path in sorted(folder.glob("cells/*.npz")):
        cell = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        verdicts = judged(path, cell)
        source = {"device": cell["device"], "date": cell["date"][:10], "command": cell.get("command", "")}
        if errors is not None:
            with np.load(errors) as truth:
                rows = truth["mturk_index"][truth["mturk_is_error"]]
            kind = {"data": f"{cell['dataset']}, its own labels, {settings(cell)}"}
            records.append(kind | confirmed(verdicts, rows) | source)
        elif verdicts.clean is not None:
            records.append(record(cell, verdicts, verdicts.given != verdicts.clean) | source)
        else:
            print(f"{path.name}: no true labels", file=sys.stderr)
            continue
        print(records[-1]["data"], file=sys.stderr)
    return records


def markdown(records: Sequence[dict[str, Any]]) -> str:
    """The table that is printed."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(shown(row.get(name)) for name in COLUMNS)} |" for row in records]
    return "\n".join(lines) + "\n"


def table_of_page(records: Sequence[dict[str, Any]]) -> str:
    """The table of docs/verdicts.md: our cells, with expected and real errors among the first so many."""
    heads = ["labels", "wrong", "estimate (90 %)", "AUROC", "AP", "F1 at the cut, best, flag-all", "ECE", "flagged"]
    heads += [f"first {k:,}: expected, real" for k in FIRST]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for row in sorted((row for row in records if ", scanmix, seed" in row["data"]), key=lambda row: row["data"]):
        numbers = {name: shown(row[name]) for name in COLUMNS}
        told = [row["first"].get(str(k)) for k in FIRST]
        looks = ("-" if look is None else f"{look['expected']:,.0f}, {look['real']:,}" for look in told)
        cells = (
            row["data"].removeprefix("cifar10, ").replace(", scanmix", "").replace(" 0, seed", ", seed"),
            numbers["noise_rate"],
            f"{numbers['estimated_noise_rate']} ({numbers['interval']})",
            numbers["auroc"],
            numbers["ap"],
            f"{numbers['f1_at_cut']}, {numbers['best_f1']}, {numbers['flag_all_f1']}",
            numbers["ece"],
            numbers["flagged_share"],
            *looks,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " to ".join(f"{part:.3f}" for part in value)
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", type=Path, help="folders that `scanmix bench --out` wrote")
    parser.add_argument("--out", type=Path, help="detection.json; records of the same data are replaced")
    parser.add_argument("--command", help="what made the results, kept in every record (default: as the cell says)")
    parser.add_argument("--commit", help="of the code that judges, kept in every record (default: the checkout's)")
    parser.add_argument("--errors", type=Path, help="npz with the human-confirmed errors of the data set itself")
    parser.add_argument("--page", type=Path, help="print the table of docs/verdicts.md from this detection.json")
    options = parser.parse_args(arguments)
    if options.page is not None:
        print(table_of_page(json.loads(options.page.read_text(encoding="utf-8"))), end="")
        return
    if not options.results:
        parser.error("name a folder that `scanmix bench --out` wrote, or give --page")
    found = [row for folder in options.results for row in judge_cells(folder, options.errors)]
    known = {"commit": options.commit or commit()} | ({} if options.command is None else {"command": options.command})
    records = [row | known for row in found]
    if options.out is not None:
        put(options.out, records)
    print(markdown(records), end="")


if __name__ == "__main__":
    main()
