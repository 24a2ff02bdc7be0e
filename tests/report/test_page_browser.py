"""The page in a headless browser, opened from disk with the network off."""

from collections.abc import Iterator
from typing import Any

import pytest
from page_run import CLASSES, HOSTILE, SUSPECTS, make_page_run, make_pictures

from scanmix_cli.report.html import write_html

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(path, make_page_run(), make_pictures())
    return path.as_uri()


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Any]:
    """Opens the page; at the end nothing may have been complained about, asked of the network, or smuggled in."""
    complaints: list[str] = []
    asked: list[str] = []
    contexts = []

    def open_at(size: dict[str, int] | None = None, **options: Any) -> Any:
        context = browser.new_context(viewport=size or DESKTOP, offline=True, reduced_motion="reduce", **options)
        contexts.append(context)
        context.expose_function("hit", lambda what: complaints.append(f"a name ran as a script: {what}"))
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.wait_for_selector(".card")
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in asked if url != address and not url.startswith("data:")] == []


def shown_ranks(page: Any) -> list[int]:
    """Ranks of the cards that exist, in their order on the screen."""
    cards = page.locator(".card").evaluate_all(
        "cards => cards.map(c => [Number(c.getAttribute('aria-posinset')), c.querySelector('.top').firstChild.data])"
    )
    return [int(text.strip("#")) for _, text in sorted(cards)]


def status(page: Any) -> str:
    return page.locator("#status").inner_text()


def isolated(name: str) -> str:
    return f"\u2068{name}\u2069"


def filtered(page: Any, expected: str) -> None:
    page.wait_for_function("text => document.getElementById('status').textContent === text", arg=expected)


