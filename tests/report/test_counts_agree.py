"""However the verdicts turn out, every place that counts suspects counts the same ones."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from report_run import Run, make_run, write_run
from typer.testing import CliRunner

from scanmix_cli.cli.report import report as report_command
from scanmix_cli.data.wording import counted
from scanmix_cli.evidence.verdicts import DROP, KEEP, RELABEL, Verdicts, actions, issues
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions
from scanmix_cli.report.files import read_report, read_summary
from scanmix_cli.report.html import write_html
from scanmix_cli.report.page.pictures import Sources
from scanmix_cli.report.page.run_data import read_run
from scanmix_cli.report.select import select
from scanmix_cli.report.table import build_report
from scanmix_cli.report.terminal import closing_panel
from scanmix_cli.report.thumbnails import from_pixels

command = typer.Typer()
command.command()(report_command)


def random_verdicts(run: Run, seed: int) -> Verdicts:
    """Verdicts with any probabilities, judged as `judge` does."""
    generator = np.random.default_rng(seed)
    before, images = run.verdicts, len(run.verdicts)
    p = np.where(before.labelled, generator.beta(0.4, 0.4, images), 0.0)
    rank = np.zeros(images, np.int64)
    rank[np.flatnonzero(before.labelled)[np.argsort(-p[before.labelled])]] = range(1, before.labelled.sum() + 1)
    issue = issues(p, rank, 0.5)
    labels = run.samples.label_ids()[run.train_rows]
    sure = generator.random(images)
    action = actions(labels, before.suggested, sure, issue, np.zeros(images, bool))
    return replace(before, p_mislabeled=p, rank=rank, is_label_issue=issue, p_suggested=sure, suggested_action=action)


@pytest.mark.parametrize("seed", range(8))
def test_every_place_counts_the_same_suspects(tmp_path: Path, seed: int) -> None:
    run = make_run()
    verdicts = random_verdicts(run, seed)
    report = build_report(run.samples, run.pixels, verdicts, run.train_rows)
    write_run(tmp_path, replace(run, verdicts=verdicts, report=report))
    found = int(verdicts.is_label_issue.sum())
    summary, kept = read_summary(tmp_path), read_report(tmp_path)
    assert summary["counts"]["label_issues"] == found
    assert len(select(kept, run.samples.classes)) == found
    assert len(read_run(tmp_path).suspects()) == found
    assert int(re.findall(r"^(\d+) suspect", closing_panel(summary), re.MULTILINE)[0]) == found
    html = tmp_path / "report.html"
    images = from_pixels(run.pixels)
    write_html(html, read_run(tmp_path), Sources(images, images))
    assert re.findall(r"<title>demo: (\d+) suspect labels</title>", html.read_text()) == [str(found)]
    told = re.findall(r"(\d+) to (relabel|review|drop)", closing_panel(summary))
    actions_listed = kept.loc[kept["is_label_issue"].fillna(False).astype(bool), "suggested_action"]
    assert {name: int(count) for count, name in told} == actions_listed.value_counts().to_dict()
    out = tmp_path / "noisy.csv"
    arguments = ["--run", str(tmp_path), "--out", str(out)]
    assert CliRunner().invoke(command, arguments).stderr.startswith(counted(found, "row"))
    assert len(pd.read_csv(out, usecols=["rank"], encoding_errors="surrogateescape")) == found
    listed = kept[kept["is_label_issue"].fillna(False).astype(bool)]
    assert sorted(listed["rank"]) == list(range(1, found + 1)), "suspects are the first of the ranking"
    expected = None if not found else pytest.approx(listed["p_mislabeled"].mean(), abs=1e-5)
    assert summary["expected_precision"] == expected
    ranked = kept[kept["rank"].notna()].sort_values("rank")["p_mislabeled"]
    curve = {step["first"]: step["wrong"] for step in summary["expected_errors"]}
    assert curve == {k: pytest.approx(ranked.head(k).sum(), abs=1e-3) for k in {found, len(ranked)} - {0}}


def test_copies_are_counted_alike_in_summary_panel_and_page(tmp_path: Path) -> None:
    """Three sets: two images of one label, one of them held out; a contradiction; a copy without a label."""
    run, sets = make_run(), np.full(10, -1)
    sets[[5, 8]], sets[[0, 2]], sets[[6, 9]] = 0, 1, 2
    report = build_report(run.samples, run.pixels, run.verdicts, run.train_rows, duplicates=sets, near=sets)
    write_run(tmp_path, replace(run, report=report))
    summary = read_summary(tmp_path)
    told = {name: summary["counts"][f"duplicate{name}"] for name in ("s", "_sets", "_conflicts", "_leaks")}
    assert told == {"s": 6, "_sets": 3, "_conflicts": 1, "_leaks": 1}
    panel = closing_panel(summary).splitlines()
    assert "1 set of copies with more than one label: one of them at most can be right" in panel
    assert "1 set of copies in training and held-out part: the accuracy may be too good" in panel
    images, html = from_pixels(run.pixels), tmp_path / "report.html"
    write_html(html, read_run(tmp_path), Sources(images, images))
    words = " ".join(re.sub("<[^>]*>", " ", html.read_text()).split())
    assert "6 images are copies of another, in 3 sets; 1 with contradicting labels , 1 reaching from training" in words
    without = dict.fromkeys(("duplicate_conflicts", "duplicate_leaks"), 0)
    assert "of copies" not in closing_panel(summary | {"counts": summary["counts"] | without})


def test_the_page_counts_what_people_left_on_the_list(tmp_path: Path) -> None:
    run = make_run()
    write_run(tmp_path, run)
    before = read_summary(tmp_path)
    suspects = select(read_report(tmp_path), run.samples.classes)
    assert (before["counts"]["label_issues"], before["counts"]["relabel"], before["counts"]["review"]) == (2, 1, 1)
    with open_decisions(tmp_path) as log:
        log.record(Choice(int(suspects.index[0]), suspects["filename"].iloc[0], KEEP), who="ada", source="review")
    images, html = from_pixels(run.pixels), tmp_path / "report.html"
    whole = read_run(tmp_path)
    write_html(html, whole, Sources(images, images))
    assert "<title>demo: 1 suspect labels</title>" in html.read_text()
    assert len(whole.suspects()) == whole.summary["counts"]["label_issues"] == 1
    assert (whole.summary["counts"]["relabel"], whole.summary["counts"]["keep"]) == (0, before["counts"]["keep"] + 1)
    assert whole.summary["counts"]["ambiguous"] == before["counts"]["ambiguous"]
    assert whole.summary["expected_precision"] == pytest.approx(suspects["p_mislabeled"].iloc[1])
    assert read_summary(tmp_path) == before, "the run's own files stay as they were"


def test_decisions_about_images_that_nobody_judges_count_nowhere(tmp_path: Path) -> None:
    run = make_run()
    write_run(tmp_path, run)
    before = read_summary(tmp_path)
    held_out, unreadable = Choice(8, "v/8.png", RELABEL, "01"), Choice(4, "broken.png", DROP)
    with open_decisions(tmp_path) as log:
        log.record_all([held_out, unreadable], who="ada", source="csv")
    whole = read_run(tmp_path)
    assert whole.summary["counts"] == before["counts"]
    assert len(select(whole.report, run.samples.classes)) == len(whole.suspects()) == before["counts"]["label_issues"]
    assert whole.report["rank"].notna().sum() == before["counts"]["labelled"]
