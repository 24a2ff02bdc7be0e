"""`scanmix bench` on the command line: one sentence for everything that is wrong, and the listing."""

import json
import sys
from pathlib import Path

import pytest
import torch
from toy_sets import write_cifar10, write_folder

from scanmix_cli.bench import runner
from scanmix_cli.cli.app import main
from scanmix_cli.cli.bench import default_folder

SETS = "cifar10, cifar100, red-mini-imagenet, webvision, clothing1m"
METHODS = "cross-entropy, mixup, elr, scan, dividemix, pretrain+dividemix, scanmix, cleanlab"
NOISES = (
    "none, sym, asym, semantic-densenet, semantic-resnet, semantic-vgg, human-aggre, human-rand1, human-worst, human, "
    "file:PATH"
)
HUMAN = "cifar10: human-aggre, human-rand1, human-worst; cifar100: human"
WRONG = [
    (["cifar11"], f"'cifar11' is neither a data set nor a path that exists: choose one of {SETS}, or name a folder or "
     "table with clean labels"),
    ([], "name a data set, a folder or a table; scanmix bench --list shows the data sets"),
    (["cifar10", "--methods", "scanmix,promix"], f"unknown method 'promix': choose from {METHODS}"),
    (["cifar10", "--methods", ","], f"--methods is empty: choose from {METHODS}"),
    (["cifar10", "--noise", "symm"], f"unknown noise 'symm': choose one of {NOISES}"),
    (["cifar100", "--noise", "human-worst"], f"there are no human-worst labels of cifar100 ({HUMAN}): choose one of "
     "these or file:PATH"),
    (["webvision", "--noise", "sym"], "webvision comes with its own noise: leave --noise out or choose web"),
    (["cifar10", "--rate", "1.5"], "noise rate 1.5 is outside 0 to 1: give a share such as 0.4"),
    (["cifar10", "--rate", "-0.1"], "noise rate -0.1 is outside 0 to 1: give a share such as 0.4"),
    (["cifar10", "--noise", "human-worst", "--rate", "0.4"], "human-worst labels are taken as they are and have no "
     "rate to choose: leave --rate out"),
    (["clothing1m", "--rate", "0.4"], "clothing1m labels are taken as they are and have no rate to choose: leave "
     "--rate out"),
    (["cifar10", "--noise", "none", "--rate", "0.4"], "--noise none takes the labels as they are: leave --rate out"),
    (["cifar10", "--recipe", "mine"], "unknown noise recipe 'mine': choose one of dividemix, scanmix, exact"),
    (["cifar10", "--recipe", "exact", "--noise", "asym"], "the recipe exact goes with --noise sym only: leave "
     "--recipe out"),
    (["cifar10", "--noise-map", "a.json"], "--noise-map goes with --noise asym only: leave it out"),
    (["cifar10", "--profile", "best"], "unknown profile 'best'; choose one of auto, fast, paper, official, "
     "webvision, clothing1m"),
    (["red-mini-imagenet", "--rate", "0.4", "--level", "0.2"], "--rate and --level are two words for one thing: give "
     "one of them"),
    (["cifar10", "--level", "0.2"], "--level goes with red-mini-imagenet only: give the share of wrong labels with "
     "--rate"),
    (["cifar10", "--time-budget", "soon"], "--time-budget 'soon' is no duration; write for example 60s, 10m or 1.5h"),
    (["cifar10", "--label-column", "species"], "--label-column goes with a folder or table of your own, not with "
     "cifar10: leave it out"),
    (["cifar10", "--seed", "4294967296"], "options: seed must be from 0 to 4294967295; got 4294967296"),
    (["cifar10", "--seed", "4294967294", "--repeats", "3"], "options: the last of 3 seeds must be from 0 to "
     "4294967295; got 4294967296"),
    (["cifar10", "--device", "tpu9"], "unknown device 'tpu9'; choose one of auto, cpu, cuda, cuda:N, mps"),
]  # fmt: skip


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = 0
    try:
        main(["bench", *arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[" ".join(a) or "nothing" for a, _ in WRONG])
def test_wrong_options(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*arguments, "--no-download"], capsys) == (2, "", f"scanmix: {sentence}\n")
    assert list(tmp_path.iterdir()) == []


def test_missing_data_says_layout_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cifar10", "--data-dir", str(tmp_path), "--no-download"], capsys) == (
        2,
        "",
        f"scanmix: cifar10 is not in {tmp_path}: put the folder cifar-10-batches-py of the python version from the "
        "CIFAR page of the University of Toronto there, or allow the download\n",
    )


def test_missing_data_without_a_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*_: object, **__: object) -> None:
        raise OSError("no route")

    monkeypatch.setattr("torchvision.datasets.utils.download_and_extract_archive", fetch)
    assert run(["cifar10", "--data-dir", str(tmp_path)], capsys) == (
        2,
        "",
        "scanmix: cifar10 could not be downloaded (no route): get it from the CIFAR page of the University of Toronto "
        f"and unpack it in {tmp_path} as the folder cifar-10-batches-py\n",
    )


