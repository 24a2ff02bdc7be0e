"""`scanmix import`: decisions made in another tool."""

import getpass
import json
from pathlib import Path
from typing import Annotated

import typer

from scanmix_cli.cli import options
from scanmix_cli.data.wording import counted, quoted
from scanmix_cli.report.runs import latest_run, resolve_run


def import_results(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="cleanlab's table of issues, Label Studio's JSON, CVAT's XML or zip, a table with the columns "
            "filename, decision and label, or a report whose suggestions were edited.",
        ),
    ],
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Run folder (default: the newest run).")] = None,
    who: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who decided, where FILE does not say (default: your user name).")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let cleanlab's verdicts replace what people decided.")
    ] = False,
    allow_new: Annotated[
        bool, typer.Option("--new-classes", help="Take in labels that are no class of the run, as new classes.")
    ] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Take over decisions about a run's images from another tool; `report` and `export` follow them.

    Example: scanmix import project-1-at-2026-11-28.json
    """
    from scanmix_cli.export.results import read_results
    from scanmix_cli.report.decided import read_decided_report
    from scanmix_cli.report.decision_table import new_classes, refuse_new_classes, told_repeated
    from scanmix_cli.report.decisions import open_decisions, read_current
    from scanmix_cli.report.files import read_summary
    from scanmix_cli.report.places import image_paths

    folder = latest_run() if run is None else resolve_run(run)
    summary, (report, _) = read_summary(folder), read_decided_report(folder)
    classes = summary["classes"]
    found = read_results(file, report, classes, image_paths(folder, report, summary))
    known = {*classes, *(entry.label for entry in read_current(folder).values())}
    if not allow_new:
        refuse_new_classes(file, found.choices, known, folder)
    with open_decisions(folder) as log:
        name = _user() if who is None else who
        done = log.add_new(found.choices, who=name, source=found.source, over_people=replace)
    new, unfound = new_classes(found.choices, known), found.unfound
    parts = {
        f"{counted(done.new, 'decision')} from {found.source}": True,
        f"{done.known} stood already": done.known,
        f"{done.left} left as people decided (add --replace to replace them)": done.left,
        f"{unfound.foreign} name no image of this run": unfound.foreign,
        told_repeated(unfound.repeated): unfound.repeated,
        f"{found.undecided} left to review": found.undecided,
        f"{found.agreed} kept as the run keeps them": found.agreed,
        f"new to the run: {quoted(new)}": new,
    }
    typer.echo(", ".join(part for part, told in parts.items() if told), err=True)
    if as_json:
        counts = {"new": done.new, "known": done.known, "left": done.left, "foreign": unfound.foreign}
        more = {"repeated": unfound.repeated, "undecided": found.undecided, "new_classes": new}
        typer.echo(json.dumps({"run": str(folder), "source": found.source, **counts, **more}))


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return ""
