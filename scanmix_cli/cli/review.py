"""`scanmix review`: decide about suspects on a local page."""

import getpass
import os
from pathlib import Path
from typing import Annotated

import typer

from scanmix_cli.data.wording import counted
from scanmix_cli.errors import SettingsError
from scanmix_cli.report.runs import latest_run, resolve_run

DECISIONS_PANEL = "Decisions as a table"


def review(
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Run folder (default: the newest run).")] = None,
    top: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The N most suspect rows (default: every suspect).")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port on 127.0.0.1 (default: any free one).")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    who: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name kept with decisions that name nobody (default: the login name)."),
    ] = None,
    root: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the data lie now, if they were moved.")
    ] = None,
    pictures_from: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="Show pictures from this folder outside the data too; may be repeated."),
    ] = None,
    import_file: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="Take in decisions and stop.", rich_help_panel=DECISIONS_PANEL),
    ] = None,
    export_file: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Write decisions to a file and stop: .csv .jsonl .json .parquet.",
            rich_help_panel=DECISIONS_PANEL,
        ),
    ] = None,
) -> None:
    """Look at the suspects of a run in the browser and decide about each of them.

    Example: scanmix review
    """
    folder = latest_run() if run is None else resolve_run(run)
    for option, named in (("--root", root), *(("--pictures-from", extra) for extra in pictures_from or [])):
        if named is not None and not named.is_dir():
            raise SettingsError(f"{option} {named} is no folder; name the folder that holds the images")
    name = who if who is not None else login()
    if import_file is not None or export_file is not None:
        _tables(folder, import_file, export_file, name)
        return
    from scanmix_cli.report.decisions import open_decisions
    from scanmix_cli.review.app import Review
    from scanmix_cli.review.pictures import Pictures
    from scanmix_cli.review.queue import read_queue
    from scanmix_cli.review.server import serve

    queue = read_queue(folder, root, top)
    pictures = Pictures(queue.paths, [queue.root, *(pictures_from or [])])
    if hidden := pictures.outside(queue.suspects.index):
        parent = os.path.dirname(os.path.realpath(hidden[0]))
        typer.echo(
            f"warning: {counted(len(hidden), 'picture')} outside {queue.root} will not be shown; "
            f"add `--pictures-from {parent}` if that folder is part of the data",
            err=True,
        )
    with open_decisions(folder) as log:

        def announce(address: str) -> None:
            found = counted(len(queue.suspects), "suspect")
            typer.echo(f"{found} of {folder}: open this address, stop with Ctrl-C", err=True)
            typer.echo(address)

        serve(Review(queue, log, pictures, name), port, announce, browser=not no_browser)
        decided = len(set(log.current()) & set(queue.suspects.index))
    typer.echo(f"{decided} of {counted(len(queue.suspects), 'suspect')} decided; kept in {log.path}", err=True)


def login() -> str:
    """The name of whoever runs the command, "" where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _tables(folder: Path, import_file: Path | None, export_file: Path | None, who: str) -> None:
    """Decisions from a table, then to one; the run is written to by an import alone."""
    from scanmix_cli.data.samples import TRAIN
    from scanmix_cli.report.decision_table import told_repeated, write_decision_table
    from scanmix_cli.report.decisions import open_decisions, read_current
    from scanmix_cli.report.export import TABLES, check_extension
    from scanmix_cli.report.files import read_report, read_summary
    from scanmix_cli.workflow.outputs import check_file, make_room, trained_on

    if export_file is not None:
        check_file(export_file, (import_file, *trained_on(folder)), option="--export")
        check_extension(export_file, TABLES, option="--export")
    report = read_report(folder)
    if import_file is not None:
        with open_decisions(folder) as log:
            names, training = report["filename"].tolist(), (report["split"] == TRAIN).tolist()
            done = log.import_csv(import_file, names, read_summary(folder)["classes"], training=training, who=who)
        told = f"{counted(done.new, 'new decision')}, {done.known} known already"
        if done.left:
            told += f", {done.left} left as people decided"
        if done.foreign:
            told += f", {counted(done.foreign, 'row')} of no image of this run left out"
        if done.repeated:
            told += f", {told_repeated(done.repeated)}"
        typer.echo(f"{import_file}: {told}", err=True)
    if export_file is not None:
        make_room(export_file)
        written = write_decision_table(export_file, read_current(folder))
        typer.echo(f"{counted(written, 'decision')} written to {export_file}", err=True)
