"""`scanmix predict`: classify new images with a trained run."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scanmix_cli.cli import options
from scanmix_cli.data.wording import counted, printable
from scanmix_cli.errors import DataError
from scanmix_cli.report.runs import resolve_run

if TYPE_CHECKING:
    import pandas as pd


def predict(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    images: Annotated[list[Path], typer.Argument(metavar="IMAGES...", help="Image files, or folders of them.")],
    top_k: Annotated[int, typer.Option(min=1, metavar="K", help="Classes to give for each image.")] = 1,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to a file: .csv .jsonl .json .parquet.")
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
    network: Annotated[
        str, typer.Option(metavar="both|1|2", help="The ensemble of the networks, or one of them.")
    ] = "both",
    views: Annotated[
        int, typer.Option(min=1, max=10, metavar="N", help="Views an image (mirrored, moved), averaged.")
    ] = 1,
    as_json: options.JsonOption = False,
) -> None:
    """Classify images with the classifier of a run.

    Example: scanmix predict scanmix-runs/demo photo.jpg more-photos/
    """
    from scanmix_cli.report.export import TABLES, check_extension, records, write_table
    from scanmix_cli.report.spreadsheet import csv_text
    from scanmix_cli.workflow.outputs import check_file, make_room, trained_on
    from scanmix_cli.workflow.predict import predict as run_prediction  # imports PyTorch
    from scanmix_cli.workflow.predict import unreadable

    if out is not None:
        check_file(out, [*images, *trained_on(resolve_run(run))])
        check_extension(out, TABLES)
    table = run_prediction(run, images, top_k=top_k, device=device, network=network, views=views)
    bad = unreadable(table)
    if out is not None:
        make_room(out)
        write_table(table, out)
        typer.echo(f"{counted(len(table), 'row')} written to {out}", err=True)
    if as_json:
        typer.echo(json.dumps({"run": str(run), "predictions": records(table)}))
    elif out is None:
        text = csv_text(table)
        if sys.stdout.isatty():  # a file name may hold a terminal's escape codes; programs get the names as they are
            text = "".join(f"{printable(line, sys.stdout.encoding)}\n" for line in text.split("\n")[:-1])
        typer.echo(text, nl=False)
    if bad == len(table):
        raise DataError(_nothing_read(table))
    if bad:
        typer.echo(f"{counted(bad, 'file')} could not be read: see error_code", err=True)


def _nothing_read(table: "pd.DataFrame") -> str:
    name, code = table["filename"].iloc[0], table["error_code"].iloc[0]
    first = f"{name} ({code})"
    told = (
        f"{first} could not be read" if len(table) == 1 else f"none of {len(table)} files could be read, {first} first"
    )
    return f"{told}; name image files or folders of them"
