"""`scanmix export`: cleaned data in the layout that another tool reads."""

import json
from pathlib import Path
from typing import Annotated

import typer

from scanmix_cli.cli import options
from scanmix_cli.data.wording import counted, quoted
from scanmix_cli.errors import Interrupted
from scanmix_cli.report.runs import latest_run, resolve_run


def export(
    to: Annotated[
        str,
        typer.Option(
            metavar="LAYOUT",
            help="imagefolder, csv, hf, coco, fiftyone, labelstudio, cvat, cleanlab, embeddings or onnx.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder to write.")],
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Run folder (default: the newest run).")] = None,
    only: Annotated[
        str | None,
        typer.Option(metavar="keep|suspects|all", help="Rows: to go on with, suspects, or every readable one."),
    ] = None,
    min_confidence: Annotated[
        float | None, typer.Option(metavar="P", help="Leave out labels that are right with a probability below P.")
    ] = None,
    link: Annotated[
        str, typer.Option(metavar="hard|sym|copy", help="Copy the images (default), or link them and save the space.")
    ] = "copy",
    root: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the images lie now, if they were moved.")
    ] = None,
    device: Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
    as_json: options.JsonOption = False,
) -> None:
    """Write a run's images and cleaned labels for another tool; the originals are only read.

    Example: scanmix export --to imagefolder --out cleaned-photos
    """
    from scanmix_cli.workflow.handoff import ONNX, export_onnx, export_run  # imports PyTorch

    folder = latest_run() if run is None else resolve_run(run)
    try:
        if to == ONNX:
            export_onnx(folder, out)
            found: dict[str, object] = {"run": str(folder), "out": str(out), "to": to}
            _answer(f"model.onnx written to {out}", found, as_json)
            return
        done = export_run(
            folder, to, out, link=link, only=only, min_confidence=min_confidence, root=root, device=device
        )
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; nothing of the export is left in {out}: run it again") from None
    gone = "is gone" if len(done.gone) == 1 else "are gone"
    for names, state in ((done.gone, gone), (done.unreadable, "cannot be read")):
        if names:
            typer.echo(f"{counted(len(names), 'image')} left out, which {state}: {quoted(names)}", err=True)
    if done.copied_instead:
        typer.echo(f"{counted(done.copied_instead, 'image')} copied, since {out} is on another disk", err=True)
    left_out = {"gone": done.gone, "unreadable": done.unreadable}
    found = {"run": str(folder), "out": str(out), "to": to, "rows": done.rows, **left_out}
    _answer(f"{counted(done.rows, 'image')} written to {out}", found, as_json)


def _answer(sentence: str, found: dict, as_json: bool) -> None:
    typer.echo(sentence, err=True)
    if as_json:
        typer.echo(json.dumps(found))
