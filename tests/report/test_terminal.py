"""The table and the closing lines as a person reads them."""

import io
from pathlib import Path

import pandas as pd
import pytest
from report_run import Run
from rich.console import Console

from scanmix_cli.data.wording import printable
from scanmix_cli.report.page.run_data import ranked_issues
from scanmix_cli.report.terminal import closing_panel, pairs_table, suspects_table


def shown(rows: pd.DataFrame, encoding: str = "utf-8", width: int = 80) -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=file, width=width)
    console.print(suspects_table(rows, console))
    file.seek(0)
    return [line.strip() for line in file.read().splitlines()]


def test_suspects_at_eighty_columns(run: Run) -> None:
    assert shown(ranked_issues(run.report)) == [
        "",
        "rank   file         given → suggested   p wrong   action",
        "─────────────────────────────────────────────────────────",
        "1   a/1.png      01 → =cat             0.990   relabel",
        "2   b/3,\\n.png   =cat → NA             0.640   review",
        "",
    ]


def test_suspects_at_forty_columns(run: Run) -> None:
    """The labels stand below the file; nothing is lost of long names."""
    rows = ranked_issues(run.report)
    rows = rows.assign(filename=pd.Series(["a/" + "x" * 30, "b.png"], index=rows.index, dtype=object))
    assert shown(rows, width=40) == [
        "",
        "rank file                    p action",
        "──────────────────────────────────────",
        "1 a/xxxxxxxxxxxxxxxxx 0.990 relabel",
        "xxxxxxxxxxxxx",
        "01 → =cat",
        "2 b.png               0.640 review",
        "=cat → NA",
        "",
    ]


def test_suspects_in_plain_ascii(run: Run) -> None:
    lines = shown(ranked_issues(run.report), "ascii")
    assert "01 -> =cat" in lines[3]


def test_rows_without_a_verdict_have_dashes(run: Run) -> None:
    lines = shown(run.report.loc[[4, 6, 9]])
    assert lines[3].split() == ["-", "broken.png", "NA", "-", "-"]
    assert lines[4].split() == ["-", "c/6.png", "(none)", "→", "NA", "-", "relabel"]
    assert "c/9\\udcff.png" in lines[5]


def test_a_label_that_is_kept_stands_alone(run: Run) -> None:
    assert shown(run.report.loc[[0]])[3].split()[1:3] == ["a/0.png", "01"]
    assert not any("→" in line for line in shown(run.report.loc[[0]])[3:])


def test_long_names_are_folded_and_whole(run: Run) -> None:
    name = "very/long/folder/" + "x" * 200 + ".png"
    rows = ranked_issues(run.report).head(1)
    rows = rows.assign(filename=pd.Series([name], index=rows.index, dtype=object))
    lines = shown(rows)
    assert max(len(line) for line in lines) <= 80
    body = "".join(line.split("   ")[0 if k else 1].strip() for k, line in enumerate(lines[3:-1]))
    assert body.replace(" ", "") == name


def test_names_link_to_their_files_on_a_terminal_that_can(run: Run) -> None:
    rows, paths = ranked_issues(run.report).head(1), [f"data/{k} #.png" for k in range(len(run.report))]
    for terminal in (True, False):
        console = Console(file=io.StringIO(), width=80, color_system="standard" if terminal else None)
        console.print(suspects_table(rows, console, paths))
        link = Path(paths[rows.index[0]]).absolute().as_uri()
        assert link.endswith("/data/1%20%23.png")
        assert (link in console.file.getvalue()) == terminal  # type: ignore[attr-defined]


def test_commonest_changes_have_bars() -> None:
    changes = [("a", "b")] * 4 + [("b", "a")] * 2 + [("a", "\x1b")] + [("a", "c"), ("a", "")]
    frame = pd.DataFrame(changes, columns=["given_label", "suggested_label"])
    frame["is_label_issue"] = pd.array([True] * 7 + [False, True], dtype="boolean")
    for encoding, mark, arrow in (("utf-8", "█", "→"), ("ascii", "#", "->")):
        file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        console = Console(file=file, width=80)
        console.print(pairs_table(frame, console))
        file.seek(0)
        assert [line.split() for line in file.read().splitlines()] == [
            ["a", arrow, "b", "4", mark * 24],
            ["b", arrow, "a", "2", mark * 12],
            ["a", arrow, "\\x1b", "1", mark * 6],
        ]


