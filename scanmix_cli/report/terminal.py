"""The report on a terminal: ranked suspects, and what to read at the end of a run."""

from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scanmix_cli.data.wording import counted
from scanmix_cli.evidence.noise_rate import LEVEL
from scanmix_cli.evidence.verdicts import DROP, RELABEL, REVIEW
from scanmix_cli.report.export import records
from scanmix_cli.report.files import BAD_FILES, CLEANED, REPORT

ACTION_STYLES = {"relabel": "yellow", "review": "cyan", "drop": "red"}
PANEL_WIDTH = 78


def suspects_table(rows: pd.DataFrame, console: Console) -> Table:
    """Rank, file, given → suggested label, probability that the label is wrong, action; fits 80 columns.

    Long names are folded, not cut, so that they can be copied.
    """
    arrow = "→" if (console.encoding or "").lower().startswith("utf") else "->"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("file", overflow="fold")
    table.add_column(f"given {arrow} suggested", overflow="fold")
    table.add_column("p wrong", justify="right", no_wrap=True)
    table.add_column("action", no_wrap=True)
    for row in records(rows):
        rank, wrong, action = row["rank"], row["p_mislabeled"], row["suggested_action"]
        table.add_row(
            "-" if rank is None else str(rank),
            Text(printable(row["filename"], console.encoding)),
            Text(printable(_change(row, arrow), console.encoding)),
            "-" if wrong is None else f"{wrong:.3f}",
            Text(action or "-", style=ACTION_STYLES.get(action, "")),
        )
    return table


def printable(text: str, encoding: str) -> str:
    """The text without control characters (a file name may hold a terminal's escape codes) and within the encoding."""
    shown = "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii") for mark in text)
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def closing_panel(summary: dict[str, Any]) -> str:
    """What the end of `train` prints: suspects, noise rate, where the files are, what to type next.

    summary: as `write_run_tables` returns it.
    """
    counts, rate = summary["counts"], summary["noise_rate"]
    found = counts["label_issues"]
    todo = ", ".join(f"{counts[action]} to {action}" for action in (RELABEL, REVIEW, DROP) if counts[action])
    interval = f"{_percent(rate['low'])} to {_percent(rate['high'])}"
    lines = [
        f"{counted(found, 'suspect label')} in {counted(counts['labelled'], 'labelled image')}"
        + (f": {todo}" if todo else ""),
        f"estimated noise rate {_percent(rate['estimate'])} ({100 * LEVEL:.0f} % interval {interval})",
    ]
    accuracy = summary.get("accuracy", {}).get("test_accuracy")
    if accuracy is not None:
        lines.append(
            f"accuracy of the classifier on {counted(counts['held_out'], 'held-out image')} {_percent(accuracy)}"
        )
    if counts["unlabelled"]:
        lines.append(f"{counted(counts['unlabelled'], 'unlabelled image')} got a suggested label")
    if counts["unreadable"]:
        lines.append(f"{counted(counts['unreadable'], 'file')} could not be read: {BAD_FILES}")
    lines += [
        "",
        f"files    {summary['run']}",
        f"         {CLEANED} ({counted(counts['cleaned'], 'image')} with cleaned labels), {REPORT} (all scores)",
        "next     scanmix report --out noisy.csv",
    ]
    rule = "-" * min(PANEL_WIDTH, max(len(line) for line in lines))
    return "\n".join([rule, *lines, rule])


def _change(row: dict[str, Any], arrow: str) -> str:
    if not row["suggested_label"]:
        return row["given_label"]
    return f"{row['given_label'] or '(none)'} {arrow} {row['suggested_label']}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
