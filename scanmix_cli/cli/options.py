"""Options that several commands share: what the data are, and how to answer."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

DATA_PANEL = "Data"


class Truncated(str, Enum):
    """What becomes of files cut short."""

    skip = "skip"
    use = "use"


DataArgument = Annotated[
    Path, typer.Argument(metavar="DATA", help="Folder with a sub-folder per class, or a table of paths and labels.")
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(metavar="TABLE", help="Labels of the images in folder DATA.", rich_help_panel=DATA_PANEL),
]
PathColumnOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of image paths.", rich_help_panel=DATA_PANEL)
]
LabelColumnOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of labels.", rich_help_panel=DATA_PANEL)
]
SplitColumnOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Column that tells train rows from held-out rows.", rich_help_panel=DATA_PANEL),
]
RootOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Where relative paths start (default: the table's folder).", rich_help_panel=DATA_PANEL
    ),
]
SepOption = Annotated[
    str | None,
    typer.Option(metavar="CHAR", help="Separator of the table (default: found out).", rich_help_panel=DATA_PANEL),
]
EncodingOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Text encoding of the table (default: found out).", rich_help_panel=DATA_PANEL),
]
TestOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH", help="Further folder or table that only measures accuracy.", rich_help_panel=DATA_PANEL
    ),
]
TruncatedOption = Annotated[
    Truncated | None,
    typer.Option(
        help="Files cut short: leave them out (default), or use what is there of the picture.",
        rich_help_panel=DATA_PANEL,
    ),
]
VerboseOption = Annotated[
    int, typer.Option("-v", "--verbose", count=True, help="A line for every epoch; twice: the traceback of an error.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else.")]
