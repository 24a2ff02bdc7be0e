"""What the local server answers, and what it refuses."""

import csv
import io
import os
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from PIL import Image
from review_run import CLASSES, HOSTILE, write_review_run
from review_site import Site, running

from scanmix_cli.report.decisions import read_current


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def test_the_page_and_its_parts_come_from_the_address(site: Site) -> None:
    for path in ("", "static/main.js", "static/review.css", "suspects", "decisions.csv", "picture/0/small"):
        assert site.ask(path)[0] == 200, path


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/suspects", {}),
        ("/{wrong}/", {}),
        ("/{wrong}/picture/0/view", {}),
        ("/{token}x/", {}),
        ("//{token}/", {}),
        ("/{token}/", {"Origin": "http://evil.example"}),
        ("/{token}/", {"Origin": "null"}),
        ("/{token}/", {"Origin": "https://127.0.0.1:{port}"}),
        ("/{token}/", {"Host": "evil.example:{port}"}),
        ("/{token}/", {"Host": "127.0.0.1:1"}),
        ("/{token}/picture/0/view", {"Sec_Fetch_Site": "cross-site"}),
        ("/{token}/suspects", {"Sec_Fetch_Site": "same-site"}),
    ],
)
def test_strangers_are_refused(site: Site, path: str, headers: dict[str, str]) -> None:
    parts = urlsplit(site.address)
    values = {"token": parts.path.strip("/"), "wrong": "x" * 43, "port": parts.port}
    address = f"http://{parts.netloc}{path.format(**values)}"
    status, content = site.ask(address, **{name: value.format(**values) for name, value in headers.items()})
    assert status == 403
    assert content.startswith(b"refused: ")


def test_another_origin_decides_nothing(site: Site) -> None:
    body = {"after": 0, "choices": [{"row": 0, "decision": "drop"}]}
    assert site.ask("decisions", body, Origin="http://evil.example")[0] == 403
    assert site.log.current() == {}
    parts = urlsplit(site.address)
    assert site.ask("decisions", body, Origin=f"http://{parts.netloc}", Sec_Fetch_Site="same-origin")[0] == 200
    assert site.log.current()[0].decision == "drop"


def test_the_browser_is_told_to_be_strict(site: Site) -> None:
    import urllib.request

    with urllib.request.urlopen(site.address) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "picture/60/view",
        "picture/-1/view",
        "picture/0/../../../etc/passwd",
        "picture/..%2f..%2fsecret.png/view",
        "picture/0/original",
        "static/../app.py",
        "static/%2e%2e/app.py",
        "secret.png",
    ],
)
def test_nothing_but_rows_can_be_named(site: Site, path: str) -> None:
    assert site.ask(path)[0] == 404


def test_pictures_outside_the_data_set_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret.png"
    secret.parent.mkdir()
    Image.new("RGB", (8, 8)).save(secret)
    names = ["../outside/secret.png", str(secret), "a/link.png", "away/secret.png", "a/inside.png", "a/plain.png"]

    def picture(path: Path, row: int) -> None:
        if row == 2:
            path.symlink_to(secret)
        elif row == 4:
            path.symlink_to("plain.png")
        elif row == 5:
            Image.new("RGB", (8, 8)).save(path)

    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "away").symlink_to(secret.parent)
    run = write_review_run(tmp_path, 6, 6, names=names, picture=picture)
    with running(run) as site:
        answers = [site.ask(f"picture/{row}/view") for row in range(6)]
    assert [status for status, _ in answers] == [403, 403, 403, 403, 200, 200]
    assert b"outside the data set" in answers[0][1]
    with running(run, (secret.parent,)) as site:
        assert [site.ask(f"picture/{row}/view")[0] for row in range(6)] == [200] * 6


def test_a_folder_whose_name_begins_alike_is_outside(tmp_path: Path) -> None:
    (tmp_path / "data-2").mkdir()
    run = write_review_run(tmp_path, 4, 4, names=[f"../data-2/{k}.png" for k in range(4)])
    with running(run) as site:
        assert site.ask("picture/0/view")[0] == 403


def test_pictures_come_whole_in_the_size_asked_for(tmp_path: Path) -> None:
    run = write_review_run(
        tmp_path, 4, 4, picture=lambda path, row: Image.new("RGB", (600, 300), (row, 9, 9)).save(path, "PNG")
    )
    with running(run) as site:
        sizes = {size: opened(site.ask(f"picture/1/{size}")[1]).size for size in ("small", "card", "view", "full")}
    assert sizes == {"small": (112, 56), "card": (360, 180), "view": (600, 300), "full": (600, 300)}


def test_a_picture_that_cannot_be_read_says_why(run: Path, site: Site) -> None:
    data = run.parent / "data"
    (data / HOSTILE[3]).write_bytes(b"no picture")
    (data / HOSTILE[0]).unlink()
    assert site.ask("picture/3/view") == (404, b"the content is no picture that can be read")
    assert site.ask("picture/0/view")[0] == 404


def test_decisions_are_on_disk_before_the_answer(site: Site) -> None:
    answer = site.decide((0, "relabel", 2), (1, "keep", None), (4, "unsure", None))
    stored = read_current(site.run)
    assert [(row, stored[row].decision, stored[row].label, stored[row].who) for row in (0, 1, 4)] == [
        (0, "relabel", CLASSES[2], "ada"),
        (1, "keep", "", "ada"),
        (4, "unsure", "", "ada"),
    ]
    assert stored[4].filename == HOSTILE[4]
    assert answer["made"] == [stored[row].id for row in (0, 1, 4)]
    assert answer["rows"]["0"]["label"] == 2


