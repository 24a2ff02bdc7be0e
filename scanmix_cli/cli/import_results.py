"""`scanmix import`: decisions made in another tool."""

import getpass
import json
from pathlib import Path
from typing import Annotated

import typer

from scanmix_cli.cli import options
from scanmix_cli.data.wording import counted
from scanmix_cli.report.runs import latest_run, resolve_run


def import_results(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="cleanlab's table of issues (CSV, Parquet), Label Studio's JSON, CVAT's XML or zip, or a CSV with the "
            "columns filename, decision and label.",
        ),
    ],
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Run folder (default: the newest run).")] = None,
    who: Annotated[str | None, typer.Option(metavar="NAME", help="Who decided (default: your user name).")] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Take over decisions about a run's images from another tool; `report` and `export` follow them.

    Example: scanmix import project-1-at-2026-11-28.json
    """
    from scanmix_cli.export.results import OURS, is_own_csv, read_results
    from scanmix_cli.report.decisions import Imported, open_decisions
    from scanmix_cli.report.files import read_report, read_summary

    folder = latest_run() if run is None else resolve_run(run)
    report = read_report(folder)
    name = _user() if who is None else who
    if is_own_csv(file):
        with open_decisions(folder) as log:
            source, done = OURS, log.import_csv(file, report["filename"].tolist(), who=name)
    else:
        found = read_results(file, report, read_summary(folder)["classes"])
        with open_decisions(folder) as log:
            new = log.add_new(found.choices, who=name, source=found.source)
        source, done = found.source, Imported(new, len(found.choices) - new, found.foreign)
    known = f", {done.known} stood already" if done.known else ""
    foreign = f", {done.foreign} name no image of this run" if done.foreign else ""
    typer.echo(f"{counted(done.new, 'decision')} from {source}{known}{foreign}", err=True)
    if as_json:
        counts = {"new": done.new, "known": done.known, "foreign": done.foreign}
        typer.echo(json.dumps({"run": str(folder), "source": source, **counts}))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return ""