def test_changes_have_no_bars_at_forty_columns() -> None:
    frame = pd.DataFrame({"given_label": ["a" * 50] * 2, "suggested_label": "b", "is_label_issue": [True] * 2})
    console = Console(file=io.StringIO(), width=40)
    console.print(pairs_table(frame, console))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.split() for line in lines] == [["a" * 37, "2"], ["a" * 13, "→", "b"]]


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        ("[red]é", "utf-8", "[red]é"),
        ("\x1b[31m", "utf-8", "\\x1b[31m"),
        ("é", "ascii", "\\xe9"),
        ("a\nb", "utf-8", "a\\nb"),
    ],
)
def test_names_cannot_command_the_terminal(text: str, encoding: str, expected: str) -> None:
    assert printable(text, encoding) == expected


def test_markup_in_a_name_is_text(run: Run) -> None:
    rows = ranked_issues(run.report).head(1)
    rows = rows.assign(filename=pd.Series(["[bold]x[/bold].png"], index=rows.index, dtype=object))
    assert "[bold]x[/bold].png" in shown(rows)[3]


SUMMARY = {
    "run": "scanmix-runs/demo-1",
    "counts": {
        "labelled": 1600,
        "unlabelled": 12,
        "unreadable": 3,
        "label_issues": 240,
        "relabel": 200,
        "review": 40,
        "drop": 0,
        "cleaned": 1610,
    },
    "noise_rate": {"estimate": 0.1512, "low": 0.14, "high": 0.1634},
}


def test_closing_panel() -> None:
    assert closing_panel(SUMMARY).splitlines() == [
        "-" * 78,
        "240 suspect labels in 1600 labelled images: 200 to relabel, 40 to review",
        "estimated noise rate 15.1 % (90 % interval 14.0 % to 16.3 %)",
        "12 unlabelled images got a suggested label",
        "3 files could not be read: bad_files.csv",
        "",
        "files    scanmix-runs/demo-1",
        "         cleaned.csv (1610 images with cleaned labels), report.csv (all scores)",
        "next     scanmix report --out noisy.csv",
        "-" * 78,
    ]


def test_closing_panel_names_outside_weights() -> None:
    assert "outside weights were used: efficientnet-lite0" in closing_panel(SUMMARY | {"weights": "efficientnet-lite0"})
    assert "outside weights" not in closing_panel(SUMMARY | {"weights": ""})


def test_closing_panel_of_a_clean_set() -> None:
    counts = dict.fromkeys(SUMMARY["counts"], 0) | {"labelled": 100, "cleaned": 100}
    rate = {"estimate": 0.0, "low": 0.0, "high": 0.02}
    lines = closing_panel(SUMMARY | {"counts": counts, "noise_rate": rate}).splitlines()
    assert lines[1] == "0 suspect labels in 100 labelled images"
    assert lines[3:5] == ["nothing much looks wrong with the labels", ""]


def test_closing_panel_says_how_pure_the_list_is_and_how_labels_go_wrong() -> None:
    more = {
        "expected_precision": 0.914,
        "noise_kind": "pairwise: most wrong labels of a class name the same other class",
    }
    lines = closing_panel(SUMMARY | more).splitlines()
    assert lines[2] == "of the suspects 91 % are expected to be really wrong"
    assert lines[4] == more["noise_kind"]


def test_closing_panel_says_what_a_look_at_the_list_brings() -> None:
    curve = [{"first": k, "wrong": 0.9 * k} for k in (10, 25, 50, 100, 240, 250, 500, 1000, 1600)]
    line = closing_panel(SUMMARY | {"expected_errors": curve}).splitlines()[3]
    assert line == "wrong labels expected among the first 25: 22, 50: 45, 100: 90, 240: 216, 250: 225"


@pytest.mark.parametrize(
    ("high", "words"),
    [
        (0.08, "nothing much looks wrong with the labels"),
        (0.12, "too little was learned to tell wrong labels: more images, epochs or outside weights help"),
        (0.47, "too little was learned to tell wrong labels: more images, epochs or outside weights help"),
    ],
)
def test_closing_panel_where_hardly_a_label_is_suspect(high: float, words: str) -> None:
    counts = dict.fromkeys(SUMMARY["counts"], 0) | {"labelled": 1000, "label_issues": 5, "review": 5}
    rate = {"estimate": 0.04, "low": 0.0, "high": high}
    lines = closing_panel(SUMMARY | {"counts": counts, "noise_rate": rate, "noise_kind": "uniform: ..."}).splitlines()
    assert lines[3] == words
    assert not any("uniform" in line for line in lines)
