"""What `scanmix train` refuses: bad options and settings, folders that are no place for a run."""

from pathlib import Path

import pytest
from command_run import SHORT, run

BAD = [
    (["nowhere"], "nowhere does not exist; check the path"),
    (["--profile", "fst"], "unknown profile 'fst'; choose one of auto, fast, paper, official, webvision, clothing1m"),
    (["--time-budget", "soon"], "--time-budget 'soon' is no duration; write for example 60s, 10m or 1.5h"),
    (["--fail-on", "many"], "--fail-on 'many' is neither a count nor a share; write for example 25 or 5%"),
    (["--fail-on", "150%"], "--fail-on '150%' is more than all labels; give a share of 100% or less, or a count"),
    (["--device", "tpu"], "unknown device 'tpu'; choose one of auto, cpu, cuda, cuda:N, mps"),
    (["--precision", "int4"], "unknown precision 'int4'; choose one of auto, fp32, bf16, fp16"),
    (["--resume"], "--resume needs the run folder; name it with --out"),
    (["--resume", "--out", "x"], "x holds no run to resume; start it without --resume"),
    (["--resume", "--overwrite"], "--resume and --overwrite exclude each other; leave one out"),
    (["--config", "none.toml"], "configuration none.toml does not exist; check the path given to --config"),
    (["--seed", "4294967296"], "options: seed must be from 0 to 4294967295; got 4294967296"),
    (["--seed", str(2**64)], f"options: seed must be from 0 to 4294967295; got {2**64}"),
    (["--seed", "-1"], "options: seed must not be negative; got -1"),
    (
        ["--backbone", "resnet18"],
        "unknown backbone 'resnet18' (nearest: resnet18-cifar): choose one of small, resnet18-cifar, "
        "preact-resnet18-cifar, resnet50, inception-resnet-v2, or timm:NAME for a timm model",
    ),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD)
def test_bad_input_is_one_sentence_and_writes_nothing(
    squares: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    data = [] if arguments[0] == "nowhere" else [squares]
    assert run("train", *data, *arguments) == 2
    assert capsys.readouterr().err == f"scanmix: {sentence}\n"
    assert not Path("scanmix-runs").exists()
    assert not Path("x").exists()


def test_an_existing_run_folder_is_left_alone(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run").mkdir()
    Path("run/report.csv").write_text("mine")
    assert run("train", squares, "--out", "run", *SHORT) == 2
    assert capsys.readouterr().err == (
        "scanmix: run folder run exists already; use --overwrite to replace it, --resume to go on, or another --out\n"
    )
    assert Path("run/report.csv").read_text() == "mine"
    assert run("train", squares, "--out", "run", "--overwrite", *SHORT) == 0
    assert Path("run/summary.json").exists()


def test_overwrite_spares_a_folder_that_is_no_run(squares: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("photos").mkdir()
    Path("photos/holiday.jpg").write_text("mine")
    Path("photos/model").mkdir()
    assert run("train", squares, "--out", "photos", "--overwrite", *SHORT) == 2
    assert capsys.readouterr().err == (
        "scanmix: photos holds holiday.jpg, which is no part of a run; name another folder with --out\n"
    )
    assert Path("photos/holiday.jpg").read_text() == "mine"


@pytest.mark.parametrize("source", ["DATA", "--test"])
def test_a_run_does_not_go_into_the_data(squares: Path, capsys: pytest.CaptureFixture[str], source: str) -> None:
    data = [squares / "train"] if source == "DATA" else [squares / "test", "--test", squares / "train"]
    assert run("train", *data, "--out", "data/train/run", *SHORT) == 2
    assert capsys.readouterr().err == (
        f"scanmix: --out data/train/run lies inside {squares / 'train'}, where its pictures would be taken for images "
        "of a class; name a folder elsewhere\n"
    )
    assert not Path("data/train/run").exists()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[profile.mixmatch]\nepoch = 3\n",
            "bad.toml: profile: mixmatch: unknown key 'epoch'; the nearest known key is 'epochs'",
        ),
        ("[profile]\norder = 'both'\n", "bad.toml: profile: order must be one of sequential, parallel; got 'both'"),
        ("[profile.warmup]\nepochs = -1\n", "bad.toml: profile: warmup: epochs must not be negative; got -1"),
        ("[run]\nseed = 'one'\n", "bad.toml: run: seed must be a whole number; got 'one'"),
        (
            "[profile]\nbackbone = 'zzz'\n",
            "bad.toml: profile: unknown backbone 'zzz': choose one of small, resnet18-cifar, preact-resnet18-cifar, "
            "resnet50, inception-resnet-v2, or timm:NAME for a timm model",
        ),
        (
            "[profile.beliefs]\nview = 'zzz'\n",
            "bad.toml: profile: beliefs: view must be one of simclr, moco, weak, weak-web, weak-red, medium, strong, "
            "test, mirrored; got 'zzz'",
        ),
        (
            "[profile.mixmatch]\nguess_view = 'zzz'\n",
            "bad.toml: profile: mixmatch: guess_view must be one of simclr, moco, weak, weak-web, weak-red, medium, "
            "strong, test, mirrored, ''; got 'zzz'",
        ),
        ("[profile]\nimage_size = 3\n", "bad.toml: profile: image_size must be 8 or more; got 3"),
        (
            "[profile.contrastive]\nbatch_size = 1\n",
            "bad.toml: profile: contrastive: batch_size must be 2 or more; got 1",
        ),
        ("[run]\nseed = 4294967296\n", "bad.toml: run: seed must be from 0 to 4294967295; got 4294967296"),
        ("[run]\nimage_size = 3\n", "bad.toml: run: image_size must be 8 or more (0: chosen for you); got 3"),
        ("[run]\nbatch_size = 1\n", "bad.toml: run: batch_size must be 2 or more (0: chosen for you); got 1"),
        ("[ran]\n", "bad.toml: unknown table 'ran'; the known ones are 'run' and 'profile'"),
    ],
)  # fmt: skip
def test_a_bad_configuration_names_the_key(
    squares: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    Path("bad.toml").write_text(text)
    assert run("train", squares, "--config", "bad.toml", "--out", "run") == 2
    assert capsys.readouterr().err == f"scanmix: {sentence}\n"
    assert not Path("run").exists()
