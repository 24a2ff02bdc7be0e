"""The parts of the page: words, pictures in as many bytes as they may take, columns, copies."""

import base64
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from page_run import make_page_run
from PIL import Image
from report_run import Run

from scanmix_cli.report.economics import expected_errors
from scanmix_cli.report.page import pictures, sections
from scanmix_cli.report.page.pictures import Sources, build_gallery, encode, sheets, strip, to_image
from scanmix_cli.report.page.suspects import near_rows
from scanmix_cli.report.page.words import headline, verdict
from scanmix_cli.report.thumbnails import from_files, from_pixels, from_run


def decoded(text: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(text)))


def noise(edge: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (3, edge, edge), dtype=np.uint8)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "Hardly any label looks wrong"),
        (0.01, "A few labels look wrong"),
        (0.03, "About one label in 33 looks wrong"),
        (0.21, "About one label in five looks wrong"),
        (0.35, "About one label in three looks wrong"),
        (0.4, "About two labels in five look wrong"),
        (0.5, "About half of the labels look wrong"),
        (0.8, "Most labels look wrong"),
    ],
)
def test_the_rate_in_words(share: float, words: str) -> None:
    assert headline({"noise_rate": {"estimate": share}, "counts": {"labelled": 9}}) == words
    assert headline({"noise_rate": {"estimate": share}, "counts": {"labelled": 0}}) == "There is no label to judge"


@pytest.mark.parametrize(
    ("low", "high", "issues", "words"),
    [
        (0.0, 0.09, 5, "Hardly any label looks wrong"),
        (0.0, 0.1, 5, "Too little was learned to tell wrong labels"),
        (0.1, 0.5, 5, "Too little was learned to tell wrong labels"),
        (0.1, 0.5, 6, "About one label in four looks wrong"),
    ],
)
def test_a_rate_that_few_issues_bear_out(low: float, high: float, issues: int, words: str) -> None:
    rate = {"estimate": 0.25, "low": low, "high": high}
    assert headline({"noise_rate": rate, "counts": {"labelled": 1000, "label_issues": issues}}) == words


@pytest.mark.parametrize(
    ("sureness", "words"),
    [(0.91, "Hardly any label looks wrong"), (0.89, "Too little was learned to tell wrong labels")],
)
def test_networks_that_are_hardly_right_vouch_for_no_labels(sureness: float, words: str) -> None:
    """Of three classes a third is right by chance, and four tenths of the way from there to all is 0.6; the classes
    count by their images."""
    quality = [{"images": 300, "sureness": 0.5}, {"images": 100, "sureness": sureness}, {"images": 0, "sureness": 1.0}]
    summary = {"noise_rate": {"estimate": 0.01, "low": 0.0, "high": 0.03}, "class_quality": quality}
    assert headline(summary | {"counts": {"labelled": 400, "label_issues": 0}}) == words
    assert headline(summary | {"counts": {"labelled": 400, "label_issues": 9}}) == "A few labels look wrong"


def test_the_verdict_counts_one_and_none_correctly() -> None:
    summary = make_page_run().summary
    one = summary["counts"] | {"label_issues": 1, "relabel": 0, "review": 1, "drop": 0}
    assert verdict({"counts": one}) == ["1 image of 300 has a suspect label: 1 needs a look."]
    dropped = summary["counts"] | {"label_issues": 2, "relabel": 1, "review": 0, "drop": 1}
    assert verdict({"counts": dropped}) == [
        "2 images of 300 have a suspect label: 1 can take the suggested label, 1 should be left out."
    ]
    none = summary["counts"] | {"label_issues": 0}
    assert verdict({"counts": none}) == ["None of 300 labelled images has a suspect label."]
    many = [verdict({"counts": none | {"labelled": n}})[0] for n in (1, 1200)]
    assert many == [
        "None of 1 labelled image has a suspect label.",
        "None of 1,200 labelled images has a suspect label.",
    ]


def test_the_verdict_names_the_first_mix_up_and_isolates_names() -> None:
    known = {"counts": make_page_run().summary["counts"] | {"label_issues": 0}}
    pairs = [{"true": "a\n", "given": "قطة", "share": 0.25}, {"true": "b", "given": "c", "share": 0.5}]
    first = verdict(known | {"confusions": pairs})[1]
    assert first == "The commonest mix-up: 25.0 % of “\u2068a\\n\u2069” are filed under “\u2068قطة\u2069”."
    small = verdict(known | {"confusions": [pairs[0] | {"share": 0.0004}]})[1]
    assert small.startswith("The commonest mix-up: less than 0.1 % of")
    double = verdict(known | {"classes_perhaps_one": [{"classes": ["قطة", "b"]}]})[1]
    assert double.startswith("The classes “\u2068قطة\u2069” and “\u2068b\u2069” are hard to tell apart")


def test_networks_are_judged_without_the_classes_that_no_label_names() -> None:
    quality = [{"images": 100, "sureness": 0.9}, {"images": 100, "sureness": 0.9}, {"images": 0, "sureness": None}]
    summary = {"noise_rate": {"estimate": 0.01, "low": 0.0, "high": 0.03}, "class_quality": quality}
    counts = {"labelled": 200, "label_issues": 0}
    assert headline(summary | {"counts": counts}) == "Hardly any label looks wrong"


