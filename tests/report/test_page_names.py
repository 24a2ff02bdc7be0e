"""The page in a headless browser where names are long, or read from right to left."""

from dataclasses import replace
from typing import Any

import pytest
from page_run import CLASSES, make_page_run, make_pictures

from scanmix_cli.report.html import write_html

LONG = ("n02085620_chihuahua_short_haired_toy_dog_adult", "Donaudampfschifffahrt" * 5, "قط", "ab")
DESKTOP, PHONE = {"width": 1200, "height": 900}, {"width": 375, "height": 800}


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of classes and files whose names have no place to break."""
    run, path = make_page_run(), tmp_path_factory.mktemp("long") / "report.html"
    renamed = dict(zip(CLASSES, LONG, strict=True))
    labels = ("given_label", "suggested_label", "predicted_label")
    report = run.report.replace(dict.fromkeys(labels, renamed))
    report["filename"] = [f"{'x' * 150}_{row}.png" for row in range(len(report))]
    summary = run.summary | {
        "classes": list(LONG),
        "data": run.summary["data"] | {"name": "y" * 100, "root": "/" + "z" * 150},
        "class_quality": [one | {"class": renamed[one["class"]]} for one in run.summary["class_quality"]],
        "confusions": [
            pair | {end: renamed[pair[end]] for end in ("true", "given")} for pair in run.summary["confusions"]
        ],
        "classes_perhaps_one": [{"classes": list(LONG[:2]), "overlap": 0.9}],
    }
    write_html(path, replace(run, report=report, summary=summary), make_pictures())
    return path.as_uri()


def opened(browser: Any, address: str, size: dict[str, int] | None = None) -> Any:
    page = browser.new_page(viewport=size or DESKTOP)
    page.goto(address)
    page.wait_for_selector(".card")
    return page


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
def test_long_names_stay_in_their_places(browser: Any, long_names: str, size: dict[str, int]) -> None:
    page = opened(browser, long_names, size)
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    over = "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
    assert page.locator("h1, .lead, .card .cap, .thumb, dialog").evaluate_all(over) == 0
    text, card = (page.locator(name).bounding_box() for name in (".hero > div:first-child", ".look"))
    assert text["x"] + text["width"] <= card["x"] or text["y"] + text["height"] <= card["y"]
    cut = page.locator(".card").evaluate_all("cards => cards.filter(c => c.scrollHeight > c.clientHeight).length")
    assert cut == 0


def test_given_and_suggested_label_share_the_width_of_a_card(browser: Any, long_names: str) -> None:
    page = opened(browser, long_names)
    whole = "name => name.scrollWidth <= name.clientWidth"
    fair = 0
    for card in page.locator(".card").all()[:4]:
        was, arrow, now = (card.locator(f".change > :nth-child({k})") for k in (1, 2, 3))
        names = was.inner_text(), now.inner_text()
        for one, name in ((was, names[0]), (now, names[1])):
            assert one.evaluate(whole) == (len(name) < 5), "a short name is never cut for a long one"
        if min(map(len, names)) > 5:
            widths = [one.bounding_box()["width"] for one in (was, now)]
            assert widths[0] == pytest.approx(widths[1], abs=1)
            fair += 1
        assert card.locator(".open").get_attribute("title") == " → ".join(f"\u2068{name}\u2069" for name in names)
        assert was.bounding_box()["x"] < arrow.bounding_box()["x"] < now.bounding_box()["x"]
    assert fair == 1


def test_a_name_from_right_to_left_turns_no_number(browser: Any, long_names: str) -> None:
    """Where the words stand on the screen, from left to right."""
    page = opened(browser, long_names)
    place = """line => { const text = line.lastChild, at = (part) => { const range = document.createRange(),
      start = text.data.lastIndexOf(part); range.setStart(text, start); range.setEnd(text, start + part.length);
      return range.getBoundingClientRect().left }; return ['belief', 'قط', '90', '→', '0 %'].map(at) }"""
    places = page.locator(".belief", has_text="قط").first.evaluate(place)
    assert places == sorted(places)
