"""The command from the outside: its exit code, a table that it wrote, options of a short run."""

import csv
from pathlib import Path

import pytest

from scanmix_cli.cli.app import main

WITH_PAGE = ["--epochs", "1", "--pretrain-epochs", "1", "--device", "cpu", "-q"]
SHORT = ["--no-html", *WITH_PAGE]  # the page and the plots take as long as all the rest


def run(*arguments: object) -> int:
    """Exit code of the command."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
