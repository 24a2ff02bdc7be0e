"""The page: complete, self-contained, and safe against hostile names."""

import base64
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from report_run import CLASSES, Run

from scanmix_cli.report.files import read_summary
from scanmix_cli.report.html import write_html
from scanmix_cli.report.thumbnails import ImageOf, data_uri, from_files, from_pixels


def page(run: Run, run_dir: Path, report: pd.DataFrame | None = None, image_of: ImageOf | None = None, **more) -> str:
    arguments = {
        "classes": CLASSES,
        "noise_matrix": run.verdicts.noise_matrix,
        "summary": read_summary(run_dir),
        "settings": {"seed": 0, "note": "<b>"},
        "image_of": image_of or from_pixels(run.pixels),
    }
    write_html(run_dir / "report.html", run.report if report is None else report, **(arguments | more))
    return (run_dir / "report.html").read_text(encoding="utf-8")


class Wellformed(HTMLParser):
    """Collects addresses and checks that every tag is closed in order."""

    EMPTY = frozenset({"meta", "img", "link", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_wellformed_and_needs_no_network(run: Run, run_dir: Path) -> None:
    text = page(run, run_dir)
    addresses = Wellformed(text).addresses
    assert len(addresses) == 2
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert not re.search(r"https?:|@import|url\(|<script", text)
    assert "prefers-color-scheme: dark" in text


def test_page_shows_the_suspects_in_order(run: Run, run_dir: Path) -> None:
    text = page(run, run_dir)
    changes = re.findall(r'<div class="change">(.*?)</div>', text)
    assert changes == ["01 → =cat", "=cat → NA"]
    assert "99.0 %" in text
    assert '<div class="fact"><b>2</b>suspect labels among 6 labelled images</div>' in text
    assert "&lt;b&gt;" in text, "settings are escaped"


def test_hostile_names_are_text(run: Run, run_dir: Path) -> None:
    report = run.report.copy()
    report.loc[1, "filename"] = '"><script>alert(1)</script>'
    report.loc[1, "suggested_label"] = "<img src=x onerror=alert(1)>"
    text = page(run, run_dir, report)
    Wellformed(text)
    assert "<script" not in text
    assert "<img src=x" not in text


def test_names_that_are_no_utf8_are_shown_as_bytes(run: Run, run_dir: Path) -> None:
    assert "c/9\\udcff.png" in page(run, run_dir, suspects=run.report.loc[[9]])


def test_a_missing_picture_is_said(run: Run, run_dir: Path) -> None:
    assert page(run, run_dir, image_of=lambda row: None).count("no picture") == 2


def test_a_page_without_suspects(run: Run, run_dir: Path) -> None:
    text = page(run, run_dir, suspects=run.report.head(0), noise_matrix=np.eye(3))
    assert "No label looks wrong." in text
    assert "most frequent confusions" not in text


def test_a_page_says_when_it_shows_only_the_first(run: Run, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanmix_cli.report.html.SHOWN", 1)
    text = page(run, run_dir)
    assert "the first 1 of 2, the rest is in <code>report.csv</code>" in text
    assert text.count('<article class="card">') == 1


def test_a_matrix_of_many_classes_gives_way_to_the_confusions(run: Run, run_dir: Path) -> None:
    classes = [f"class {k}" for k in range(40)]
    matrix = np.eye(40)
    matrix[3, [3, 7]] = 0.75, 0.25
    text = page(run, run_dir, classes=classes, noise_matrix=matrix)
    assert "true \\ given" not in text
    assert '<tr><th>class 3</th><td class="left">class 7</td><td>25.0</td></tr>' in text


def test_of_many_classes_those_with_most_suspects_are_shown(
    run: Run, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scanmix_cli.report.html.SHOWN_CLASSES", 2)
    text = page(run, run_dir)
    assert re.findall(r'<span class="name">(.*?)</span>', text) == ["01", "=cat"]
    assert "The 2 classes with the most suspects of 3." in text


def test_class_bars_count_the_given_labels(run: Run, run_dir: Path) -> None:
    numbers = re.findall(r'<span class="number">(.*?)</span>', page(run, run_dir))
    assert numbers == ["1 of 2 (50.0 %)", "1 of 2 (50.0 %)", "0 of 2 (0.0 %)"]


def decoded(uri: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))


def test_tiny_pictures_keep_every_pixel_and_large_ones_shrink() -> None:
    generator = np.random.default_rng(0)
    tiny = generator.integers(0, 256, (3, 32, 24), dtype=np.uint8)
    assert np.array_equal(np.asarray(decoded(data_uri(tiny))).transpose(2, 0, 1), tiny)
    large = decoded(data_uri(np.zeros((3, 400, 200), np.uint8)))
    assert (large.format, large.size) == ("JPEG", (80, 160))


def test_pictures_by_row(run: Run, tmp_path: Path) -> None:
    of_pixels = from_pixels(run.pixels)
    assert np.array_equal(of_pixels(5), run.pixels.images[4]), "row 4 is unreadable, so row 5 is the fifth picture"
    assert of_pixels(4) is None
    assert of_pixels(99) is None
    (tmp_path / "a").mkdir()
    Image.new("RGB", (32, 32), (255, 0, 0)).save(tmp_path / "a" / "0.png")
    of_files = from_files(run.report, tmp_path)
    picture = of_files(0)
    assert picture is not None
    assert (picture[0] == 255).all()
    assert of_files(1) is None
