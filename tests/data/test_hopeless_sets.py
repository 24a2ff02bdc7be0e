"""Small, skewed and hopeless sets: they train, and every row gets its verdict."""

import csv
import json
from pathlib import Path

import pytest
from image_files import picture, save_picture

from scanmix_cli.cli.app import main

SETS = {
    "two classes of three": ({"a": 3, "b": 3}, ()),
    "forty to four": ({"a": 40, "b": 4}, ()),
    "one image in a class": ({"a": 1, "b": 6}, ()),
    "more classes than a batch": ({f"{k:02}": 2 for k in range(20)}, ("--batch-size", "8")),
    "a batch's remainder of one": ({"a": 9, "b": 8}, ("--batch-size", "16")),
}


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("settings.toml").write_text("[profile.warmup]\nepochs = 1\n[profile.scan]\nepochs = 1\n")


def train(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[dict, list[dict[str, str]]]:
    """The summary and the report of a run on `data`."""
    short = ("--epochs", "1", "--pretrain-epochs", "1", "--device", "cpu", "--config", "settings.toml", "--no-html")
    with pytest.raises(SystemExit) as stopped:
        main(["train", "data", "--out", "run", "--json", *short, *options])
    assert not stopped.value.code
    with open("run/report.csv", encoding="utf-8", newline="") as file:
        return json.loads(capsys.readouterr().out), list(csv.DictReader(file))


@pytest.mark.parametrize("name", list(SETS))
def test_set_trains_and_every_image_is_ranked(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    sizes, options = SETS[name]
    seed = 0
    for label, size in sizes.items():
        for k in range(size):
            save_picture(Path("data") / label / f"{k}.png", seed)
            seed += 1
    summary, report = train(capsys, *options)
    assert len(report) == sum(sizes.values())
    assert sorted(int(row["rank"]) for row in report) == list(range(1, len(report) + 1))
    assert summary["classes"] == sorted(sizes)
    assert "scores are unreliable" in Path("run/log.txt").read_text()


def test_images_that_are_all_equal_train_and_are_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    for k in range(12):
        path = Path("data") / "ab"[k % 2] / f"{k}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(0).save(path)
    summary, report = train(capsys)
    assert [row["is_exact_duplicate_issue"] for row in report] == ["True"] * 12
    assert (
        "1 set of copies with more than one label, such as a: a/0.png = a: a/10.png" in Path("run/log.txt").read_text()
    )
    assert summary["counts"]["unreadable"] == 0
