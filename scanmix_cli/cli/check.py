"""`scanmix check`: everything is read, nothing is trained."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scanmix_cli.cli import options
from scanmix_cli.data.wording import counted
from scanmix_cli.errors import DataError

if TYPE_CHECKING:
    from scanmix_cli.data.pixels import Pixels
    from scanmix_cli.data.samples import Samples
    from scanmix_cli.workflow.facts import DataFacts


def check(
    data: options.DataArgument,
    labels: options.LabelsOption = None,
    path_column: options.PathColumnOption = None,
    label_column: options.LabelColumnOption = None,
    split_column: options.SplitColumnOption = None,
    root: options.RootOption = None,
    sep: options.SepOption = None,
    encoding: options.EncodingOption = None,
    test: options.TestOption = None,
    truncated: options.TruncatedOption = None,
    rescan: Annotated[bool, typer.Option("--rescan", help="Read every file again, changed or not.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the unreadable files to a table: .csv .jsonl .json .parquet."),
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Read a data set and say what would be used and what is wrong with it.

    Example: scanmix check photos --out bad_files.csv
    """
    from scanmix_cli.cli.check_screen import show
    from scanmix_cli.cli.decoding import decoding_progress
    from scanmix_cli.data.cache import default_cache_dir
    from scanmix_cli.data.cores import usable_cores
    from scanmix_cli.data.overview import overview
    from scanmix_cli.data.pixels import SCAN_SIZE, SKIP, load_pixels
    from scanmix_cli.data.sources import read_samples
    from scanmix_cli.report.export import TABLES, check_extension
    from scanmix_cli.workflow.facts import facts_of
    from scanmix_cli.workflow.outputs import check_file

    if out is not None:
        check_file(out, (data, labels, test))
        check_extension(out, TABLES)
    try:
        with decoding_progress() as on_progress:
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
            pixels = load_pixels(
                samples,
                SCAN_SIZE,
                workers=usable_cores(),
                cache_dir=default_cache_dir(),
                on_progress=on_progress,
                truncated=SKIP if truncated is None else truncated.value,
                rescan=rescan,
            )
    except DataError as error:
        if as_json:
            typer.echo(json.dumps({"data": str(data), "trainable": False, "problem": str(error)}))
        raise
    if out is not None:
        _write_bad_files(out, samples, pixels)
    problem = _problem(samples, pixels)
    found = overview(samples, pixels)
    facts = None if problem else facts_of(samples, pixels)
    del samples, pixels  # large sets leave room for PyTorch
    plan = None if facts is None else _plan(facts)
    if as_json:
        verdict = {"data": str(data), "trainable": problem is None, "problem": problem, "plan": plan}
        typer.echo(json.dumps(verdict | asdict(found)))
    else:
        show(found, plan)
    if problem is not None:
        raise DataError(problem)


def _problem(samples: "Samples", pixels: "Pixels") -> str | None:
    from scanmix_cli.data.audit import require_readable

    try:
        require_readable(samples, pixels)
    except DataError as error:
        return str(error)
    return None


def _plan(facts: "DataFacts") -> dict[str, Any]:
    """What `train` without further options would choose on this machine, and how long it would take."""
    from scanmix_cli.engine.device import choose_compute  # imports PyTorch: after everything that may go wrong
    from scanmix_cli.workflow.measured import is_measured
    from scanmix_cli.workflow.outlook import describe_plan, device_name
    from scanmix_cli.workflow.plan import make_plan
    from scanmix_cli.workflow.request import Request
    from scanmix_cli.workflow.weights import PACKAGED

    compute = choose_compute()
    plan = make_plan(Request(), facts, compute)
    device = device_name(compute.device)
    measured = f"; before that it measures whether the weights {PACKAGED} see them better"
    return {
        "profile": plan.profile.name,
        "backbone": plan.profile.backbone,
        "image_size": plan.profile.image_size,
        "device": device,
        "seconds": {stage: round(seconds, 1) for stage, seconds in (plan.seconds | {"rest": plan.rest}).items()},
        "total_seconds": round(plan.total, 1),
        "description": f"{describe_plan(plan)} on {device}"
        + (measured if is_measured(Request(), facts, compute) else ""),
    }


def _write_bad_files(out: Path, samples: "Samples", pixels: "Pixels") -> None:
    import numpy as np
    import pandas as pd

    from scanmix_cli.data.decode import VALID
    from scanmix_cli.report.export import write_table
    from scanmix_cli.workflow.outputs import make_room

    bad = np.flatnonzero(pixels.error_codes != VALID)
    names = samples.table["filename"].to_numpy()[bad]
    columns = {"filename": names, "error_code": pixels.error_codes[bad], "message": pixels.messages[bad]}
    make_room(out)
    write_table(pd.DataFrame(columns, dtype=object), out)
    typer.echo(f"{counted(len(bad), 'unreadable file')} written to {out}", err=True)