def test_missing_level_of_mini_imagenet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, error = run(["red-mini-imagenet", "--level", "0.2", "--data-dir", str(tmp_path)], capsys)
    assert code == 2
    assert error == (
        f"scanmix: {tmp_path}/mini-imagenet/split/red_noise_nl_0.2 is missing (no list was found): the layout is "
        "split/, all_images/ and validation/ as on the Controlled Noisy Web Labels page of Google Research\n"
    )


def test_cleanlab_that_is_not_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cleanlab", None)
    data = write_folder(tmp_path / "own", per_class=2, held_out=1)
    code, _, error = run([str(data), "--methods", "cleanlab", "--out", str(tmp_path / "out"), "-q"], capsys)
    assert code == 2
    assert (
        error
        == "scanmix: the method cleanlab needs the package of that name: run `pip install '.[bench]'` in a checkout\n"
    )


def test_no_folder_is_made_before_there_is_something_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "own", per_class=2, held_out=1)
    code, _, error = run(["own", "--noise", "file:nosuch.npy", "--device", "cpu", "-q"], capsys)
    assert (code, error) == (2, "scanmix: label file nosuch.npy does not exist: check the path\n")
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


def test_results_do_not_go_into_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_folder(tmp_path / "own", per_class=2, held_out=1)
    assert run([str(data), "--out", str(data / "bench")], capsys) == (
        2,
        "",
        f"scanmix: --out {data}/bench lies inside {data}, where its pictures would be taken for images of a class; "
        "name a folder elsewhere\n",
    )


@pytest.mark.parametrize(
    ("name", "folder"),
    [("cifar10", "bench-cifar10"), ("own", "bench-own"), ("semi.csv", "bench-semi"), ("own/..", "bench-here")],
)
def test_the_results_folder_is_named_by_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, folder: str
) -> None:
    (tmp_path / "here" / "own").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    Path("cifar10").symlink_to("own")  # where a known data set lies does not change its name
    assert default_folder(name) == Path("scanmix-runs") / folder


def test_results_do_not_go_into_a_run_or_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = str(write_folder(tmp_path / "own", per_class=2, held_out=1))
    Path("run/checkpoints").mkdir(parents=True)
    Path("run/config.toml").touch()
    told = "scanmix: --out run is the folder of a run of `scanmix train`: name another one\n"
    assert run([data, "--out", "run"], capsys) == (2, "", told)
    told = "scanmix: --out run/config.toml is a file: name a folder\n"
    assert run([data, "--out", "run/config.toml"], capsys) == (2, "", told)
    assert sorted(path.name for path in Path("run").iterdir()) == ["checkpoints", "config.toml"]


def test_nothing_to_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(["cifar10", "--resume", "--out", str(out)], capsys) == (
        2,
        "",
        f"scanmix: {out} holds no benchmark to resume: start it without --resume\n",
    )


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_gives_the_command_that_goes_on(
    begun: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def stopped(*_: object) -> None:
        if begun:
            (out / "cells").mkdir(parents=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_bench", stopped)
    asked = [str(write_folder(tmp_path / "my own", per_class=1, held_out=1)), "--out", str(out)]
    again = f"scanmix bench '{tmp_path}/my own' --out {out}" + (" --resume" if begun else "")
    sentence = f"scanmix: interrupted; finished cells are kept, go on with `{again}`\n"
    assert run(asked, capsys) == (130, "", sentence)


@pytest.mark.parametrize("shortage", [torch.OutOfMemoryError(), MemoryError()])
def test_out_of_memory_says_where_and_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shortage: Exception
) -> None:
    def full(*_: object) -> None:
        raise shortage

    monkeypatch.setattr(runner, "run_method", full)
    data = write_folder(tmp_path / "own", per_class=2, held_out=1)
    asked = [str(data), "--methods", "elr", "--device", "cpu", "--out", str(tmp_path / "out"), "-q"]
    code, _, error = run(asked, capsys)
    assert code == 3
    assert error.endswith(
        "ran out of memory at elr, seed 0; finished cells are kept: go on with the same command on another --device "
        "or without this method\n"
    )


def test_listing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cifar10(tmp_path)
    code, text, _ = run(["--list", "--data-dir", str(tmp_path)], capsys)
    assert code == 0
    assert "  cifar10            present\n" in text
    assert "  cifar100           not there (no cifar-100-python)\n" in text
    assert f"methods: {METHODS}\n" in text
    assert f"noises:  {NOISES}\n" in text
    _, text, _ = run(["--list", "--data-dir", str(tmp_path), "--json"], capsys)
    found = json.loads(text)
    assert {name: facts["present"] for name, facts in found["datasets"].items()} == {
        "cifar10": True,
        "cifar100": False,
        "red-mini-imagenet": False,
        "webvision": False,
        "clothing1m": False,
    }
    assert found["recipes"] == ["dividemix", "scanmix", "exact"]
