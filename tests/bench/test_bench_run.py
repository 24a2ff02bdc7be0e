"""Benchmarks from data to results, on toy sets with toy budgets."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_sets import write_cifar10, write_folder, write_mini_imagenet, write_webvision

from scanmix_cli.bench import runner
from scanmix_cli.bench.noise import label_hash, symmetric
from scanmix_cli.bench.request import BenchRequest
from scanmix_cli.bench.runner import run_bench
from scanmix_cli.cli.app import main
from scanmix_cli.engine.progress import Silent
from scanmix_cli.errors import DataError
from scanmix_cli.method import methods

TOY = ["--profile", "fast", "--epochs", "1", "--pretrain-epochs", "1", "--device", "cpu", "-q"]
FIELDS = {
    *("noise", "rate", "method", "seed", "last", "best", "recovery", "auroc", "minutes", "device", "date", "command"),
    *("realised_rate", "best_single", "last_single", "ap", "best_f1", "f1", "precision", "recall", "flag_all_f1"),
    *("share_right", "seconds", "images_per_second", "peak_memory_mib", "fingerprint", "versions", "commit", "images"),
    *("clean_recall", "noise_rate_error", "calibration_error", "random_ap", "label_hash", "recipe"),
}


class Heard(Silent):
    """Keeps what a user would read."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.epochs: list[str] = []

    def message(self, text: str) -> None:
        self.texts.append(text)

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
        self.epochs.append(name)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three methods on a folder with clean labels, with the ceiling."""
    root = tmp_path_factory.mktemp("bench")
    data = write_folder(root / "own")
    asked = ["bench", str(data), "--noise", "sym", "--rate", "0.4", "--clean-ceiling"]
    asked += ["--methods", "cross-entropy,scan,scanmix"]
    with pytest.raises(SystemExit) as stop:
        main([*asked, "--out", str(root / "out"), *TOY])
    assert not stop.value.code
    return root


@pytest.fixture(autouse=True)
def without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the runs of `finished` draw: figures take most of a toy run's time."""
    monkeypatch.setattr(runner, "draw_all", lambda *_: [])


def cells_of(out: Path) -> list[dict[str, Any]]:
    return json.loads((out / "results.json").read_text())


def test_every_cell_carries_everything(finished: Path) -> None:
    cells = cells_of(finished / "out")
    assert [(cell["noise"], cell["method"]) for cell in cells] == [
        ("none", "cross-entropy"),
        ("sym", "cross-entropy"),
        ("sym", "scan"),
        ("sym", "scanmix"),
    ]
    clean, noisy, scan, scanmix = cells
    assert all(cell.keys() >= FIELDS for cell in cells)
    assert not any("predicted_right" in cell for cell in cells), "share_right again, of all but cleanlab"
    assert (noisy["rate"], noisy["seed"], noisy["label_seed"]) == (0.4, 0, 123)
    assert clean["recovery"] == 1.0
    assert noisy["recovery"] == pytest.approx(noisy["last"] / clean["last"])
    assert (scan["auroc"], scan["f1"]) == (None, None)  # clustering alone judges no label
    assert scan["last"] is not None
    assert {cell["fingerprint"] for cell in cells} == {clean["fingerprint"]}
    assert noisy["label_hash"] == scanmix["label_hash"] != clean["label_hash"]
    assert (noisy["networks"], scanmix["networks"]) == (1, 1)
    assert noisy["command"].startswith(f"scanmix bench {finished}/own --noise sym --rate 0.4 --clean-ceiling ")


def test_pretraining_is_shared_and_counted_in_each(finished: Path) -> None:
    _, noisy, scan, scanmix = cells_of(finished / "out")
    assert len(list((finished / "out" / "pretrained").glob("*.safetensors"))) == 1
    assert scan["seconds"]["simclr"] == scanmix["seconds"]["simclr"] > 0
    assert "simclr" not in noisy["seconds"]
    assert scanmix["minutes"] == pytest.approx(sum(scanmix["seconds"].values()) / 60, abs=1e-3)


def test_injected_labels_are_the_recipe_and_are_kept(finished: Path) -> None:
    kept = np.load(finished / "out" / "labels" / "sym-0.4-dividemix-seed123.npy")
    clean = np.repeat(np.arange(3), 12)  # folder rows are sorted by path, so class by class
    assert np.array_equal(kept, symmetric(clean, 3, 0.4, "dividemix"))
    cell = cells_of(finished / "out")[1]
    assert cell["realised_rate"] == np.mean(kept != clean)
    assert cell["label_file"] == "labels/sym-0.4-dividemix-seed123.npy"