def test_expected_errors_are_the_summed_probabilities() -> None:
    assert expected_errors(np.array([0.9, 0.5, np.nan])).tolist() == pytest.approx([0.0, 0.9, 1.4, 1.4])


def test_tiny_pictures_keep_every_pixel_and_large_ones_shrink() -> None:
    tiny = noise(24)
    kept = np.asarray(decoded(encode(to_image(tiny), 160, 50, lossless=True)).convert("RGB")).transpose(2, 0, 1)
    assert np.array_equal(kept, tiny)
    assert decoded(encode(to_image(noise(300)), 160, 50, lossless=True)).size == (160, 160)


def test_a_strip_has_a_place_for_every_neighbour() -> None:
    flat = {1: (250, 0, 0), 3: (0, 0, 250)}

    def image_of(row: int) -> np.ndarray | None:
        color = flat.get(row)
        return None if color is None else np.broadcast_to(np.array(color, np.uint8)[:, None, None], (3, 40, 40))

    picture = decoded(strip([1, 2, 3], image_of, 20, 90)).convert("RGB")
    assert picture.size == (60, 20)
    seen = [picture.getpixel((x, 10)) for x in (10, 30, 50)]
    for color, expected in zip(seen, (flat[1], pictures.BLANK, flat[3]), strict=True):
        assert np.abs(np.subtract(color, expected)).max() < 12
    assert strip([], image_of, 20, 90) == ""


def test_many_pictures_come_in_a_lower_grade_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Sources(lambda row: noise(96, row), lambda row: noise(48, row))
    rows, neighbors = list(range(12)), [[20, 21, 22]] * 12
    best = build_gallery(rows, neighbors, source)
    assert best.grade == pictures.GRADES[0]
    size = sum(map(len, best.chunks))
    monkeypatch.setattr(pictures, "BUDGET", size // 2)
    less = build_gallery(rows, neighbors, source)
    assert less.grade != best.grade
    assert sum(map(len, less.chunks)) <= size // 2
    monkeypatch.setattr(pictures, "BUDGET_CARDS", 6)
    assert build_gallery(rows, neighbors, source).grade == best.grade, "twice the suspects may take twice the bytes"


def test_pictures_come_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "CHUNK", 5)
    gallery = build_gallery(list(range(12)), [[]] * 12, Sources(lambda row: None, lambda row: None))
    assert [chunk.split("\n") for chunk in gallery.chunks] == [[" "] * 5, [" "] * 5, [" "] * 2]
    assert build_gallery([], [], Sources(lambda row: None, lambda row: None)).chunks == []


def test_sheets_hold_all_pictures_of_the_map() -> None:
    found = [decoded(sheet).size for sheet in sheets(list(range(60)), lambda row: noise(8, row))]
    assert found == [(25 * 32, 32), (25 * 32, 32), (10 * 32, 32)]


def test_neighbours_are_rows_of_the_report_without_the_image_itself() -> None:
    run = make_page_run()
    evidence = run.evidence | {"rows": run.evidence["rows"] + 1000}
    suspects = run.report.loc[[2]].set_axis([1002])
    assert near_rows(suspects, evidence) == [[1006, 1010, 1014, 1018, 1022]]
    assert near_rows(run.report.loc[[2]], evidence) == [[]], "a row the evidence does not know"


def test_sets_whose_labels_contradict_come_first() -> None:
    report = make_page_run().report
    found = sections.copies(report, lambda row: None)
    assert [(entry["conflict"], entry["leak"]) for entry in found["shown"]] == [(True, False), (False, True)]
    assert [item["split"] for item in found["shown"][1]["images"]] == ["", "", "test"]


def test_pictures_by_row(run: Run, tmp_path: Path) -> None:
    of_pixels = from_pixels(run.pixels)
    assert np.array_equal(of_pixels(5), run.pixels.images[4]), "row 4 is unreadable, so row 5 is the fifth picture"
    assert of_pixels(4) is None
    assert of_pixels(99) is None
    (tmp_path / "a").mkdir()
    Image.new("RGB", (32, 32), (255, 0, 0)).save(tmp_path / "a" / "0.png")
    Image.new("RGB", (400, 300)).save(tmp_path / "a" / "1.png")
    of_files = from_files([str(tmp_path / name) for name in ("a/0.png", "a/1.png", "gone.png")])
    assert of_files(0).shape == (3, 32, 32), "not enlarged"
    assert (of_files(0)[0] == 255).all()
    assert of_files(1).shape == (3, 160, 160)
    assert of_files(2) is None
    assert from_run([str(tmp_path / "a" / "0.png")], run.pixels)(0).shape == (3, 32, 32), (
        "8 pixels of the cache are too few"
    )
    large = replace(run.pixels, images=np.zeros((len(run.pixels.rows), 3, 160, 160), np.uint8))
    assert from_run([], large)(5).shape == (3, 160, 160)
