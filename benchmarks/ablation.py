"""One setting changed at a time: cells of `scanmix bench` with a profile that differs from the usual one where told to.

    python benchmarks/ablation.py cifar10 --data-dir DATA --noise sym --rate 0.9 --out results --pretrain-epochs 130 \\
        --time-budget 150s --variant "default:" --variant "one network: beliefs.networks = 1"
    python benchmarks/ablation.py --table results [MORE-RESULTS ...]

A variant is a name, a colon and settings in TOML, parted by semicolons. Its cells stand in the results folder beside
those of `scanmix bench`, with the variant's name after the profile's; variants with one pre-training share it. The
table has one line a variant and noise; kNN is the leave-one-out vote of mined neighbours with true labels, at first and
at the end.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from scanmix_cli.bench.cells import CELLS, CellStore
from scanmix_cli.bench.injected import noisy_labels
from scanmix_cli.bench.markdown import NOTHING, decimal, percent, table
from scanmix_cli.bench.request import BenchRequest
from scanmix_cli.bench.runner import open_bench, run_cell, save_labels
from scanmix_cli.engine.config import from_table
from scanmix_cli.engine.progress import make_reporter
from scanmix_cli.errors import ScanmixError, SettingsError
from scanmix_cli.method.settings import Profile
from scanmix_cli.workflow.request import parse_duration

HEADER = ("noise", "variant", "seed", "last", "best", "kNN", "clean precision", "clean recall", "AUROC", "labels right")
LOGGED = ("knn_accuracy", "clean_precision", "clean_recall")
COSTS = ("epochs", "pre-training s", "s")


def variant(profile: Profile, text: str) -> Profile:
    """`name: settings` applied to a profile, whose name gets the variant's after a comma."""
    name, colon, settings = text.partition(":")
    if not colon:
        raise SettingsError(f"variant {text!r} has no colon: write it as 'name: beliefs.networks = 1'")
    try:
        values = tomllib.loads(settings.replace(";", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"variant {name!r} is not valid TOML ({error}); mend its settings") from None
    changed = from_table(Profile, values, f"variant {name!r}", profile)
    return replace(changed, name=f"{profile.name}, {name.strip()}")


def run(options: argparse.Namespace, command: str) -> None:
    """Every variant that is not finished yet, on the same labels."""
    request = BenchRequest(
        target=options.target,
        out=options.out,
        data_dir=options.data_dir,
        noise=options.noise,
        rate=options.rate,
        recipe=options.recipe,
        methods=(options.method,),
        profile=options.profile,
        seed=options.seed,
        download=False,
        time_budget=parse_duration(options.time_budget) if options.time_budget else 0.0,
        pretrain_epochs=options.pretrain_epochs,
        device=options.device,
        command=command,
    )
    reporter = make_reporter(False)
    bench = open_bench(request, reporter)
    variants = [variant(bench.profile, text) for text in options.variant]
    data = bench.data
    given = noisy_labels(request, data.classes, data.train.labels, data.given, options.seed, data.images)
    save_labels(bench, given)
    for profile in variants:
        run_cell(replace(bench, profile=profile), given, options.method, options.seed)
    reporter.close()


def lines(folders: Sequence[Path]) -> list[list[str]]:
    """A line for each finished cell."""
    return [line(cell, folder) for folder in folders for cell in CellStore(folder).all()]


def line(cell: dict[str, Any], folder: Path) -> list[str]:
    """Scores of a cell, and the last values that its stages logged."""
    metrics = pd.read_csv(folder / CELLS / f"{cell['key']}.metrics.csv")
    logged = {name: metrics[name].dropna().tolist() for name in LOGGED if name in metrics}
    neighbors, precision, recall = (logged.get(name) or [None] for name in LOGGED)
    seconds = dict(cell["seconds"])
    pretraining = sum(seconds.pop(name, 0.0) for name in ("simclr", "moco"))
    return [
        " ".join([cell["noise"], *([] if cell["rate"] is None else [f"{cell['rate']:g}"])]),
        f"{cell['method']}, {cell['profile']}",
        str(cell["seed"]),
        *(percent(cell["last"]), percent(cell["best"]), f"{percent(neighbors[0])} to {percent(neighbors[-1])}"),
        *(decimal(precision[-1]), decimal(recall[-1]), decimal(cell["auroc"])),
        percent(cell["share_right"]),
        str(len(metrics)),
        f"{pretraining:.0f}" if pretraining else NOTHING,
        f"{sum(seconds.values()):.0f}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", help="data set, folder or table, as for scanmix bench")
    parser.add_argument("--table", nargs="+", type=Path, metavar="RESULTS", help="print what results folders hold")
    parser.add_argument("--variant", action="append", default=[], metavar="NAME: SETTINGS")
    parser.add_argument("--method", default="scanmix")
    parser.add_argument("--noise", default="")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--recipe", default="dividemix")
    parser.add_argument("--profile", default="fast")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-budget", default="")
    parser.add_argument("--pretrain-epochs", type=int, default=0)
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    if (options.target is None or not options.variant) and not options.table:
        parser.error("name a data set and at least one --variant, or results folders with --table")
    try:
        if options.target is not None:
            run(options, shlex.join(["python", "benchmarks/ablation.py", *(arguments or sys.argv[1:])]))
        print(table((*HEADER, *COSTS), lines(options.table or [options.out])))
    except ScanmixError as error:
        sys.exit(f"ablation: {error}")


if __name__ == "__main__":
    main()
