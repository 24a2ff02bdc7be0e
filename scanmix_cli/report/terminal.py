"""The report on a terminal: ranked suspects, and what to read at the end of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scanmix_cli.data.wording import counted, printable
from scanmix_cli.evidence.noise_rate import LEVEL
from scanmix_cli.evidence.verdicts import DROP, RELABEL, REVIEW
from scanmix_cli.report.export import records
from scanmix_cli.report.files import BAD_FILES, CLEANED, REPORT
from scanmix_cli.report.page.words import kind_of_noise, nothing_wrong, too_unsure

ACTION_STYLES = {"relabel": "yellow", "review": "cyan", "drop": "red"}
PANEL_WIDTH = 78
PAIRS = 5  # the commonest changes of label so many are shown
LOOKS = 5  # lengths of list whose expected errors are told
BAR = 24  # columns of the longest bar
WIDE = 60  # columns of a terminal from which tables have bars, and file and labels beside each other


def suspects_table(rows: pd.DataFrame, console: Console, paths: Sequence[str] | None = None) -> Table:
    """Rank, file, given → suggested label, probability that the label is wrong, action; fits 80 columns, and 40 with
    the labels below the file.

    Long names are folded, not cut, so that they can be copied. `paths`: the file of every row of the whole report, to
    which the names then link on a terminal that shows links.
    """
    arrow, wide = _arrow(console), is_wide(console)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, int(wide)), header_style="bold")
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("file", overflow="fold")
    if wide:
        table.add_column(f"given {arrow} suggested", overflow="fold")
    table.add_column("p wrong" if wide else "p", justify="right", no_wrap=True)
    table.add_column("action", no_wrap=True)
    for number, row in zip(rows.index, records(rows), strict=True):
        rank, wrong, action = row["rank"], row["p_mislabeled"], row["suggested_action"]
        link = "" if paths is None else f"link {Path(paths[number]).absolute().as_uri()}"
        file = Text(printable(row["filename"], console.encoding), style=link)
        change = Text(printable(_change(row, arrow), console.encoding))
        table.add_row(
            "-" if rank is None else str(rank),
            *((file, change) if wide else (Text("\n").join((file, change)),)),
            "-" if wrong is None else f"{wrong:.3f}",
            Text(action or "-", style=ACTION_STYLES.get(action, "")),
        )
    return table


def pairs_table(rows: pd.DataFrame, console: Console) -> Table:
    """The commonest changes, given → suggested label, of the rows whose label is an issue and that have another
    one, with counts and, on a wide terminal, bars."""
    arrow, mark = _arrow(console), "█" if _is_unicode(console) else "#"
    changed = rows[rows["is_label_issue"].fillna(False).astype(bool) & (rows["suggested_label"] != "")]
    counts = changed.groupby(["given_label", "suggested_label"], sort=True).size()
    commonest = counts.sort_values(ascending=False, kind="stable").head(PAIRS)
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for (given, suggested), count in commonest.items():
        change = Text(printable(f"{given} {arrow} {suggested}", console.encoding))
        bar = mark * max(round(BAR * count / commonest.iloc[0]), 1)
        table.add_row(change, str(count), *([bar] if is_wide(console) else []))
    return table


def is_wide(console: Console) -> bool:
    """Whether there is room for bars."""
    return console.width >= WIDE


def _arrow(console: Console) -> str:
    return "→" if _is_unicode(console) else "->"


def _is_unicode(console: Console) -> bool:
    return (console.encoding or "").lower().startswith("utf")


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
    if (pure := summary.get("expected_precision")) is not None:
        lines.insert(1, f"of the suspects {100 * pure:.0f} % are expected to be really wrong")
    if found and (looks := _looks(summary)):
        lines.append(looks)
    if counts["labelled"] and nothing_wrong(summary):
        lines.append("nothing much looks wrong with the labels")
    elif counts["labelled"] and too_unsure(summary):
        lines.append("too little was learned to tell wrong labels: more images, epochs or outside weights help")
    elif sentence := kind_of_noise(summary):
        lines.append(sentence.lower().rstrip("."))
    accuracy = summary.get("accuracy", {}).get("test_accuracy")
    if accuracy is not None:
        lines.append(
            f"accuracy of the classifier on {counted(counts['held_out'], 'held-out image')} {_percent(accuracy)}"
        )
    if weights := summary.get("weights"):
        lines.append(f"outside weights were used: {weights}")
    if counts["unlabelled"]:
        lines.append(f"{counted(counts['unlabelled'], 'unlabelled image')} got a suggested label")
    if counts["unreadable"]:
        lines.append(f"{counted(counts['unreadable'], 'file')} could not be read: {BAD_FILES}")
    if several := counts.get("duplicate_conflicts"):
        lines.append(f"{counted(several, 'set')} of copies with more than one label: one of them at most can be right")
    if leaks := counts.get("duplicate_leaks"):
        lines.append(f"{counted(leaks, 'set')} of copies in training and held-out part: the accuracy may be too good")
    lines += [
        "",
        f"files    {summary['run']}",
        f"         {CLEANED} ({counted(counts['cleaned'], 'image')} with cleaned labels), {REPORT} (all scores)",
        "next     scanmix report --out noisy.csv",
    ]
    rule = "-" * min(PANEL_WIDTH, max(len(line) for line in lines))
    return "\n".join([rule, *lines, rule])


def _looks(summary: dict[str, Any]) -> str:
    """How many wrong labels the first k of the ranking hold, for a few k up to twice the suspects."""
    most = max(2 * summary["counts"]["label_issues"], 10)
    steps = [step for step in summary.get("expected_errors", []) if step["first"] <= most]
    told = ", ".join(f"{step['first']}: {step['wrong']:.0f}" for step in steps[-LOOKS:])
    return f"wrong labels expected among the first {told}" if told else ""


def _change(row: dict[str, Any], arrow: str) -> str:
    if row["suggested_label"] in ("", row["given_label"]):
        return row["given_label"]
    return f"{row['given_label'] or '(none)'} {arrow} {row['suggested_label']}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
