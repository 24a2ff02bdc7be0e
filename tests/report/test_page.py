"""The page as a file: complete, self-contained, and safe against hostile names."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_run import AMBIGUOUS, CLASSES, IMAGES, SUSPECTS, make_page_run, make_pictures
from report_run import Run

from scanmix_cli.report.html import write_html
from scanmix_cli.report.page.run_data import RunData, read_run
from scanmix_cli.report.thumbnails import from_pixels


def page(folder: Path, run: RunData, **options: Any) -> str:
    write_html(folder / "report.html", run, make_pictures(), **options)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page(tmp_path_factory.mktemp("page"), make_page_run())


class Parsed(HTMLParser):
    """Every tag closed in order; addresses; the text of the tags; the scripts by type."""

    EMPTY = frozenset({"meta", "img", "link", "br", "input", "col"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.scripts: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag == "script":
            self.scripts.append(dict(attrs).get("type") or "")
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def data_of(text: str, name: str = "data") -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.S)
    assert found is not None
    return json.loads(found[1])


def test_page_is_wellformed_and_asks_no_network(text: str) -> None:
    parsed = Parsed(text)
    assert all(re.match(r"data:|#", address) for address in parsed.addresses)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert {address for address in parsed.addresses if address.startswith("#")} <= {f"#{name}" for name in parsed.ids}
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!#)", text)
    assert not re.search(r"fetch\(|XMLHttpRequest|sendBeacon|WebSocket|innerHTML|eval\(", text)


def test_the_security_policy_allows_the_one_script_and_nothing_else(text: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy"\s+content="(.*?)"', text, re.S)
    script = re.search(r"<script>(.*?)</script>", text, re.S)
    assert policy is not None
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'; img-src data:;")


def test_hostile_names_are_text(text: str) -> None:
    parsed = Parsed(text)
    assert parsed.handlers == []
    assert parsed.scripts == ["application/json", "application/json", "", "text/plain"]
    assert "<b>bold" not in text
    assert "<b>gone" not in text
    names = data_of(text)["suspects"]["file"]
    assert names[0] == "<script>hit('file')</script>.png"
    assert names[3] == "🐈/\\u202egnp.txt.png", "a mark that turns the reading direction is shown, not obeyed"
    assert names[4:7] == ["قطة/صورة.png", "c/9\\udcff.png", "a\\nb\\x1b[31m.png"]


def test_the_verdict_comes_first(text: str) -> None:
    text = " ".join(text.split())
    assert "About one label in five looks wrong" in text
    assert "60 images of 300 have a suspect label: 40 can take the suggested label, 20 need a look." in text
    assert "90&nbsp;% interval 15.0 to 26.0&nbsp;%" in text
    total = sum(make_page_run().labelled()["p_mislabeled"])
    assert f"of the {total:.0f} wrong labels expected in all" in text


def test_suspects_are_columns_in_rank_order(text: str) -> None:
    data = data_of(text)
    suspects = data["suspects"]
    assert suspects["rank"] == list(range(1, SUSPECTS + 1))
    assert suspects["given"][:4] == [1, 2, 3, 0]
    assert suspects["suggested"][:4] == [0, 1, 2, 3]
    assert suspects["history"][0] == [90, 50, 10, 0]
    assert suspects["epochs"] == [1, 2, 4, 8]
    assert suspects["near"][0] == [1, 1, 1, 1, 1], "the neighbours' given labels, itself left out"
    assert data["classes"] == list(CLASSES)


def test_a_label_that_a_person_chose_beside_the_classes_is_shown(tmp_path: Path) -> None:
    run = make_page_run()
    report = run.report.copy()
    report.loc[3, "suggested_label"] = "dog"
    data = data_of(page(tmp_path, replace(run, report=report)))
    assert data["classes"] == [*CLASSES, "dog"]
    assert data["suspects"]["suggested"][3] == len(CLASSES)


def test_every_suspect_has_a_line_of_pictures(text: str) -> None:
    block = re.search(r'class="pictures">(.*?)</script>', text, re.S)
    assert block is not None
    lines = [line.split(" ") for line in block[1].split("\n")]
    assert len(lines) == SUSPECTS
    assert [k for k, (picture, _) in enumerate(lines) if not picture] == [7]
    assert all(strip for _, strip in lines)


def test_the_number_shown_is_stated_and_chosen(tmp_path: Path) -> None:
    text = page(tmp_path, make_page_run(), most=25)
    assert "the first 25 of 60 are on this page" in text
    assert len(data_of(text)["suspects"]["file"]) == 25
    assert "all 60 are on this page" in page(tmp_path, make_page_run())


def test_the_rows_to_show_may_be_given(tmp_path: Path) -> None:
    run = make_page_run()
    text = page(tmp_path, run, suspects=run.report.loc[[5, 100]])
    assert data_of(text)["suspects"]["row"] == [5, 100]


def test_copies_outliers_and_bad_files_are_listed(text: str) -> None:
    text = " ".join(text.split())
    assert "5 images are copies of another, in 2 sets" in text
    assert "1 with contradicting labels" in text
    assert "1 reaching from training into the held-out part" in text
    assert "2 images fit no class; 1 of them has a suspect label." in text
    assert "2 files could not be read" in text
    assert "&lt;b&gt;gone&lt;/b&gt;" in text


def test_images_between_two_classes_are_listed_with_both(text: str) -> None:
    panel = re.search(r"<h3>Between two classes</h3>(.*?)<h3>", text, re.S)
    assert panel is not None
    assert "3 images could be of either of two classes, whatever the label says; 1 of them has a suspect label." in (
        " ".join(panel[1].split())
    )
    files = re.findall(r'class="file" title="([^"]*)"', panel[1])
    assert files == [f"folder/image_{row:03}.png" for row in sorted(AMBIGUOUS)], "the most suspect first"
    assert panel[1].count(f"<bdi>{CLASSES[2]}</bdi> or <bdi>&lt;script&gt;") == 3


def test_a_run_without_images_between_classes_says_so(tmp_path: Path) -> None:
    run = make_page_run()
    none = np.full((IMAGES, 2), -1, np.int32)
    assert "No image lies between two classes." in page(
        tmp_path, replace(run, evidence=run.evidence | {"two_classes": none})
    )


def test_the_map_knows_its_suspects(text: str) -> None:
    found = data_of(text, "map-data")
    assert found["suspect"][:SUSPECTS] == list(range(SUSPECTS))
    assert set(found["suspect"][SUSPECTS:]) == {-1}
    assert len(found["sheets"]) == IMAGES / found["sheet"]
    assert min(found["x"] + found["y"]) == 0
    assert max(found["x"] + found["y"]) == 1000


def test_an_older_run_without_evidence_has_its_page(run: Run, run_dir: Path) -> None:
    whole = read_run(run_dir)
    assert (whole.evidence, len(whole.metrics), whole.settings) == ({}, 0, {})
    write_html(run_dir / "report.html", whole, make_pictures())
    text = (run_dir / "report.html").read_text(encoding="utf-8")
    Parsed(text)
    assert data_of(text)["suspects"]["file"] == ["a/1.png", "b/3,\\n.png"]
    assert data_of(text)["suspects"]["near"] == [[], []]
    assert data_of(text, "map-data") is None
    assert "This run did not look for copies." in text
    assert "two classes" not in text, "it did not keep which images lie between them"


def test_a_run_without_suspects_says_so(tmp_path: Path) -> None:
    run = make_page_run()
    summary = run.summary | {"confusions": []}
    text = page(tmp_path, replace(run, noise_matrix=np.eye(4), summary=summary), suspects=run.report.head(0))
    assert "No label is called an issue." in text
    assert "No class is taken for another." in text
    assert 'id="filters"' not in text


def test_a_run_without_any_label_has_a_page(tmp_path: Path) -> None:
    report = make_page_run().report
    blank = {"given_label": "", "is_label_issue": pd.NA, "rank": pd.NA, "p_mislabeled": np.nan, "mean_loss": np.nan}
    run = make_page_run(report=report.assign(**blank), evidence={})
    text = page(tmp_path, run)
    assert "How far to look" not in text


def test_how_far_to_look_is_said_where_a_wrong_label_is_expected(tmp_path: Path) -> None:
    run = make_page_run()
    labelled = run.report["p_mislabeled"].notna()
    for expected, said in ((0.4, False), (0.6, True)):
        each = run.report["p_mislabeled"].where(~labelled, expected / labelled.sum())
        text = page(tmp_path, replace(run, report=run.report.assign(p_mislabeled=each)))
        assert ("How far to look" in text) == said


def test_a_noise_rate_of_networks_that_learned_little_is_no_finding(tmp_path: Path) -> None:
    run = make_page_run()
    words = "says little: too little was learned"
    assert words not in page(tmp_path, run)
    weak = {"counts": run.summary["counts"] | {"label_issues": 0}, "noise_rate": run.summary["noise_rate"]}
    text = page(tmp_path, replace(run, summary=run.summary | weak))
    assert "Too little was learned to tell wrong labels" in text
    assert re.search(rf'<dt>Estimated noise rate</dt><dd class="soft">.*?</dd>\s<dd class="more">{words}</dd>', text)


def test_how_far_to_look_speaks_of_ranks_not_of_suspects(tmp_path: Path) -> None:
    run = make_page_run()
    none = run.summary | {"counts": run.summary["counts"] | {"label_issues": 0}}
    text = re.sub(r"<.*?>", "", page(tmp_path, replace(run, summary=none)))
    assert re.search(r"The first 10 of the ranking hold about\s\d+\sof the \d+ wrong labels expected in all\.", text)


def test_the_pictures_of_a_run_in_memory_serve_as_well(run: Run) -> None:
    assert from_pixels(run.pixels)(4) is None
