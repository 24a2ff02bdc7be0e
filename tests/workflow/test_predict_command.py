"""`scanmix predict` from the outside, with an untrained classifier: what it says matters here, not how right it is."""

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.registry import build_backbone

from scanmix_cli.cli.app import main
from scanmix_cli.files import write_toml
from scanmix_cli.workflow import predict as module
from scanmix_cli.workflow.classifier import Classifier, save_classifier
from scanmix_cli.workflow.predict import predict

NAMES = ["a b.png", "ünï.jpg", "deep/空.png", "deep/a b.png"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the run `run`, and `new` holding four images, a broken and an empty file."""
    monkeypatch.chdir(tmp_path)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = [ScanMixNet(build_backbone("small"), 3) for _ in range(2)]
    classifier = Classifier(nets, "small", ("01", "=cat", "dog"), 32, 32, (0.5,) * 3, (0.25,) * 3)
    save_classifier(tmp_path / "run" / "model", classifier)
    rng = np.random.default_rng(0)
    for name in NAMES:
        path = tmp_path / "new" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (40, 36, 3), dtype=np.uint8)).save(path)
    (tmp_path / "new" / "broken.png").write_bytes(b"no picture")
    (tmp_path / "new" / "empty.png").touch()
    return tmp_path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["predict", *(str(argument) for argument in arguments), "--device", "cpu"])
    return int(stopped.value.code or 0)


def test_the_name_of_the_file_says_its_format(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "new", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    for name in ("p.json", "p.jsonl", "p.parquet", "p.CSV"):
        assert run("run", "new", "--out", name) == 0
    assert json.loads(Path("p.json").read_text()) == rows
    assert [json.loads(line) for line in Path("p.jsonl").read_text().splitlines()] == rows
    assert pd.read_parquet("p.parquet")["filename"].tolist() == [row["filename"] for row in rows]
    assert Path("p.CSV").read_text().startswith("filename,predicted_label,")
    capsys.readouterr()
    assert run("run", "new", "--out", "p.html") == 2
    told = "scanmix: --out p.html has no known extension: use one of .csv, .jsonl, .json, .parquet\n"
    assert capsys.readouterr().err == told


@pytest.mark.skipif(sys.platform != "linux", reason="the system takes UTF-8 names only")
def test_a_file_name_that_is_no_utf_8_comes_out_as_it_went_in(place: Path) -> None:
    name = b"new/deep/bad\xff.png".decode("utf-8", "surrogateescape")
    (place / "new" / "deep" / "a b.png").rename(place / name)
    assert run("run", "new/deep", "--out", "p.csv") == 0
    assert b"\nnew/deep/bad\xff.png," in (place / "p.csv").read_bytes()


def test_a_folder_and_files_in_the_order_given(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "new/deep", "new/ünï.jpg", "new/gone.png", "new/broken.png", "--top-k", 2) == 0
    told = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert list(rows[0]) == [
        "filename", "predicted_label", "probability", "label_2", "probability_2", "error_code",
    ]  # fmt: skip
    assert [row["filename"] for row in rows] == [
        "new/deep/a b.png", "new/deep/空.png", "new/ünï.jpg", "new/gone.png", "new/broken.png",
    ]  # fmt: skip
    codes = ["VALID", "VALID", "VALID", "ERROR_MISSING_FILE", "ERROR_CORRUPT_IMAGE"]
    assert [row["error_code"] for row in rows] == codes
    assert [bool(row["predicted_label"]) for row in rows] == [code == "VALID" for code in codes]
    assert all(float(row["probability"]) >= float(row["probability_2"]) for row in rows[:3])
    assert told.err == "2 files could not be read: see error_code\n"


def test_a_table_or_json_instead(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "new", "--out", "made/preds.csv") == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "6 rows written to made/preds.csv\n2 files could not be read: see error_code\n"
    written = pd.read_csv("made/preds.csv", dtype=str, na_filter=False)
    assert run("run", "new", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["filename"] for row in answer["predictions"]] == written["filename"].tolist()
    assert sum(row["error_code"] == "ERROR_ZERO_SIZE_FILE" for row in answer["predictions"]) == 1


def test_nothing_that_could_be_read_is_unusable_input(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows come out all the same, in every form."""
    assert run("run", "nope.png") == 2
    told = capsys.readouterr()
    assert told.out == "filename,predicted_label,probability,error_code\nnope.png,,,ERROR_MISSING_FILE\n"
    assert told.err == (
        "scanmix: nope.png (ERROR_MISSING_FILE) could not be read; name image files or folders of them\n"
    )
    assert run("run", "new/*.gif", "new/broken.png", "--json", "--out", "p.csv") == 2
    told = capsys.readouterr()
    codes = [row["error_code"] for row in json.loads(told.out)["predictions"]]
    assert codes == ["ERROR_MISSING_FILE", "ERROR_CORRUPT_IMAGE"]
    assert len(Path("p.csv").read_text().splitlines()) == 3
    assert told.err == (
        "2 rows written to p.csv\nscanmix: none of 2 files could be read, new/*.gif (ERROR_MISSING_FILE) first; "
        "name image files or folders of them\n"
    )


def test_pieces_give_what_the_whole_gives(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = predict(Path("run"), [Path("new")], device="cpu", top_k=3)
    monkeypatch.setattr(
        module, "CHUNK_BYTES", 2 * 3 * 32 * 32
    )  # two images a piece, one of them without a readable one
    in_pieces = predict(Path("run"), [Path("new")], device="cpu", top_k=3)
    pd.testing.assert_frame_equal(in_pieces, whole, check_exact=False, atol=1e-6)


def test_the_table_that_the_run_was_trained_on_is_not_replaced(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "labels.csv").touch()
    summary = {name: {} for name in ("counts", "noise_rate")} | {"classes": [], "data": {"name": "labels", "root": "."}}
    summary["data"]["tables"] = [str(place / "labels.csv")]
    summary["counts"] = dict.fromkeys(("rows", "labelled", "label_issues"), 0)
    summary["noise_rate"] = dict.fromkeys(("estimate", "low", "high"), 0.0)
    (place / "run" / "summary.json").write_text(json.dumps(summary))
    assert run("run", "new", "--out", "labels.csv") == 2
    assert capsys.readouterr().err == "scanmix: --out labels.csv is one of the files to read; name another file\n"
    assert not (place / "labels.csv").read_bytes()


def test_networks_and_views_change_the_probabilities_only(place: Path) -> None:
    tables = [
        predict(Path("run"), [Path("new/deep")], device="cpu", network=network, views=views)
        for network, views in (("both", 1), ("1", 1), ("2", 1), ("both", 10))
    ]
    assert len({tuple(table["probability"]) for table in tables}) == 4
    assert len({tuple(table["filename"]) for table in tables}) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "new", "--network", "3"], "there is no network '3'; choose one of both, 1, 2"),
        (["new", "new"], "new holds no trained classifier; name the folder of a finished run"),
        (["run", "new", "--out", "new/empty.png"], "new/empty.png is named like a picture, but a table is written"),
        (["run", "new", "new/odd.dat", "--out", "new/odd.dat"], "--out new/odd.dat belongs to the data; name"),
        (["run", "new", "--out", "run/report.csv"], "which it would break; name another file"),
        (["run", "empty folder"], "empty folder holds no images; name image files or a folder of them"),
    ],
)
def test_mistakes_are_one_sentence(
    place: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "empty folder").mkdir()
    for name in ("new/odd.dat", "run/report.csv", "run/summary.json"):
        (place / name).touch()
    assert run(*arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("scanmix: ")
    assert told.err.count("\n") == 1
    assert sentence in told.err


def test_files_cut_short_are_used_where_the_run_used_them(place: Path) -> None:
    half = place / "new" / "a b.png"
    half.write_bytes(half.read_bytes()[:3000])
    assert predict(Path("run"), [half], device="cpu")["error_code"].tolist() == ["ERROR_TRUNCATED_IMAGE"]
    write_toml(place / "run" / "config.toml", {"run": {"truncated": "use"}})
    assert predict(Path("run"), [half], device="cpu")["error_code"].tolist() == ["VALID"]
