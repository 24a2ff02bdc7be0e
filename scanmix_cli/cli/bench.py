"""`scanmix bench`: methods side by side on data whose true labels are known."""

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from scanmix_cli.cli import options
from scanmix_cli.errors import Interrupted, SettingsError
from scanmix_cli.files import RUNS

NOISE, RUN, OUTPUT = "Noise", "Methods and schedule", "Output"
DEFAULT_DATA = Path("data")


def bench(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME-or-DIR", help="Data set, or a folder or table with clean labels.", show_default=False
        ),
    ] = None,
    noise: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="none, sym, asym, semantic-densenet|resnet|vgg, human-aggre|rand1|worst or file:PATH; "
            "red or blue for red-mini-imagenet. Default: sym, or what the set came with.",
            rich_help_panel=NOISE,
        ),
    ] = "",
    rate: Annotated[
        float | None, typer.Option(metavar="R", help="Share of labels drawn anew (default 0.4).", rich_help_panel=NOISE)
    ] = None,
    level: Annotated[
        float | None, typer.Option(metavar="R", help="Noise level of red-mini-imagenet.", rich_help_panel=NOISE)
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="How sym labels are drawn: dividemix, scanmix or exact.", rich_help_panel=NOISE
        ),
    ] = "dividemix",
    noise_map: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='asym: JSON object {"cat": "dog"} (default: the next class).', rich_help_panel=NOISE
        ),
    ] = None,
    methods: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Of scanmix, pretrain+dividemix, dividemix, scan, cross-entropy, mixup, elr, cleanlab.",
            rich_help_panel=RUN,
        ),
    ] = "cross-entropy,dividemix,pretrain+dividemix,scanmix",
    profile: Annotated[
        str,
        typer.Option(metavar="NAME", help="auto, fast, paper, official, webvision or clothing1m.", rich_help_panel=RUN),
    ] = "auto",
    time_budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Training time of each method after the pre-training they share, e.g. 60s, 10m, 2h.",
            rich_help_panel=RUN,
        ),
    ] = None,
    epochs: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Epochs of the main loop and of plain training (0: as in the profile).",
            rich_help_panel=RUN,
        ),
    ] = 0,
    pretrain_epochs: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Epochs of the shared pre-training (0: as in the profile).", rich_help_panel=RUN
        ),
    ] = 0,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Seed of training; labels are drawn with 123 + N (0: the published ones).",
            rich_help_panel=RUN,
        ),
    ] = 0,
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds from --seed on.", rich_help_panel=RUN)] = 1,
    clean_ceiling: Annotated[
        bool,
        typer.Option(
            "--clean-ceiling", help="Also train on the clean labels, which gives `recovery`.", rich_help_panel=RUN
        ),
    ] = False,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="auto, cpu, cuda, cuda:N or mps.", rich_help_panel=RUN)
    ] = "auto",
    data_dir: Annotated[
        Path,
        typer.Option(metavar="DIR", help="Where data sets and label files are.", rich_help_panel=options.DATA_PANEL),
    ] = DEFAULT_DATA,
    download: Annotated[
        bool,
        typer.Option(
            "--download/--no-download", help="Fetch CIFAR where it is missing.", rich_help_panel=options.DATA_PANEL
        ),
    ] = True,
    labels: options.LabelsOption = None,
    path_column: options.PathColumnOption = None,
    label_column: options.LabelColumnOption = None,
    split_column: options.SplitColumnOption = None,
    root: options.RootOption = None,
    sep: options.SepOption = None,
    encoding: options.EncodingOption = None,
    test: options.TestOption = None,
    show: Annotated[
        bool,
        typer.Option(
            "--list",
            help="Name data sets, noises, methods and what is here, and stop.",
            rich_help_panel=options.DATA_PANEL,
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Results folder (default: scanmix-runs/bench-NAME).", rich_help_panel=OUTPUT),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Insist on a results folder that is there.", rich_help_panel=OUTPUT)
    ] = False,
    as_json: options.JsonOption = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.", rich_help_panel=OUTPUT)] = False,
) -> None:
    """Inject or load label noise, run methods side by side and score them against the true labels.

    Cells that the results folder holds already are not run again.

    Example: scanmix bench cifar10 --noise sym --rate 0.9
    """
    if show:
        from scanmix_cli.bench.listing import listing, listing_text

        found = listing(data_dir)
        typer.echo(json.dumps(found) if as_json else listing_text(found))
        return
    if name is None:
        raise SettingsError("name a data set, a folder or a table; scanmix bench --list shows the data sets")
    folder = out or default_folder(name)
    if resume and not (folder / "cells").is_dir():
        raise SettingsError(f"{folder} holds no benchmark to resume: start it without --resume")
    from scanmix_cli.bench.request import LEVELLED, BenchRequest  # imports PyTorch
    from scanmix_cli.bench.runner import run_bench
    from scanmix_cli.engine.progress import make_reporter
    from scanmix_cli.workflow.outputs import check_folder
    from scanmix_cli.workflow.request import parse_duration

    if out is not None:
        check_folder(out, (Path(name), test))
    if level is not None and name != LEVELLED:
        raise SettingsError(f"--level goes with {LEVELLED} only: give the share of wrong labels with --rate")
    if rate is not None and level is not None and rate != level:
        raise SettingsError("--rate and --level are two words for one thing: give one of them")
    request = BenchRequest(
        target=name,
        out=folder,
        data_dir=data_dir,
        noise=noise,
        rate=level if rate is None else rate,
        recipe=recipe,
        noise_map=noise_map,
        methods=tuple(part.strip() for part in methods.split(",") if part.strip()),
        profile=profile,
        seed=seed,
        repeats=repeats,
        download=download,
        time_budget=0.0 if time_budget is None else parse_duration(time_budget),
        epochs=epochs,
        pretrain_epochs=pretrain_epochs,
        clean_ceiling=clean_ceiling,
        device=device,
        command=shlex.join(["scanmix", *(context.obj or [])]),
        source={
            "labels": labels,
            "path_column": path_column,
            "label_column": label_column,
            "split_column": split_column,
            "root": root,
            "sep": sep,
            "encoding": encoding,
            "test": test,
        },
    )
    reporter = make_reporter(quiet or (as_json and not sys.stderr.isatty()))
    try:
        cells = run_bench(request, reporter)
    except KeyboardInterrupt:
        raise Interrupted(interrupted(folder, context.obj or [])) from None
    finally:
        reporter.close()
    if as_json:
        typer.echo(json.dumps({"out": str(folder), "cells": cells}))
    else:
        typer.echo((folder / "results.md").read_text(encoding="utf-8"))


def default_folder(name: str) -> Path:
    """`scanmix-runs/bench-NAME`: a known data set by its name, data of the user's own as `train` names them."""
    from scanmix_cli.bench.datasets import DATASETS
    from scanmix_cli.data.sources import data_name

    return RUNS / f"bench-{name if name in DATASETS else data_name(Path(name))}"


def interrupted(folder: Path, arguments: list[str]) -> str:
    """What to say after Ctrl-C: the command that goes on, built from the one that was given."""
    again = [argument for argument in arguments if argument != "--resume"]
    if (folder / "cells").is_dir():
        again.append("--resume")
    return f"interrupted; finished cells are kept, go on with `{shlex.join(['scanmix', *again])}`"
