"""The CIFAR-10 table of docs/results: every finished cell of one or several results folders of `scanmix bench cifar10`.

    python benchmarks/cifar10_table.py RESULTS [RESULTS ...] [--earlier cifar10.json] [--ceiling 90.7] [--commit HASH]

writes `docs/results/cifar10.json`, a list of cells, and `cifar10.md`, the same as a table with the commands and the
published rows beside ours. Cells of an earlier list stay in it until they are measured anew. Accuracies are shares in
the JSON file, as in `results.json`, and percent in the table.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scanmix_cli.bench.cells import CellStore
from scanmix_cli.bench.compare import Spread, spreads
from scanmix_cli.bench.markdown import NOTHING, decimal, percent, table
from scanmix_cli.bench.published import PublishedRow, rows_for
from scanmix_cli.bench.request import KNOWN_METHODS, NOISES
from scanmix_cli.bench.results import ceiling
from scanmix_cli.errors import DataError, ScanmixError
from scanmix_cli.files import write_text

DATASET = "cifar10"
OURS = ("auto", "fast")  # profiles that go without saying
PUBLISHED_CEILING = 95.5  # percent: what the published networks reach on the clean labels of the canonical images
KEYS = (
    *("noise", "rate", "method", "seed", "last", "best", "recovery", "auroc", "minutes", "device", "date", "command"),
    *("realised_rate", "recipe", "label_hash", "last_single", "best_single", "ceiling", "ceiling_from"),
    *("ap", "best_f1", "f1", "precision", "recall", "flag_all_f1", "clean_recall", "share_right"),
    *("noise_rate_estimate", "calibration_error", "seconds", "time_budget", "profile", "backbone", "epochs"),
    *("supervised_epochs", "pretrain_epochs", "images_an_epoch", "images_per_second", "peak_memory_mib", "arithmetic"),
    *("images", "fingerprint", "versions", "commit", "key"),
)
SAME_SETTINGS = ("profile", "backbone", "time_budget", "epochs", "supervised_epochs", "pretrain_epochs", "fingerprint")
HEADER = (
    *("method", "seed", "last", "best", "recovery", "AUROC", "best F1", "F1", "labels right", "minutes"),
    *("budget", "device", "date", "commit"),
)
SAME_CELL = ("noise", "rate", "recipe", "method", "profile", "time_budget", "seed")
INTRODUCTION = f"""# CIFAR-10

Made by `benchmarks/cifar10_table.py` from the cells that `scanmix bench` finished; `cifar10.json` has more of each.

- Accuracies in percent, of all networks of a method together. `last`, the mean of the final 10 epochs, is the figure to
  quote; `best` is chosen on the test set and stands here for comparison with tables.
- `recovery` is last over the ceiling, the accuracy of the same network trained with cross-entropy on the clean labels
  of the same images. For published rows it is best over {PUBLISHED_CEILING} %.
- F1 is at the reported cut; `labels right` is the share after every flagged label was replaced by its suggestion.
- `minutes` count all of a method's training, the pre-training that methods share in full for each; `budget` is the
  time each method had after it.