def test_it_opens_from_disk_without_network_and_complaint(open_page: Any) -> None:
    page = open_page()
    assert page.locator("h1").inner_text() == "About one label in five looks wrong"
    assert status(page) == "60 suspects"
    page.wait_for_function("() => [...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert page.locator(".card").first.locator(".names bdi").count() == 5
    assert page.locator(".chart svg").count() == 2


def test_names_appear_as_the_text_they_are(open_page: Any) -> None:
    page = open_page()
    files = page.locator(".card .file").all_text_contents()
    assert files[0] == HOSTILE[0]
    assert files[1] == HOSTILE[1]
    assert files[2] == HOSTILE[2]
    assert files[3] == "🐈/\\u202egnp.txt.png"
    assert files[4] == HOSTILE[4]
    assert files[5] == "c/9\\udcff.png"
    changes = page.locator(".card .change bdi").all_text_contents()
    assert changes[:4] == [CLASSES[1], CLASSES[0], CLASSES[2], CLASSES[1]]
    options = page.locator("#given option").all_text_contents()
    assert options == ["Any", *[f"{isolated(name)} (15)" for name in CLASSES]]
    assert page.locator(".bars th bdi").all_text_contents() == list(CLASSES)
    assert page.locator("body b:text('bold')").count() == 0


def test_filters_by_class_action_probability_and_text(open_page: Any) -> None:
    page = open_page()
    page.select_option("#given", label=f"{isolated(CLASSES[2])} (15)")
    filtered(page, "15 of 60 suspects")
    assert shown_ranks(page)[:3] == [2, 6, 10]
    page.uncheck("[name=action][value=relabel]")
    filtered(page, "5 of 60 suspects")
    assert shown_ranks(page) == [42, 46, 50, 54, 58]
    page.click("#clear")
    filtered(page, "60 suspects")
    page.select_option("#suggested", label=f"{isolated(CLASSES[3])} (15)")
    filtered(page, "15 of 60 suspects")
    page.click("#clear")
    page.fill("#least", "90")
    filtered(page, "14 of 60 suspects")
    assert page.locator("#least-out").inner_text() == "90 %"
    page.click("#clear")
    page.fill("#search", "IMAGE_03")
    filtered(page, "10 of 60 suspects")
    assert shown_ranks(page) == list(range(31, 41))
    page.fill("#search", "قطة image_039")
    filtered(page, "1 of 60 suspects")
    page.fill("#search", "nothing like it")
    filtered(page, "0 of 60 suspects")
    assert page.locator("#empty").is_visible()


def test_sorting_changes_the_order_and_keeps_ties_in_rank_order(open_page: Any) -> None:
    page = open_page()
    page.select_option("#sort", "unsure")
    page.wait_for_function("() => document.querySelector('.card .top').textContent.startsWith('#60')")
    assert shown_ranks(page)[:3] == [60, 59, 58]
    page.select_option("#sort", "loss")
    page.wait_for_function("() => document.querySelector('.card .top').textContent.startsWith('#5')")
    assert shown_ranks(page)[:3] == [5, 10, 15]
    page.select_option("#sort", "agreement")
    page.wait_for_function("() => document.querySelector('.card .top').textContent.startsWith('#1')")
    assert shown_ranks(page)[:3] == [1, 8, 15]


def test_only_what_is_seen_exists_and_scrolling_brings_the_rest(open_page: Any) -> None:
    page = open_page()
    assert page.locator(".card").count() < SUSPECTS / 2
    page.locator("#deck").evaluate("deck => { deck.scrollTop = deck.scrollHeight }")
    page.wait_for_selector(f".card[aria-posinset='{SUSPECTS}']")
    assert 1 not in shown_ranks(page)
    assert page.locator(f".card[aria-posinset='{SUSPECTS}']").get_attribute("aria-setsize") == str(SUSPECTS)


def test_the_keyboard_reaches_and_opens_every_suspect(open_page: Any) -> None:
    page = open_page()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "open":
            break

    def focused() -> str:
        return page.evaluate("document.activeElement.getAttribute('aria-label')")

    assert focused().startswith(f"Rank 1: given {CLASSES[1]}, suggested {CLASSES[0]}, 99.0 % wrong, relabel")
    page.keyboard.press("ArrowRight")
    assert focused().startswith("Rank 2:")
    page.keyboard.press("ArrowDown")
    assert focused().startswith("Rank 5:"), "three columns on this screen"
    page.keyboard.press("End")
    assert focused().startswith("Rank 60:")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert page.locator("#detail").is_visible()
    assert page.locator("#detail-title").inner_text() == "#1 · relabel"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#detail-title").inner_text() == "#3 · relabel"
    assert page.locator("#detail .path bdi").inner_text() == HOSTILE[2]
    page.keyboard.press("Escape")
    assert not page.locator("#detail").is_visible()
    page.wait_for_function("() => document.activeElement.getAttribute('aria-label')?.startsWith('Rank 3:')")


def test_the_detail_says_what_the_run_knows(open_page: Any) -> None:
    page = open_page()
    page.locator(".card .open").nth(8).click()
    text = page.locator("#detail-body").inner_text()
    assert "96.0" in page.locator("#detail dd").first.inner_text()
    assert "5 of 5 nearest" not in text
    assert "90 → 0 %" in text
    assert "epoch 1" in text
    assert "epoch 8" in text
    page.locator("#detail-close").click()
    assert not page.locator("#detail").is_visible()


def test_hovering_over_the_map_shows_picture_and_labels(open_page: Any) -> None:
    page = open_page()
    canvas = page.locator("#canvas")
    canvas.scroll_into_view_if_needed()
    x, y = page.evaluate("page.points[9]")
    canvas.hover(position={"x": x, "y": y})
    page.wait_for_selector("#tip:not([hidden])")
    given, predicted = isolated(CLASSES[2]), isolated(CLASSES[1])
    assert page.locator("#tip-label").inner_text() == f"given {given}, predicted {predicted}, suspect"
    assert page.locator("#tip-file").inner_text() == "folder/image_009.png"
    page.wait_for_function(
        "() => document.getElementById('tip-picture').getContext('2d').getImageData(32, 32, 1, 1).data[2] > 150"
    )
    canvas.click(position={"x": x, "y": y})
    assert page.locator("#detail-title").inner_text() == "#10 · relabel"
    page.keyboard.press("Escape")
    # The dialog hides before its card gets the focus: what is focused in between loses it.
    page.wait_for_function("() => document.activeElement.getAttribute('aria-label')?.startsWith('Rank 10:')")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#map-status").inner_text()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#map-status").inner_text() != first
    page.locator("input[name=shade][value=predicted]").check()
    page.locator("#only-suspects").check()


def test_the_slider_tells_the_expected_errors(open_page: Any) -> None:
    page = open_page()
    ranked = make_page_run().labelled().sort_values("rank")["p_mislabeled"]
    for k in (1, 37, 150, 300):
        page.fill("#look", str(k))
        assert page.locator("#look-k").inner_text() == str(k)
        assert abs(int(page.locator("#look-errors").inner_text()) - ranked.head(k).sum()) <= 0.5 + 1e-6


def test_numbers_of_classes_lead_to_their_suspects(open_page: Any) -> None:
    page = open_page()
    page.locator(".matrix button").first.click()
    filtered(page, "15 of 60 suspects")
    page.locator(".bars button").nth(2).click()
    filtered(page, "15 of 60 suspects")
    assert page.locator("#given").input_value() == "2"
    assert page.locator("#suggested").input_value() == ""


def test_the_theme_can_be_chosen(open_page: Any) -> None:
    page = open_page(color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    page.click("#theme")
    assert page.locator("#theme").inner_text() == "Theme: dark"
    assert page.evaluate(colour) != light
    assert open_page(color_scheme="dark").evaluate(colour) == page.evaluate(colour)


def test_a_phone_needs_no_sideways_scrolling(open_page: Any) -> None:
    page = open_page(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    boxes = page.locator(".card").evaluate_all("cards => cards.map(c => c.getBoundingClientRect().left)")
    assert len(set(boxes)) == 1, "one column"
    assert page.locator(".quality").evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
    cut = "all => all.filter(cell => cell.scrollWidth > cell.clientWidth).length"
    assert page.locator(".quality :is(thead th, td)").evaluate_all(cut) == 0
    page.locator(".card .open").first.click()
    assert page.evaluate("document.getElementById('detail').scrollWidth") <= PHONE["width"]


def test_no_card_is_cut_off(open_page: Any) -> None:
    for size in (DESKTOP, PHONE):
        page = open_page(size)
        over = page.locator(".card").evaluate_all("cards => cards.filter(c => c.scrollHeight > c.clientHeight).length")
        assert over == 0


def test_paper_gets_the_first_suspects_without_the_controls(open_page: Any) -> None:
    page = open_page()
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.evaluate("page.redraw()")  # as after the change of size that the paper is
    assert page.locator(".card").count() == 60
    assert page.locator("#paper").inner_text() == "On paper: the first 60 of 60 chosen suspects."
    assert not page.locator("#filters").is_visible()
    assert page.locator("#deck").evaluate("deck => deck.scrollHeight <= deck.clientHeight + 1")
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator(".card").count() < 60


@pytest.mark.parametrize(
    ("size", "scheme", "detail"),
    [(DESKTOP, "light", False), (DESKTOP, "dark", False), (PHONE, "light", False), (DESKTOP, "light", True)],
)
def test_no_serious_finding_of_the_accessibility_check(
    open_page: Any, size: dict[str, int], scheme: str, detail: bool
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe comes with the extra dev")
    page = open_page(size, color_scheme=scheme)
    if detail:
        page.locator(".card .open").first.click()
    found = axe.Axe().run(page).response["violations"]
    serious = [
        f"{finding['id']}: {node['target']} {node['failureSummary']}"
        for finding in found
        if finding["impact"] in SERIOUS
        for node in finding["nodes"]
    ]
    assert serious == []
    assert [finding["id"] for finding in found] == []