@pytest.mark.parametrize(
    "choice",
    [
        {"row": 60, "decision": "keep"},
        {"row": -1, "decision": "keep"},
        {"row": 0, "decision": "burn"},
        {"row": 0, "decision": "relabel"},
        {"row": 0, "decision": "relabel", "label": 4},
        {"row": 0, "decision": "keep", "label": 1},
        {"row": "x", "decision": "keep"},
        {"decision": "keep"},
    ],
)
def test_one_bad_decision_spoils_all_of_a_request(site: Site, choice: dict[str, Any]) -> None:
    status, reason = site.ask("decisions", {"after": 0, "choices": [{"row": 1, "decision": "keep"}, choice]})
    assert status == 400
    assert b"Traceback" not in reason
    assert site.log.current() == {}


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"after": 0, "choices": [{"row": 1, "decision": "\\ud800"}]}',
        b'{"after": 0, "choices": [{"row": 1, "decision": "keep", "label": "\\ud800"}]}',
    ],
)
def test_what_no_page_sends_is_refused_in_a_sentence(site: Site, body: bytes) -> None:
    status, reason = site.ask("decisions", body)
    assert status == 400
    assert b"Error" not in reason
    assert site.log.current() == {}


def test_every_position_before_the_beginning_is_the_beginning(site: Site) -> None:
    site.decide((0, "keep", None))
    assert site.json(f"decisions?after=-{10**30}") == site.json("decisions?after=0")


def test_an_address_without_a_slash_is_refused(site: Site) -> None:
    connection = HTTPConnection(urlsplit(site.address).netloc)
    connection.request("OPTIONS", "*")
    assert connection.getresponse().status == 403
    connection.close()


def test_tabs_learn_of_each_other_and_the_latest_counts(site: Site) -> None:
    first = site.decide((0, "keep", None))
    other = site.decide((0, "drop", None), (1, "keep", None), after=first["position"])
    assert other["overtaken"] == []  # it knew of the first
    news = site.json(f"decisions?after={first['position']}")
    assert {row: entry["decision"] for row, entry in news["rows"].items()} == {"0": "drop", "1": "keep"}
    late = site.decide((0, "unsure", None), after=first["position"])
    assert [(old["row"], old["decision"]) for old in late["overtaken"]] == [(0, "drop")]
    assert site.log.current()[0].decision == "unsure"
    assert [entry.decision for entry in site.log.standing() if entry.row == 0] == ["keep", "drop", "unsure"]


def test_undo_takes_back_a_whole_group_but_not_what_was_decided_since(site: Site) -> None:
    made = site.decide((0, "keep", None), (1, "keep", None))
    later = site.decide((1, "drop", None))
    entries = [[row, entry] for row, entry in zip((0, 1), made["made"], strict=True)]
    answer = site.json("undo", {"after": later["position"], "entries": entries})
    assert (answer["undone"], answer["later"]) == ([0], [1])
    assert answer["rows"] == {"0": None}
    assert {row: entry.decision for row, entry in site.log.current().items()} == {1: "drop"}


def test_decisions_go_out_as_csv_and_come_in_again(site: Site, tmp_path: Path) -> None:
    site.decide(*[(row, "relabel", row % 4) for row in range(5)])
    content = site.ask("decisions.csv")[1]
    assert len(list(csv.DictReader(io.StringIO(content.decode("utf-8", "surrogateescape"))))) == 5
    with running(write_review_run(tmp_path / "again")) as second:
        assert second.json("import", content) == {"new": 5, "known": 0, "left": 0, "foreign": 0, "repeated": 0}
        assert second.json("import", content) == {"new": 0, "known": 5, "left": 0, "foreign": 0, "repeated": 0}
        stored = second.log.current()
    assert [stored[row].label for row in range(5)] == [CLASSES[row % 4] for row in range(5)]
    assert site.ask("import", b"a,b\n1,2\n")[0] == 400
    status, sentence = site.ask("import", content.replace(b"relabel,,", b"relabel,new,").replace(b"cat", b"cow"))
    assert status == 400
    assert "(the file, for " in sentence.decode()
    assert f"`scanmix import 'the file' --run {site.run} --new-classes`" in sentence.decode()


def test_two_processes_share_the_log(site: Site) -> None:
    with running(site.run) as second:
        second.decide((3, "drop", None))
        assert site.json("decisions?after=0")["rows"]["3"]["decision"] == "drop"


def test_decisions_about_other_images_are_not_shown(site: Site, run: Path) -> None:
    from scanmix_cli.report.choices import Choice

    site.log.record(Choice(2, "another.png", "drop"), who="eve", source="csv")
    site.log.record(Choice(999, "far.png", "drop"), who="eve", source="csv")
    assert site.json("decisions?after=0")["rows"] == {}


def test_the_queue_holds_suspects_by_rank_with_neighbours_and_likely_classes(site: Site) -> None:
    suspects = site.json("suspects")["suspects"]
    assert suspects["row"] == list(range(40))
    assert suspects["rank"] == list(range(1, 41))
    assert suspects["likely"][5] == [[1, pytest.approx(0.9, abs=1e-3)], *suspects["likely"][5][1:]]
    assert len(suspects["near_rows"][5]) == 5
    assert 5 not in suspects["near_rows"][5]
    assert os.fsdecode(b"\xff") not in "".join(suspects["file"])