def test_tables_for_programs_and_people(finished: Path) -> None:
    with (finished / "out" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == ["cross-entropy", "cross-entropy", "scan", "scanmix"]
    assert float(rows[3]["seconds.scanmix"]) > 0
    text = (finished / "out" / "results.md").read_text()
    assert "## own sym 0.4" in text
    assert "images: the user's own" in text
    assert "| flag every label |" in text


def test_epochs_of_every_cell_are_kept(finished: Path) -> None:
    (path,) = (finished / "out" / "cells").glob("own-sym*-scanmix-seed0-*.metrics.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    (last,) = (row for row in rows if row["stage"] == "scanmix")
    assert all(last[name] for name in ("test_accuracy", "clean_precision", "clean_recall"))
    assert not list((finished / "out" / "cells").glob("*.checkpoints"))


def test_finished_cells_are_not_run_again(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run_method", None)
    heard = Heard()
    before = cells_of(finished / "out")
    assert run_bench(request(finished, ("cross-entropy", "scanmix")), heard) == before
    assert sum("not run again" in text for text in heard.texts) == 2


def test_interruption_loses_one_cell_only(finished: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    true_run, calls = runner.run_method, []

    def interrupted(run: Any, *rest: Any) -> dict[str, Any]:
        calls.append(run.method)
        if run.method == "mixup":
            raise KeyboardInterrupt
        return true_run(run, *rest)

    monkeypatch.setattr(runner, "run_method", interrupted)
    asked = replace(request(finished, ("cross-entropy", "mixup")), out=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_bench(asked, Silent())
    assert [cell["method"] for cell in cells_of(tmp_path)] == ["cross-entropy"]
    monkeypatch.setattr(runner, "run_method", true_run)
    assert [cell["method"] for cell in run_bench(asked, Silent())] == ["cross-entropy", "mixup"]
    assert calls == ["cross-entropy", "mixup"]


def test_an_interrupted_cell_goes_on_after_its_finished_stages(
    finished: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    true_loop = methods.run_em_loop

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(methods, "run_em_loop", interrupted)
    asked = replace(request(finished, ("dividemix",)), out=tmp_path)
    first, second = Heard(), Heard()
    with pytest.raises(KeyboardInterrupt):
        run_bench(asked, first)
    monkeypatch.setattr(methods, "run_em_loop", true_loop)
    (cell,) = run_bench(asked, second)
    assert (set(first.epochs), set(second.epochs)) == ({"warmup"}, {"scanmix"})
    assert cell["seconds"]["warmup"] > 0
    assert not list((tmp_path / "cells").glob("*.checkpoints"))


def test_repeats_get_their_own_labels_and_are_compared(tmp_path: Path) -> None:
    data = write_folder(tmp_path / "own", per_class=4, held_out=2)
    asked = replace(request(tmp_path, ("cross-entropy", "mixup")), target=str(data), repeats=2)
    cells = run_bench(asked, Silent())
    assert [(cell["method"], cell["seed"], cell["label_seed"]) for cell in cells] == [
        ("cross-entropy", 0, 123),
        ("mixup", 0, 123),
        ("cross-entropy", 1, 124),
        ("mixup", 1, 124),
    ]
    assert "| cross-entropy - mixup | last | 2 |" in (tmp_path / "out" / "results.md").read_text()


def test_labels_of_one_name_do_not_replace_each_other(tmp_path: Path) -> None:
    """An edited label file, of as many wrong labels; its own name is longer than a file system takes twice."""
    data, file = write_folder(tmp_path / "own", per_class=4, held_out=2), tmp_path / f"{'n' * 200}.json"
    asked = replace(request(tmp_path, ("cross-entropy",)), target=str(data), noise=f"file:{file}", rate=None)
    for given in ([1, *[0] * 3, *[1] * 4, *[2] * 4], [*[0] * 4, *[1] * 4, *[2] * 3, 0]):
        file.write_text(json.dumps(given))
        run_bench(asked, Silent())
    cells = cells_of(tmp_path / "out")
    assert len({cell["label_file"] for cell in cells}) == 2
    for cell in cells:
        assert label_hash(np.load(tmp_path / "out" / cell["label_file"])) == cell["label_hash"]
    assert (tmp_path / "out" / "results.md").read_text().count("\n## own ") == 2


@pytest.mark.parametrize(
    ("damaged", "content"),
    [("cells/*.json", "{}"), ("pretrained/*.json", "{"), ("pretrained/*.safetensors", "half")],
)
def test_damaged_files_are_told_in_a_sentence(finished: Path, tmp_path: Path, damaged: str, content: str) -> None:
    out = Path(shutil.copytree(finished / "out", tmp_path / "out"))
    for path in (out / "cells").glob("*scanmix-seed*") if "pretrained" in damaged else ():
        path.unlink()  # the encoder is asked for again
    for path in out.glob(damaged):
        path.write_text(content)
    with pytest.raises(DataError, match=r"is damaged \(.*\): remove "):
        run_bench(replace(request(finished, ("scanmix",)), out=out), Silent())


def test_same_command_gives_the_same_figures(finished: Path, tmp_path: Path) -> None:
    again = run_bench(replace(request(finished, ("scanmix",)), out=tmp_path), Silent())
    first = cells_of(finished / "out")[3]
    for name in ("best", "last", "auroc", "f1", "calibration_error"):
        assert again[0][name] == first[name]


def test_a_table_is_read_with_the_options_of_train(finished: Path, tmp_path: Path) -> None:
    images = finished / "own" / "train"
    rows = [f"{path.relative_to(images)};{path.parent.name}" for path in sorted(images.rglob("*.png"))]
    table = tmp_path / "clean.csv"
    table.write_text("picture;species\n" + "\n".join(rows) + "\n")
    asked = ["bench", str(table), "--path-column", "picture", "--label-column", "species", "--sep", ";"]
    asked += ["--root", str(images), "--test", str(finished / "own" / "test"), "--methods", "cross-entropy"]
    with pytest.raises(SystemExit) as stop:
        main([*asked, "--out", str(tmp_path / "out"), *TOY])
    assert not stop.value.code
    (cell,) = cells_of(tmp_path / "out")
    assert (cell["train_images"], cell["test_images"]) == (36, 12)
    noisy = next(cell for cell in cells_of(finished / "out") if cell["noise"] == "sym")
    assert cell["fingerprint"] == noisy["fingerprint"]  # the same images and labels as from the folder


@pytest.mark.parametrize(("left", "noise", "on_beliefs"), [(12, "none", True), (2, "none", False), (2, "sym", True)])
def test_unbalanced_labels_get_the_settings_that_train_gives_them(
    tmp_path: Path, left: int, noise: str, on_beliefs: bool
) -> None:
    """Labels as they are trained on: with all of them drawn anew, 2 of 26 in a class are not rare any more."""
    data = write_folder(tmp_path / "own")
    for path in sorted((data / "train" / "red").iterdir())[left:]:
        path.unlink()
    rate = {"rate": 1.0} if noise == "sym" else {}
    asked = BenchRequest(str(data), tmp_path / "out", tmp_path, noise=noise, **rate, **toy())
    profile = runner.open_bench(asked, Silent()).profile
    assert (profile.beliefs is not None, not profile.mixmatch.class_aware) == (on_beliefs, on_beliefs)


def test_cifar10_in_torchvision_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cifar10(tmp_path)
    asked = ["bench", "cifar10", "--noise", "sym", "--rate", "0.9", "--methods", "cross-entropy", "--json"]
    with pytest.raises(SystemExit):
        main([*asked, "--data-dir", str(tmp_path), "--out", str(tmp_path / "out"), *TOY])
    printed = json.loads(capsys.readouterr().out)
    assert printed["cells"] == cells_of(tmp_path / "out")
    assert printed["cells"][0]["images"] == "non-canonical"
    text = (tmp_path / "out" / "results.md").read_text()
    assert "images: non-canonical" in text
    assert "top-5" not in text, "of ten classes"
    assert "| ScanMix | - | 91.0 | 90.3 | - | - | - | ScanMix, Sachdeva et al. 2023, arXiv 2103.11395 |" in text


@pytest.mark.parametrize(("write", "name"), [(write_mini_imagenet, "blue-mini-imagenet")])
def test_sets_that_come_with_their_noise(write: Any, name: str, tmp_path: Path) -> None:
    write(tmp_path)
    asked = BenchRequest("red-mini-imagenet", tmp_path / "out", tmp_path, methods=("cross-entropy",), **toy())
    (cell,) = run_bench(asked, Silent())
    assert (cell["dataset"], cell["noise"], cell["rate"], cell["realised_rate"]) == (name, "blue", 0.4, None)
    assert cell["f1"] is None
    assert 0 <= cell["noise_rate_estimate"] <= 1
    assert cell["last"] is not None


def test_webvision_is_also_tested_on_ilsvrc12(tmp_path: Path) -> None:
    write_webvision(tmp_path)
    asked = BenchRequest("webvision", tmp_path / "out", tmp_path, methods=("cross-entropy",), **toy())
    (cell,) = run_bench(asked, Silent())
    assert cell["extra_tests"].keys() == {"ilsvrc12"}
    assert 0 <= cell["extra_tests"]["ilsvrc12"]["top1"] <= cell["extra_tests"]["ilsvrc12"]["top5"] <= 1
    text = (tmp_path / "out" / "results.md").read_text()
    assert "| cross-entropy (ilsvrc12, final) | 0 |" in text
    assert "| ScanMix (ilsvrc12, top-5) | - | 92.6 |" in text


def toy() -> dict[str, Any]:
    return {"profile": "fast", "epochs": 1, "pretrain_epochs": 1, "device": "cpu"}


def request(root: Path, chosen: tuple[str, ...]) -> BenchRequest:
    return BenchRequest(str(root / "own"), root / "out", root, noise="sym", rate=0.4, methods=chosen, **toy())
