"""`scanmix report`: the suspects of a run."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scanmix_cli.cli import options
from scanmix_cli.cli.screen import screen
from scanmix_cli.data.wording import counted
from scanmix_cli.report.runs import latest_run, resolve_run

if TYPE_CHECKING:
    import pandas as pd

SCREEN = 50  # rows shown on the terminal when nobody said how many


def report(
    run: Annotated[Path | None, typer.Option(help="Run folder (default: the newest run).", metavar="DIR")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write to a file: .csv .jsonl .json .parquet .html .md.", metavar="FILE")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every row, in input order.")] = False,
    top: Annotated[int | None, typer.Option(min=1, help="The N most suspect rows.", metavar="N")] = None,
    given_class: Annotated[
        str | None, typer.Option("--class", help="Only rows with this given label.", metavar="NAME")
    ] = None,
    review_budget: Annotated[
        int | None, typer.Option(min=1, help="The N rows where a look puts most labels right.", metavar="N")
    ] = None,
    min_precision: Annotated[
        float | None, typer.Option(help="As many rows as are wrong with this expected share.", metavar="P")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Rows whose label is wrong with probability P or more.", metavar="P")
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Show or write the suspect labels of a run.

    Example: scanmix report --out noisy.csv
    """
    from scanmix_cli.report.decided import read_decided_report
    from scanmix_cli.report.export import check_extension, export
    from scanmix_cli.report.files import read_summary
    from scanmix_cli.report.places import image_paths
    from scanmix_cli.report.select import select
    from scanmix_cli.workflow.outputs import check_file, make_room, trained_on

    if out is not None:
        check_extension(out)
    folder = latest_run() if run is None else resolve_run(run)
    if out is not None:
        check_file(out, trained_on(folder))
    whole, _ = read_decided_report(folder)
    summary = read_summary(folder)
    rows = select(
        whole,
        summary["classes"],
        everything=everything,
        top=top,
        given_class=given_class,
        review_budget=review_budget,
        min_precision=min_precision,
        threshold=threshold,
    )
    if out is not None:
        # the page shows the first rows only, so it wants the most suspect ones first
        ranked = rows.sort_values("rank", kind="stable") if everything else rows
        make_room(out)
        export(rows, out, lambda path: _write_page(path, folder, ranked, top))
    if as_json:
        typer.echo(json.dumps(_answer(folder, out, rows, summary)))
    elif out is not None:
        typer.echo(f"{counted(len(rows), 'row')} written to {out}", err=True)
    else:
        limited = top is None and review_budget is None and not everything
        if rows.empty:
            any_issue = whole["is_label_issue"].fillna(False).any()
            nothing = "No row fits the choice" if any_issue else "No label is called an issue"
            named = [] if run is None else ["--run", str(run)]
            command = shlex.join(["scanmix", "report", *named, "--top", "20"])
            typer.echo(f"{nothing}; `{command}` shows the 20 most suspect rows.", err=True)
            return
        _show(rows, SCREEN if limited else len(rows), image_paths(folder, whole, summary))
        if review_budget is not None or min_precision is not None:
            from scanmix_cli.report.economics import expected_wrong

            wrong = expected_wrong(rows)
            typer.echo(f"{counted(len(rows), 'row')}: {wrong:.1f} labels are expected to be wrong.", err=True)


def _answer(folder: Path, out: Path | None, rows: "pd.DataFrame", summary: dict[str, Any]) -> dict[str, Any]:
    from scanmix_cli.report.economics import expected_wrong
    from scanmix_cli.report.export import records

    return {
        "run": str(folder),
        "out": None if out is None else str(out),
        "selected": len(rows),
        "expected_wrong": round(expected_wrong(rows), 6),
        "noise_rate": summary["noise_rate"],
        "rows": records(rows),
    }


def _show(rows: "pd.DataFrame", limit: int, paths: list[str]) -> None:
    from rich.text import Text

    from scanmix_cli.report.terminal import pairs_table, suspects_table

    console = screen()
    console.print(suspects_table(rows.head(limit), console, paths))
    pairs = pairs_table(rows, console)
    if pairs.row_count > 1:
        console.print(Text("commonest changes", style="bold"), pairs, sep="\n")
    if len(rows) > limit:
        typer.echo(f"{limit} of {len(rows)} rows shown: add `--out noisy.csv` to write all of them.", err=True)


def _write_page(path: Path, folder: Path, rows: "pd.DataFrame", top: int | None) -> None:
    from scanmix_cli.report.html import SHOWN, write_html  # draws plots: every other command starts seconds sooner
    from scanmix_cli.report.page.pictures import Sources
    from scanmix_cli.report.page.run_data import read_run
    from scanmix_cli.report.places import image_paths
    from scanmix_cli.report.thumbnails import NEARBY, from_files

    whole = read_run(folder)
    paths = image_paths(folder, whole.report, whole.summary)
    pictures = Sources(from_files(paths), from_files(paths, NEARBY))
    write_html(path, whole, pictures, suspects=rows[rows["rank"].notna()], most=top or SHOWN)
