"""`scanmix train --reviewed RUN`: decisions of an earlier run become trusted labels of the next one."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from scanmix_cli.cli.app import main
from scanmix_cli.data.samples import Samples
from scanmix_cli.errors import DataError
from scanmix_cli.files import read_toml
from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions, read_current
from scanmix_cli.report.files import read_report
from scanmix_cli.report.table import REPORT_COLUMNS
from scanmix_cli.workflow import learning
from scanmix_cli.workflow.reviewed import read_reviewed

NAMES = ["blue/0.png", "blue/1.png", "red/2.png", "red/3.png", "red/4.png", "blue/5.png"]
OF_EACH_KIND = (
    Choice(0, NAMES[0], "keep"),
    Choice(1, NAMES[1], "relabel", "red"),
    Choice(2, NAMES[2], "drop"),
    Choice(3, NAMES[3], "unsure"),
)


def make_samples(names: list[str] = NAMES, **changes: Any) -> Samples:
    """Class of a file is its folder; the last row is held out."""
    columns = {
        "filename": names,
        "path": names,
        "split": ["train"] * (len(names) - 1) + ["test"],
        "given_label": [name.split("/")[0] for name in names],
    } | changes
    return Samples("squares", Path(), pd.DataFrame(columns, dtype=object), ("blue", "red"))


def decided(run: Path, *choices: Choice, who: str = "ada") -> Path:
    run.mkdir(exist_ok=True)
    with open_decisions(run) as log:
        log.record_all(choices, who=who, source="review")
    return run


def test_decisions_become_labels(tmp_path: Path) -> None:
    held_out = Choice(5, NAMES[5], "relabel", "red")  # measures, and is not trained on
    run = decided(tmp_path / "run", *OF_EACH_KIND, held_out)
    samples, labels = read_reviewed(run, make_samples())
    assert samples.classes == ("blue", "red")
    assert labels.ids.tolist() == [0, 1, 1, 1, 1, 0]
    assert labels.trusted.tolist() == [True, True, False, False, False, False]
    assert labels.dropped.tolist() == [False, False, True, False, False, False]
    assert labels.counts()["reviewed"] == {"run": str(run), "keep": 1, "relabel": 1, "drop": 1, "unsure": 1}


def test_images_are_found_by_name_where_rows_have_moved(tmp_path: Path) -> None:
    run = decided(tmp_path / "run", Choice(1, NAMES[1], "relabel", "red"))
    _, labels = read_reviewed(run, make_samples(["blue/new.png", *NAMES]))
    assert np.flatnonzero(labels.trusted).tolist() == [2]


def test_what_the_run_expects_of_the_rows_that_nobody_decided_about(tmp_path: Path) -> None:
    run = decided(tmp_path / "run", *OF_EACH_KIND)
    assert read_reviewed(run, make_samples())[1].open_errors == 0, "no report"
    write_run(run, NAMES, [*["train"] * 5, "test"], ["0.9", "0.8", "0.7", "0.2", "0.3", "0.6"])
    found = read_reviewed(run, make_samples())[1].open_errors
    # rows 3 and 4 are open, 5 is held out; of rows 0 and 1 one was wrong, 1.7 were expected
    assert found == pytest.approx(0.5 * (1 + 5) / (1.7 + 5))


def test_what_a_tool_decided_stays_the_tools(tmp_path: Path) -> None:
    run = decided(tmp_path / "run", Choice(0, NAMES[0], "keep"))
    with open_decisions(run) as log:
        log.record(Choice(1, NAMES[1], "relabel", "red"), who="", source="cleanlab")
    (tmp_path / "again").mkdir()
    read_reviewed(run, make_samples())[1].carry_on(tmp_path / "again")
    stands = read_current(tmp_path / "again")
    assert {row: entry.source for row, entry in stands.items()} == {0: f"reviewed {run}", 1: "cleanlab"}


def test_a_class_that_came_up_in_the_review_is_new(tmp_path: Path) -> None:
    run = decided(tmp_path / "run", Choice(0, NAMES[0], "relabel", "green"))
    samples, labels = read_reviewed(run, make_samples())
    assert samples.classes == ("blue", "green", "red")
    assert labels.ids.tolist() == [1, 0, 2, 2, 2, 0]


def test_keeping_no_label_trusts_nothing(tmp_path: Path) -> None:
    run = decided(tmp_path / "run", Choice(0, NAMES[0], "keep"))
    _, labels = read_reviewed(run, make_samples(given_label=["", "blue", "red", "red", "red", "blue"]))
    assert not labels.trusted.any()


def test_what_cannot_be_used_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no decisions; make some with `scanmix review"):
        read_reviewed(tmp_path / "empty", make_samples())
    run = decided(tmp_path / "run", Choice(0, "cat/0.png", "keep"))
    with pytest.raises(DataError, match=r"none of the 1 decisions .*such as cat/0.png; name a run"):
        read_reviewed(run, make_samples())


def test_decisions_about_no_image_and_about_several_are_told(tmp_path: Path) -> None:
    gone = [Choice(7, "cat/cat7.png", "drop"), Choice(8, "cat/8.png", "drop")]
    run = decided(tmp_path / "run", Choice(0, NAMES[0], "keep"), Choice(2, "red/4.png", "drop"), *gone)
    _, labels = read_reviewed(run, make_samples([*NAMES[:4], "red/4.png", "red/4.png", NAMES[5]]))
    assert np.flatnonzero(labels.trusted | labels.dropped).tolist() == [0]
    again = "; decide again about those that you still have"
    assert labels.warnings == (
        f"2 of 4 decisions of {run} name no image of squares, such as cat/cat7.png{again}",
        f"1 of 4 decisions of {run} names several images of squares, such as red/4.png{again}",
    )
    run = decided(tmp_path / "whole", *OF_EACH_KIND)
    assert read_reviewed(run, make_samples())[1].warnings == ()


def write_run(run: Path, names: list[str], splits: list[str], p_mislabeled: list[str]) -> None:
    columns = dict.fromkeys(REPORT_COLUMNS, [""] * len(names)) | {"filename": names, "split": splits}
    pd.DataFrame(columns | {"p_mislabeled": p_mislabeled}).to_csv(run / "report.csv", index=False)
    summary = {"classes": [], "data": {"name": "", "root": ""}, "noise_rate": {"estimate": 0, "low": 0, "high": 0}}
    summary["counts"] = {"rows": len(names), "labelled": len(names), "label_issues": 0}
    (run / "summary.json").write_text(json.dumps(summary), encoding="utf-8")


def test_decisions_stay_on_their_side_where_held_out_images_share_names(tmp_path: Path) -> None:
    names = ["blue/gone.png", "blue/0.png", "red/1.png", "blue/0.png"]
    run = decided(tmp_path / "run", Choice(1, names[1], "keep"), Choice(3, names[3], "relabel", "red"))
    write_run(run, names, ["train", "train", "train", "test"], [""] * 4)
    _, labels = read_reviewed(run, make_samples(["blue/0.png", "red/1.png", "blue/0.png"]))
    assert {row: entry.decision for row, entry in labels.decisions.items()} == {0: "keep"}
    assert labels.warnings == ()
    _, labels = read_reviewed(run, make_samples(["blue/0.png", "red/1.png", "blue/2.png"]))
    assert {row: entry.decision for row, entry in labels.decisions.items()} == {0: "keep"}
    assert labels.warnings[0].startswith(f"1 of 2 decisions of {run} names no image of squares, such as blue/0.png;")


def test_a_run_trains_on_the_decisions_and_carries_them_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    names = [f"{name}/{k}.png" for name in ("blue", "red") for k in range(8)]
    for name in names:
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        colour = np.array((30, 30, 220) if name[0] == "b" else (220, 30, 30)) + rng.normal(0, 25, (16, 16, 3))
        Image.fromarray(np.clip(colour, 0, 255).astype(np.uint8)).save(tmp_path / "data" / name)
    run = decided(
        tmp_path / "run",
        Choice(0, names[0], "relabel", "red"),
        Choice(1, names[1], "drop"),
        Choice(9, names[9], "keep"),
        Choice(16, "blue/gone.png", "drop"),
    )
    trained: list[learning.ImageSet] = []
    scanmix = learning.METHODS["scanmix"]

    def record(images: learning.ImageSet, *others: Any) -> Any:
        trained.append(images)
        return scanmix(images, *others)

    monkeypatch.setitem(learning.METHODS, "scanmix", record)
    short = ["--epochs", "1", "--pretrain-epochs", "1", "--device", "cpu", "--no-html", "-q"]
    with pytest.raises(SystemExit) as ended:
        main(["train", "data", "--reviewed", "run", "--out", "again", *short])
    assert not ended.value.code
    assert trained[0].labels.tolist() == [1, *[0] * 6, *[1] * 8]  # the second image is gone
    assert trained[0].trusted is not None
    assert np.flatnonzero(trained[0].trusted.numpy()).tolist() == [0, 8]

    told = "warning: 1 of 4 decisions of .* names no image of data, such as blue/gone.png; decide again"
    assert re.search(told, (tmp_path / "again" / "log.txt").read_text(encoding="utf-8"))
    report = read_report(tmp_path / "again")
    assert report["given_label"].tolist() == ["blue"] * 8 + ["red"] * 8
    shown = report[["suggested_action", "suggested_label", "p_mislabeled"]].iloc[[0, 1, 9]].values.tolist()
    assert shown[0] == ["relabel", "red", 1.0]
    assert shown[1][0] == "drop"
    assert shown[2] == ["keep", "red", 0.0]
    cleaned = pd.read_csv(tmp_path / "again" / "cleaned.csv").set_index("file_name")["label"]
    assert cleaned[names[0]] == "red"
    assert names[1] not in cleaned.index

    summary = json.loads((tmp_path / "again" / "summary.json").read_text(encoding="utf-8"))
    assert summary["reviewed"] == {"run": str(run), "keep": 1, "relabel": 1, "drop": 1, "unsure": 0}
    assert summary["counts"]["rows"] == 16
    assert read_toml(tmp_path / "again" / "config.toml")["run"]["reviewed"] == str(run)
    stands = read_current(tmp_path / "again")
    assert {row: (entry.decision, entry.who) for row, entry in stands.items()} == {
        0: ("relabel", "ada"),
        1: ("drop", "ada"),
        9: ("keep", "ada"),
    }
