"""Standard output for people."""

import os

from rich.console import Console

LEAST = 40  # columns; in fewer a table would lose its names, so that a narrower terminal breaks its lines instead


def screen() -> Console:
    """Standard output, as wide as the terminal, and LEAST columns at the least."""
    console = Console(highlight=False)
    console.width = max(console.width, LEAST)
    return console


def forget_senseless_width() -> None:
    """Take a width of the terminal that is none, such as 0, out of the environment: everything would print nothing."""
    columns = os.environ.get("COLUMNS", "")
    if columns and not (columns.isdecimal() and int(columns)):
        del os.environ["COLUMNS"]
