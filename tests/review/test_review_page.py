"""The page in a browser: keys, a server that is killed, two tabs, names that try to be HTML."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium
from review_run import CLASSES, write_review_run
from review_site import Site, running

from scanmix_cli.report.decisions import read_current

SUSPECTS = 40


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


class Tab:
    """One open page, and every complaint of the browser about it."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        context.set_default_timeout(15_000)
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: said.type == "error" and self.complaints.append(said.text))
        self.page.expose_function("hit", lambda *_: self.complaints.append("a name was run"))
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready]")

    def press(self, keys: str) -> None:
        for key in keys.split():
            self.page.keyboard.press(key)

    def decided(self, count: int) -> None:
        """Wait until so many suspects are decided."""
        self.expect("progress").to_have_js_property("value", count)

    def expect(self, identity: str) -> Any:
        """What the element should come to be; waits for it. (The page's policy forbids to wait on a script.)"""
        from playwright.sync_api import expect

        expect.set_options(timeout=15_000)
        return expect(self.page.locator(f"#{identity}"))

    def text(self, identity: str) -> str:
        return self.page.locator(f"#{identity}").text_content()

    def close(self) -> None:
        self.page.context.close()


@pytest.fixture
def tab(browser: Any, site: Site) -> Iterator[Tab]:
    found = Tab(browser, site.address)
    yield found
    assert found.complaints == []
    found.close()


