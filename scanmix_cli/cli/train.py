"""`scanmix train`: the main job."""

import json
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from scanmix_cli.cli import options
from scanmix_cli.cli.interrupts import interrupt, pass_over
from scanmix_cli.engine.launch import launch, processes, require_gpus
from scanmix_cli.engine.run_folder import Stopped, check_free, choose_folder
from scanmix_cli.errors import Interrupted, SettingsError
from scanmix_cli.method.settings import LEAST_BATCH, LEAST_SIZE
from scanmix_cli.report.runs import resolve_run

SCHEDULE, MACHINE, OUTPUT = "Method and schedule", "Machine", "Output"


def train(
    context: typer.Context,
    data: options.DataArgument,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Run folder (default: scanmix-runs/NAME-N).", rich_help_panel=OUTPUT),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="auto (= fast); paper, official, webvision, clothing1m: as published, long.",
            rich_help_panel=SCHEDULE,
        ),
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="small, resnet18-cifar, preact-resnet18-cifar, resnet50, inception-resnet-v2 or timm:NAME.",
            rich_help_panel=SCHEDULE,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Outside weights: a file, a timm name, efficientnet-lite0, auto or none.",
            rich_help_panel=SCHEDULE,
        ),
    ] = None,
    image_size: Annotated[
        int | None,
        typer.Option(min=LEAST_SIZE, metavar="N", help="Pixels a side to train at.", rich_help_panel=SCHEDULE),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Epochs of the EM loop.", rich_help_panel=SCHEDULE)
    ] = None,
    pretrain_epochs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Epochs of contrastive pre-training.", rich_help_panel=SCHEDULE),
    ] = None,
    time_budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Fit the schedule to it, e.g. 60s, 10m, 2h.", rich_help_panel=SCHEDULE),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=LEAST_BATCH,
            metavar="N",
            help="Images a batch in pre-training and in MixMatch.",
            rich_help_panel=SCHEDULE,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Random seed (default 0).", rich_help_panel=SCHEDULE)
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="auto, cpu, cuda, cuda:N or mps.", rich_help_panel=MACHINE)
    ] = None,
    precision: Annotated[
        str | None, typer.Option(metavar="NAME", help="auto, fp32, bf16 or fp16.", rich_help_panel=MACHINE)
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Share the run among N GPUs.", rich_help_panel=MACHINE)
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads that decode images.", rich_help_panel=MACHINE)
    ] = None,
    reviewed: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Take the decisions of an earlier run for certain.", rich_help_panel=SCHEDULE),
    ] = None,
    labels: options.LabelsOption = None,
    path_column: options.PathColumnOption = None,
    label_column: options.LabelColumnOption = None,
    split_column: options.SplitColumnOption = None,
    root: options.RootOption = None,
    sep: options.SepOption = None,
    encoding: options.EncodingOption = None,
    test: options.TestOption = None,
    truncated: options.TruncatedOption = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings of an earlier run (its config.toml).", rich_help_panel=SCHEDULE),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted run.", rich_help_panel=OUTPUT)
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing run folder.", rich_help_panel=OUTPUT)
    ] = False,
    no_html: Annotated[bool, typer.Option("--no-html", help="Write no report.html.", rich_help_panel=OUTPUT)] = False,
    no_keep_checkpoints: Annotated[
        bool, typer.Option("--no-keep-checkpoints", help="Remove checkpoints at the end.", rich_help_panel=OUTPUT)
    ] = False,
    fail_on: Annotated[
        str | None, typer.Option(metavar="N|P%", help="Exit with 1 above this many suspects.", rich_help_panel=OUTPUT)
    ] = None,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = 0,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="No progress, no panel.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Clean the labels of a data set and train a classifier on it.

    Example: scanmix train ./images --time-budget 10m
    """
    if gpus is not None and processes() == 1:
        require_gpus(gpus, device)
        if gpus > 1:
            raise typer.Exit(launch(gpus, [sys.executable, "-m", "scanmix_cli", *context.obj], go_on(context.obj)))
    from scanmix_cli.workflow.request import parse_duration, parse_fail_on, read_request

    limit = None if fail_on is None else parse_fail_on(fail_on)
    chosen = {
        "profile": profile,
        "backbone": backbone,
        "weights": weights,
        "image_size": image_size,
        "epochs": epochs,
        "pretrain_epochs": pretrain_epochs,
        "time_budget": None if time_budget is None else parse_duration(time_budget),
        "batch_size": batch_size,
        "seed": seed,
        "device": device,
        "precision": precision,
        "workers": workers,
        "reviewed": None if reviewed is None else str(resolve_run(reviewed).absolute()),
        "truncated": None if truncated is None else truncated.value,
    }
    if resume and overwrite:
        raise SettingsError("--resume and --overwrite exclude each other; leave one out")
    if resume and out is None:
        raise SettingsError("--resume needs the run folder; name it with --out")
    if resume and out is not None:
        out = resolve_run(out) if out.exists() else out
        check_free(out, overwrite, resume)  # before its config.toml is looked for
        config = config or out / "config.toml"
    request, given = read_request(config, chosen)
    from scanmix_cli.data.sources import read_samples
    from scanmix_cli.workflow.outputs import check_folder

    if out is not None and not resume:
        check_folder(out, (data, test))
    samples = read_samples(
        data,
        labels=labels,
        path_column=path_column,
        label_column=label_column,
        split_column=split_column,
        root=root,
        sep=sep,
        encoding=encoding,
        test=test,
    )
    from scanmix_cli.engine.parallel import from_writer, is_writer, joined  # imports PyTorch: after the cheap checks
    from scanmix_cli.engine.progress import make_reporter
    from scanmix_cli.workflow.train import Destination
    from scanmix_cli.workflow.train import train as run_training

    with joined(request.device) if processes() > 1 else nullcontext():
        folder = from_writer(lambda: choose_folder(out, samples.name))
        writer = is_writer()
        destination = Destination(folder, overwrite, resume, not no_keep_checkpoints, not no_html, numbered=out is None)
        reporter = make_reporter(quiet or not writer, verbose > 0)
        begun = out if resume else None
        try:
            with stopped_by_request():
                run = run_training(samples, request, destination, reporter, given)
                begun = run.folder
                if not writer:
                    return
                if as_json:
                    typer.echo(json.dumps(run.summary))
                elif not quiet:
                    from scanmix_cli.report.terminal import closing_panel

                    typer.echo(closing_panel(run.summary), err=True)
                pass_over()
        except KeyboardInterrupt as stop:
            begun = stop.folder if isinstance(stop, Stopped) else begun
            raise Interrupted(interrupted(begun, context.obj or [])) from None
        finally:
            reporter.close()
    counts = run.summary["counts"]
    if limit is not None and limit.exceeded(counts["label_issues"], counts["labelled"]):
        raise typer.Exit(1)


@contextmanager
def stopped_by_request() -> Iterator[None]:
    """Whoever ends the process in an orderly way, as schedulers of shared machines do, gets what Ctrl-C gets.

    One of several processes ends at once: it is told to when another has failed, and that one has the word.
    """
    if processes() > 1:
        yield
        return

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def go_on(arguments: list[str]) -> str:
    """What to do after a process of a shared run was killed."""
    if not any(argument.split("=")[0] == "--out" for argument in arguments):
        return "go on with --resume --out and the run's folder"
    return f"go on with `{resume_command(arguments)}`"


def interrupted(folder: Path | None, arguments: list[str]) -> str:
    """What to say after Ctrl-C: the command that goes on, built from the one that was given; None: no folder yet."""
    if folder is None or not (folder / "config.toml").is_file():
        return "interrupted before training began; nothing was written"
    named = any(argument.split("=")[0] == "--out" for argument in arguments)
    command = resume_command(arguments if named else [*arguments, "--out", str(folder)])
    return f"interrupted; what was done so far is kept, go on with `{command}`"


def resume_command(arguments: list[str]) -> str:
    """The command line that goes on with the run that these arguments, with --out among them, started."""
    left = [argument for argument in arguments if argument not in ("--overwrite", "--resume")]
    return shlex.join(["scanmix", *left, "--resume"])
