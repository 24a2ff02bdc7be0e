"""A run of `train --reviewed` is whole, and every place counts the images that were dropped in the review alike."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from scanmix_cli.cli.app import main
from scanmix_cli.report.files import read_report
from scanmix_cli.report.page.run_data import read_run

NAMES = [f"{name}/{k}.png" for name in ("blue", "red") for k in range(8)]
SHORT = ("--epochs", "1", "--pretrain-epochs", "1", "--weights", "none", "--device", "cpu", "-q")
DECISIONS = (
    "filename,decision,label\nblue/1.png,drop,\nblue/2.png,relabel,red\nred/1.png,keep,\nred/7.png,relabel,red\n"
)


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """`first`, trained on 16 images, the last one without a label, four of them decided about, and `again`, trained
    with these decisions."""
    folder, rng = tmp_path_factory.mktemp("reviewed"), np.random.default_rng(0)
    for name in NAMES:
        (folder / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        colour = np.array((30, 30, 220) if name[0] == "b" else (220, 30, 30)) + rng.normal(0, 25, (16, 16, 3))
        Image.fromarray(np.clip(colour, 0, 255).astype(np.uint8)).save(folder / "data" / name)
    labels = [name.split("/")[0] for name in NAMES[:-1]] + [""]
    pd.DataFrame({"filename": NAMES, "label": labels}).to_csv(folder / "data" / "labels.csv", index=False)
    (folder / "decisions.csv").write_text(DECISIONS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        command("train", "data/labels.csv", "--out", "first", *SHORT, "--no-html")
        command("import", "decisions.csv", "--run", "first")
        command("train", "data/labels.csv", "--reviewed", "first", "--out", "again", *SHORT)
        yield folder


def test_a_run_without_the_dropped_images_has_its_page_and_plots(folder: Path) -> None:
    run = folder / "again"
    assert (run / "report.html").is_file()
    plots = {path.name for path in (run / "plots").iterdir()}
    assert {"losses.png", "losses.svg", "expected_errors.png", "classes.png", "embedding.png"} <= plots
    assert np.isnan(read_report(run)["mean_loss"].iloc[1]), "dropped, so never looked at"
    command("report", "--run", str(run), "--out", str(folder / "page.html"))
    assert (folder / "page.html").is_file()


def test_a_dropped_image_is_a_suspect_in_every_count(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder / "again"
    summary, report = json.loads((run / "summary.json").read_text(encoding="utf-8")), read_report(run)
    dropped = report.loc[1]
    assert (dropped["suggested_action"], dropped["is_label_issue"], dropped["p_mislabeled"]) == ("drop", True, 1.0)
    assert report.loc[15, ["rank", "p_mislabeled"]].isna().all(), "no label was given that could be wrong"
    ranked = report[report["rank"].notna()].sort_values("rank")
    assert ranked["rank"].tolist() == list(range(1, 16))
    assert set(ranked.index[:2]) == {1, 2}, "what was decided comes first"

    found = int(report["is_label_issue"].fillna(False).sum())
    assert summary["counts"]["label_issues"] == found
    assert summary["counts"]["labelled"] == 15
    steps = {step["first"]: step["wrong"] for step in summary["expected_errors"]}
    assert steps[found] == pytest.approx(found * summary["expected_precision"], abs=1e-3)
    assert steps[15] == pytest.approx(report["p_mislabeled"].sum(), abs=1e-3)
    assert len(read_run(run).suspects()) == found
    title = re.findall(r"<title>.*?(\d+) suspect labels</title>", (run / "report.html").read_text(encoding="utf-8"))
    assert title == [str(found)]
    for selection in ((), ("--threshold", "0.99")):
        capsys.readouterr()
        command("report", "--run", str(run), "--json", *selection)
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert "blue/1.png" in [row["filename"] for row in rows]
        assert selection or len(rows) == found
    command("export", "--run", str(run), "--to", "csv", "--only", "suspects", "--out", str(folder / "suspects"))
    assert len(pd.read_csv(folder / "suspects" / "labels.csv")) == found