class Server:
    """`scanmix review` in a process of its own."""

    def __init__(self, run: Path) -> None:
        command = [sys.executable, "-m", "scanmix_cli", "review", "--run", str(run), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def end(self, how: int) -> str:
        """Send a signal and wait; returns what the command said at the end."""
        self.process.send_signal(how)
        return self.process.communicate()[1]


def test_thirty_decisions_by_keyboard_survive_a_killed_server(browser: Any, run: Path) -> None:
    server = Server(run)
    tab = Tab(browser, server.address)
    tab.press("a k d u a a k a d a a a a a a a a")  # faster than the answers come: each is about the next picture
    tab.decided(17)
    server.end(signal.SIGKILL)
    shown = tab.text("rank")
    tab.press("a k")
    tab.page.wait_for_selector("#banner:visible")
    assert "does not answer" in tab.text("banner")
    assert tab.text("rank") == shown  # nothing is passed off as decided
    tab.close()

    server = Server(run)
    again = Tab(browser, server.address)
    again.decided(17)
    assert again.text("rank") == "Rank 18"
    again.press("a a a a a a a a k k k u u")
    again.decided(30)
    assert "30 of 40 suspects decided" in server.end(signal.SIGINT)
    assert server.process.returncode == 0
    expected = list("akduaakad" + 16 * "a" + "kkkuu")
    stored = read_current(run)
    kinds = {"a": "relabel", "k": "keep", "d": "drop", "u": "unsure"}
    assert [stored[row].decision for row in range(30)] == [kinds[key] for key in expected]
    assert all(stored[row].label == CLASSES[row % 4] for row in range(30) if expected[row] == "a")
    again.close()


def test_undo_follows_this_tab_and_goes_back_to_the_picture(tab: Tab, site: Site) -> None:
    tab.press("a a a ArrowRight ArrowRight k")
    tab.decided(4)
    tab.press("z z")
    tab.decided(2)
    assert tab.text("rank") == "Rank 3"
    assert sorted(site.log.current()) == [0, 1]
    tab.page.reload()
    tab.page.wait_for_selector("body[data-ready]")
    tab.press("z")
    tab.decided(1)


def test_another_class_by_typing_and_by_number(tab: Tab, site: Site) -> None:
    tab.press("c")
    tab.page.wait_for_selector("#chooser[open]")
    tab.page.keyboard.type("قط")
    tab.press("Enter")
    tab.decided(1)
    tab.press("1 c")
    tab.page.wait_for_selector("#chooser[open]")
    tab.press("Escape")
    tab.expect("chooser").to_be_hidden()
    tab.press("u")
    tab.decided(3)
    stored = site.log.current()
    assert [(stored[row].decision, stored[row].label) for row in range(3)] == [
        ("relabel", CLASSES[3]),
        ("relabel", CLASSES[1]),
        ("unsure", ""),
    ]


def test_two_tabs_see_each_other_and_lose_nothing(browser: Any, tab: Tab, site: Site) -> None:
    other = Tab(browser, site.address)
    other.press("k")
    tab.decided(1)  # without a touch
    assert "keep" in tab.text("decided")
    assert tab.text("rank") == "Rank 1"
    tab.press("a")
    tab.expect("rank").to_have_text("Rank 2")
    other.page.keyboard.press("ArrowLeft")
    other.expect("decided").to_contain_text(CLASSES[0])
    assert [entry.decision for entry in site.log.standing()] == ["keep", "relabel"]
    tab.press("z")
    tab.expect("toast").to_have_text("1 taken back.")
    assert site.log.current()[0].decision == "keep"
    assert other.complaints == []
    other.close()


def test_a_decision_over_an_unseen_one_says_so(tab: Tab, site: Site) -> None:
    tab.page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")  # stops listening
    tab.page.wait_for_timeout(50)
    site.decide((0, "drop", None))
    tab.press("k")
    tab.expect("toast").to_contain_text("stood there")
    assert site.log.current()[0].decision == "keep"


def test_many_at_once_in_the_grid(tab: Tab, site: Site) -> None:
    tab.press("g")
    tab.page.wait_for_selector(".card .open:focus")
    tab.press("Space ArrowRight Space ArrowDown k")  # the selection, not the card with the focus
    tab.decided(2)
    assert sorted(site.log.current()) == [0, 1]
    tab.press("z")
    tab.decided(0)
    tab.page.fill("#least", "75")
    tab.page.click("#accept-sure")
    tab.page.click("#sure-yes")
    tab.decided(21)  # 100 % to 75 % in steps of 1.25 %
    assert {entry.decision for entry in site.log.current().values()} == {"relabel"}
    tab.press("z")
    tab.decided(0)
    assert site.log.current() == {}


def test_by_class_and_what_is_left(tab: Tab, site: Site) -> None:
    tab.page.select_option("#given", "2")
    assert tab.text("place") == "1 of 10"
    tab.press("k")
    tab.decided(1)
    tab.page.select_option("#show", "open")
    assert tab.text("place") == "1 of 9"
    tab.page.select_option("#given", "")
    tab.page.select_option("#order", "class")
    tab.press("g")
    labels = tab.page.eval_on_selector_all(".card .was", "found => found.map(one => one.textContent)")
    assert labels == sorted(labels, key=CLASSES.index)
    assert len(labels) == SUSPECTS - 1
    assert site.log.current()[1].decision == "keep"


def test_names_are_text(tab: Tab) -> None:
    seen = set()
    for _ in range(5):
        seen.add(tab.text("file-name"))
        assert tab.text("change").split("→")[0] in CLASSES
        tab.press("ArrowRight")
        tab.page.wait_for_timeout(30)
    assert seen == {
        "<script>hit('file')</script>.png",
        '"><img src=x onerror=hit(1)>.png',
        "🐈/\\u202egnp.txt.png",
        "قطة/صورة.png",
        "c/9\\udcff.png",
    }
    assert tab.page.locator("main script, main img[src='x'], main b:has-text('bold')").count() == 0
    assert tab.page.locator("#given option").nth(1).text_content() == f"\u2068{CLASSES[0]}\u2069 (10)"


def test_the_picture_zooms(tab: Tab) -> None:
    tab.press("f")
    tab.expect("zoom-scale").to_contain_text("%")
    width = "document.querySelector('#zoomed img').getBoundingClientRect().width"
    before = tab.page.evaluate(width)
    tab.press("+ +")
    assert tab.page.evaluate(width) == pytest.approx(2.25 * before, rel=0.01)
    tab.press("Escape k")
    tab.decided(1)


def test_csv_by_the_buttons(browser: Any, tab: Tab, tmp_path: Path) -> None:
    tab.press("a k")
    tab.decided(2)
    tab.page.click("#menu summary")
    with tab.page.expect_download() as waiting:
        tab.page.click("#download")
    waiting.value.save_as(tmp_path / "decisions.csv")
    text = (tmp_path / "decisions.csv").read_text(encoding="utf-8")
    changed = re.sub(",keep,", ",drop,", text)
    (tmp_path / "changed.csv").write_text(changed, encoding="utf-8")
    tab.page.set_input_files("#file", tmp_path / "changed.csv")
    tab.expect("toast").to_contain_text("1 new decisions, 1 known already")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_obstacle_to_anybody(browser: Any, site: Site, scheme: str) -> None:
    """Three states of the page before axe, the usual checker of accessibility."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    site.decide((1, "keep", None))
    tab = Tab(browser, site.address, color_scheme=scheme, bypass_csp=True)  # the checker is a script of its own
    serious = []
    for keys in ("ArrowRight", "c", "Escape g"):
        tab.press(keys)
        tab.page.wait_for_timeout(150)
        found = axe.Axe().run(tab.page).response["violations"]
        serious += [
            (entry["id"], entry["nodes"][0]["html"]) for entry in found if entry["impact"] in ("serious", "critical")
        ]
    assert serious == []
    tab.close()


def test_a_phone_shows_everything_in_one_column(browser: Any, site: Site) -> None:
    tab = Tab(browser, site.address)
    tab.page.set_viewport_size({"width": 360, "height": 740})
    for view in ("#to-single", "#to-grid"):
        tab.page.click(view)
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert tab.complaints == []
    tab.close()


def test_long_names_and_names_from_right_to_left(browser: Any, tmp_path: Path) -> None:
    classes = ("n02085620_chihuahua_short_haired_toy_dog_adult", "Donaudampfschifffahrt" * 5, "قط", "ab")
    names = [f"{'x' * 150}_{row}.png" for row in range(60)]
    with running(write_review_run(tmp_path, classes=classes, names=names)) as site:
        tab = Tab(browser, site.address)
        tab.press("a ArrowLeft")
        tab.expect("decided").to_have_text(f"decided: \u2068{classes[0]}\u2069, ada")
        for width in (375, 1200):
            tab.page.set_viewport_size({"width": width, "height": 800})
            for view in ("#to-single", "#to-grid"):
                tab.page.click(view)
                assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = "all => all.map(one => [one.offsetWidth, one.scrollWidth > one.clientWidth])"
        given, suggested = (
            tab.page.locator(f".card .change.small .{kind}").evaluate_all(sizes) for kind in ("was", "is")
        )
        assert given[0][0] == pytest.approx(suggested[0][0], abs=1), "two long names have half each"
        assert [cut for _, cut in given[:4]] == [True, False, False, True]
        assert [cut for _, cut in suggested[:4]] == [True, True, False, False]
        assert tab.complaints == []
        tab.close()
