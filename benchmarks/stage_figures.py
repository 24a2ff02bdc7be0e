"""What every stage of the CIFAR-10 cells reached, from the metrics that `scanmix bench cifar10` keeps of each cell.

    python benchmarks/stage_figures.py RESULTS [RESULTS ...] [--every 5] [--out docs/results/cifar10_stages.md]
        [--unfinished METRICS TITLE]

writes one Markdown table of the stages (nearest-neighbour accuracy of the contrastive features on training images,
accuracy after SCAN with clusters matched to classes, after warm-up, at the end) and, for every cell with an EM loop,
precision and recall of the clean set and test accuracy over its epochs. --unfinished adds the curve of a run that was
stopped before its end, from the metrics that it left.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from cifar10_table import collect, titled

from scanmix_cli.bench.cells import CELLS
from scanmix_cli.bench.markdown import NOTHING, decimal, percent, table
from scanmix_cli.errors import DataError, ScanmixError
from scanmix_cli.files import write_text

HEADER = ("noise", "method", "seed", "kNN", "SCAN", "warm-up", "EM epochs", "last", "minutes", "date")
CURVE = ("epoch", "clean precision", "clean recall", "test accuracy")
INTRODUCTION = """# CIFAR-10: stage by stage

Made by `benchmarks/stage_figures.py` from the metrics of each cell; accuracies in percent. `kNN` is the leave-one-out
vote of the neighbours mined first with true labels, on training images; it chooses nothing. `SCAN` is of the cell
`scan` with the same noise and seed, its clusters matched to classes for this figure alone.
"""


def read_metrics(folders: Sequence[Path], key: str) -> pd.DataFrame:
    """`metrics.csv` of a cell, a row per stage and epoch; DataError where it is missing."""
    for folder in folders:
        path = folder / CELLS / f"{key}.metrics.csv"
        if path.is_file():
            return pd.read_csv(path)
    raise DataError(f"{key} has no metrics in {', '.join(map(str, folders))}: name the folder that its run wrote")


def last_value(metrics: pd.DataFrame, stage: str, name: str) -> float | None:
    """The last value that a stage logged under a name, None where there is none."""
    if name not in metrics:
        return None
    values = metrics.loc[metrics["stage"] == stage, name].dropna()
    return float(values.iloc[-1]) if len(values) else None


def first_value(metrics: pd.DataFrame, name: str) -> float | None:
    """What was logged first under a name, whatever the stage; None where nothing was."""
    values = metrics[name].dropna() if name in metrics else []
    return float(values.iloc[0]) if len(values) else None


def stage_row(cell: dict[str, Any], metrics: pd.DataFrame, clustered: float | None) -> list[str]:
    """A cell's line; `clustered`: accuracy of the cell `scan` beside it."""
    through_scan = (metrics["stage"] == "scan").any()
    return [
        noise_title(cell),
        titled(cell),
        str(cell["seed"]),
        percent(first_value(metrics, "knn_accuracy")),
        percent(clustered) if through_scan else NOTHING,
        percent(last_value(metrics, "warmup", "test_accuracy")),
        str(int((metrics["stage"] == "scanmix").sum())) if (metrics["stage"] == "scanmix").any() else NOTHING,
        percent(cell["last"]),
        f"{cell['minutes']:.1f}",
        cell["date"][:10],
    ]


def noise_title(cell: dict[str, Any]) -> str:
    """`sym 0.9`, `human-worst`."""
    return " ".join([cell["noise"], *([] if cell["rate"] is None else [f"{cell['rate']:g}"])])


def curve(metrics: pd.DataFrame, every: int) -> str:
    """Clean set and accuracy over the epochs of the EM loop: the first, every so many, and the last."""
    rows = metrics[metrics["stage"] == "scanmix"].reset_index(drop=True)
    kept = [k for k in range(len(rows)) if (k + 1) % every == 0 or k in (0, len(rows) - 1)]
    lines = [
        [
            str(int(row["epoch"])),
            decimal(row["clean_precision"]),
            decimal(row["clean_recall"]),
            percent(row["test_accuracy"]),
        ]
        for _, row in rows.loc[kept].iterrows()
    ]
    return table(CURVE, lines)


def unfinished(path: Path, title: str, every: int) -> str:
    """The curve of a run that did not reach its end; DataError where its metrics cannot be read."""
    try:
        return f"## {title}\n\n" + curve(pd.read_csv(path), every)
    except (OSError, KeyError, ValueError) as error:
        raise DataError(f"{path} holds no metrics of an EM loop ({error}): name a metrics.csv") from None


def document(folders: Sequence[Path], every: int) -> str:
    """The whole page."""
    cells = collect(folders)
    clustered = {(noise_title(c), c["seed"]): c["last"] for c in cells if c["method"] == "scan"}
    known = [(cell, read_metrics(folders, cell["key"])) for cell in cells]
    stages = [stage_row(cell, metrics, clustered.get((noise_title(cell), cell["seed"]))) for cell, metrics in known]
    parts = [INTRODUCTION, table(HEADER, stages)]
    for cell, metrics in known:
        if (metrics["stage"] == "scanmix").any() and "clean_precision" in metrics:
            parts.append(f"## {noise_title(cell)}, {titled(cell)}, seed {cell['seed']}\n\n" + curve(metrics, every))
    return "\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path, help="results folders of scanmix bench")
    parser.add_argument("--every", type=int, default=5, help="epochs between two lines of a curve")
    parser.add_argument("--out", type=Path, default=Path("docs/results/cifar10_stages.md"))
    parser.add_argument("--unfinished", nargs=2, action="append", default=[], metavar=("METRICS", "TITLE"))
    options = parser.parse_args(arguments)
    try:
        stopped = [unfinished(Path(metrics), title, options.every) for metrics, title in options.unfinished]
        write_text(options.out, "\n".join([document(options.results, options.every), *stopped]))
    except ScanmixError as error:
        sys.exit(f"stage_figures: {error}")
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