- Published rows were measured on the canonical images with the papers' own budgets.
- Settings of `fast` were chosen by accuracies on the test images in cells of this table (`../method.md`, "How settings
  were chosen"), so its figures there lean to the kind side.
"""


def collect(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """The finished CIFAR-10 cells of all folders; of one that was run twice the newer. DataError without any."""
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        for cell in CellStore(folder).all():
            known = found.get(cell["key"])
            if cell["dataset"] == DATASET and (known is None or known["date"] < cell["date"]):
                found[cell["key"]] = cell
    if not found:
        raise DataError(f"no finished cell of {DATASET} in {', '.join(map(str, folders))}: name results folders")
    return sorted(found.values(), key=_place)


def with_earlier(cells: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """The cells, and those of an earlier list that none of them measures anew; DataError where it cannot be read."""
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no list of cells ({error}): name a cifar10.json that this script wrote") from None
    anew = {tuple(cell[name] for name in SAME_CELL) for cell in cells}
    kept = [cell for cell in earlier if tuple(cell[name] for name in SAME_CELL) not in anew]
    return sorted([*kept, *cells], key=_place)


def completed(cells: list[dict[str, Any]], given: float | None) -> list[dict[str, Any]]:
    """The cells with exactly the KEYS. `given`: the ceiling, a share, for cells without a clean run beside them."""
    done = []
    for cell in cells:
        limit, source = _ceiling(cell, cells, given)
        recovered = None if limit is None or cell["last"] is None else cell["last"] / limit
        known = cell | {"ceiling": limit, "ceiling_from": source, "recovery": recovered}
        done.append({name: known.get(name) for name in KEYS})
    return done


def _ceiling(cell: dict[str, Any], cells: list[dict[str, Any]], given: float | None) -> tuple[float | None, str | None]:
    """The ceiling and where it is from: measured with the cell's settings and budget, else with others, else given."""
    if (measured := ceiling(cell, cells)) is not None:
        return measured, "measured with the same budget"
    same = {name: cell[name] for name in ("profile", "time_budget", "supervised_epochs")}
    images = [other | same for other in cells if other["fingerprint"] == cell["fingerprint"]]
    if (measured := ceiling(cell, images)) is not None:
        return measured, "measured with another profile, budget or schedule"
    return given, None if given is None else "given"


def _place(cell: dict[str, Any]) -> tuple:
    noises = [*NOISES, cell["noise"]]
    return (
        *(noises.index(cell["noise"]), cell["rate"] or 0.0, [*KNOWN_METHODS].index(cell["method"])),
        *(cell["seed"], cell["date"]),
    )


def markdown(cells: list[dict[str, Any]]) -> str:
    """A section for each noise and rate: our cells, means over seeds, published rows; then all commands."""
    sections: dict[tuple, list[dict[str, Any]]] = {}
    for cell in cells:
        sections.setdefault((cell["noise"], cell["rate"]), []).append(cell)
    parts = [INTRODUCTION, _facts(cells), *(_section(group) for group in sections.values())]
    commands = dict.fromkeys(cell["command"] for cell in cells)
    parts.append("## Commands\n\n```\n" + "\n".join(commands) + "\n```\n")
    return "\n".join(parts)


def _facts(cells: list[dict[str, Any]]) -> str:
    """Images, code and ceilings of all cells."""
    used: dict[float, dict[str, None]] = {}
    for cell in cells:
        if cell["ceiling"] is not None:
            used.setdefault(cell["ceiling"], {})[cell["ceiling_from"]] = None
    lines = [f"- ceiling {percent(value)} %, {' or '.join(sources)}" for value, sources in used.items()]
    images = dict.fromkeys(f"- images: {cell['images']}, data fingerprint {cell['fingerprint']}" for cell in cells)
    code = dict.fromkeys(f"- PyTorch {cell['versions']['torch']}" for cell in cells)
    return "\n".join([*images, *code, *(lines or ["- no clean run and no ceiling given: no recovery"])]) + "\n"


def _section(cells: list[dict[str, Any]]) -> str:
    first = cells[0]
    realised = dict.fromkeys(NOTHING if c["realised_rate"] is None else f"{c['realised_rate']:.4f}" for c in cells)
    title = " ".join([first["noise"], *([] if first["rate"] is None else [f"{first['rate']:g}"])])
    rows = [_row(cell) for cell in cells] + _means(cells)
    rows += [_published(row) for row in rows_for(DATASET, first["noise"], first["rate"])]
    return f"## {title}\n\nRealised share of wrong labels: {', '.join(realised)}.\n\n" + table(HEADER, rows)


def titled(cell: dict[str, Any]) -> str:
    """The method, and behind commas a profile other than ours and what differs in it (`benchmarks/ablation.py`)."""
    profile, *changes = cell["profile"].split(", ")
    return ", ".join([cell["method"], *([] if profile in OURS else [profile]), *changes])


def _row(cell: dict[str, Any]) -> list[str]:
    return [
        *(titled(cell), str(cell["seed"]), percent(cell["last"]), percent(cell["best"]), decimal(cell["recovery"])),
        *(decimal(cell[name]) for name in ("auroc", "best_f1", "f1")),
        *(percent(cell["share_right"]), f"{cell['minutes']:.1f}"),
        f"{cell['time_budget']:g} s" if cell["time_budget"] else "none",
        *(cell["device"], cell["date"][:10], cell["commit"] or NOTHING),
    ]


def _means(cells: list[dict[str, Any]]) -> list[list[str]]:
    """Mean and standard deviation where a method has several seeds with one setting."""
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault((cell["method"], *(cell[name] for name in SAME_SETTINGS)), []).append(cell)
    rows = []
    for group in groups.values():
        if len(group) > 1:
            found = {spread.measure: spread for spread in spreads(group)}
            words = [_spread(found.get("last"), 100, 2), NOTHING, NOTHING, _spread(found.get("auroc"), 1, 3)]
            rows.append([f"{titled(group[0])}, mean of {len(group)}", NOTHING, *words, *[NOTHING] * 8])
    return rows


def _spread(spread: Spread | None, scale: float, digits: int) -> str:
    if spread is None or spread.deviation is None:
        return NOTHING
    return f"{scale * spread.mean:.{digits}f} ± {scale * spread.deviation:.{digits}f}"


def _published(row: PublishedRow) -> list[str]:
    last, best = (NOTHING if value is None else str(value) for value in (row.last, row.best))
    recovered = None if row.best is None else row.best / PUBLISHED_CEILING
    found = [decimal(value) for value in (recovered, row.auroc, row.best_f1, row.f1)]
    return [f"{row.method} ({row.source})", NOTHING, last, best, *found, *[NOTHING] * 6]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path, help="results folders of scanmix bench")
    parser.add_argument("--earlier", type=Path, help="cifar10.json whose cells stay unless measured anew")
    parser.add_argument("--ceiling", type=float, help="percent, for cells without a clean run beside them")
    parser.add_argument("--commit", help="commit of the code, for cells that do not know it")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs" / "results")
    options = parser.parse_args(arguments)

    given = None if options.ceiling is None else options.ceiling / 100
    try:
        found = [cell | {"commit": cell.get("commit") or options.commit} for cell in collect(options.results)]
        cells = completed(with_earlier(found, options.earlier) if options.earlier else found, given)
        options.out.mkdir(parents=True, exist_ok=True)
        write_text(options.out / f"{DATASET}.json", json.dumps(cells, indent=1) + "\n")
        write_text(options.out / f"{DATASET}.md", markdown(cells))
    except ScanmixError as error:
        sys.exit(f"cifar10_table: {error}")
    print(f"{len(cells)} cells in {options.out / DATASET}.json and .md")


if __name__ == "__main__":
    main()
