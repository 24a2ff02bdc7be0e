"""`scanmix check`, run in this process."""

from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from scanmix_cli.cli.check import check

APP = typer.Typer()
APP.command()(check)


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(APP, [str(argument) for argument in arguments], catch_exceptions=True)
