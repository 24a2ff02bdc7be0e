"""A whole run on the features of outside weights, from the command line to new predictions."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scanmix_cli.models.registry import build_backbone

from scanmix_cli.data.sources import read_samples
from scanmix_cli.engine.checkpoints import Checkpoints
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.engine.progress import Silent
from scanmix_cli.errors import SettingsError
from scanmix_cli.profiles import fast
from scanmix_cli.workflow import measured
from scanmix_cli.workflow.facts import DataFacts
from scanmix_cli.workflow.predict import predict
from scanmix_cli.workflow.request import Request, read_request
from scanmix_cli.workflow.still import CHUNK, StillEncoder, mean_of
from scanmix_cli.workflow.train import Destination, train

TINY = "timm:test_efficientnet"


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    path = tmp_path / "tiny.safetensors"
    save_file(build_backbone(TINY).state_dict(), path)
    return path


def run(data: Path, out: str, html: bool = False, **options: object) -> dict:
    request = Request(device="cpu", image_size=32, epochs=3, **options)  # type: ignore[arg-type]
    destination = Destination(Path(out), keep_checkpoints=False, html=html)
    return train(read_samples(data), request, destination, Silent()).summary


def test_features_are_computed_once_and_the_model_takes_images(squares: Path, weights: Path) -> None:
    summary = run(squares, "run", html=True, weights=str(weights), backbone=TINY)
    assert (summary["weights"], summary["backbone"]) == (str(weights), TINY)
    with open("run/metrics.csv", newline="") as file:
        stages = [row["stage"] for row in csv.DictReader(file)]
    assert list(dict.fromkeys(stages)) == ["embedding", "neighbors", "warmup", "scanmix"]
    assert stages.count("scanmix") == 3
    with open("run/report.csv", newline="") as file:
        report = [row for row in csv.DictReader(file) if row["split"] == "test"]
    found = predict(Path("run"), [squares / row["filename"] for row in report], device="cpu")
    assert found["predicted_label"].tolist() == [row["predicted_label"] for row in report]
    assert json.loads(Path("run/model/model.json").read_text())["backbone"] == f"still:{TINY}"
    page = Path("run/report.html").read_text(encoding="utf-8")
    assert re.search(r"Outside weights</th><td><bdi[^>]*>" + re.escape(str(weights)), page)


def test_a_configured_run_keeps_its_weights(squares: Path, weights: Path) -> None:
    run(squares, "run", weights=str(weights), backbone=TINY)
    request, given = read_request(Path("run/config.toml"), {"device": "cpu"})
    again = train(read_samples(squares), request, Destination(Path("again"), html=False), Silent(), given).summary
    assert (again["weights"], again["backbone"]) == (str(weights), TINY)
    assert Path("again/report.csv").read_bytes() == Path("run/report.csv").read_bytes()


def test_auto_measures_both_features_and_says_so(squares: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = read_samples(squares)
    monkeypatch.setattr(measured, "is_packaged_installed", lambda: True)
    monkeypatch.setattr(measured, "PACKAGED", str(weights))
    shares = iter([0.9, 0.3, 0.5, 0.5])
    monkeypatch.setattr(measured, "vote_accuracy", lambda *_: next(shares))
    monkeypatch.setattr(measured, "_features", lambda *_: torch.rand(12, 4))
    monkeypatch.setattr(measured, "_sample", lambda *_: samples.is_train().nonzero()[0][:12])
    monkeypatch.setattr(measured, "_profile", lambda *_: None)

    def decide(facts: DataFacts) -> tuple[str, str]:
        request, said = measured.decide_weights(Request(), samples, None, facts, choose_compute("cpu"), Silent())  # type: ignore[arg-type]
        return request.weights, said

    assert decide(DataFacts(100, 3, 64)) == (
        str(weights),
        f"weights: neighbours agree with 90.0% of 12 labels by {weights}, with 30.0% after a short pre-training of our "
        f"own; {weights} chosen (--weights none forbids them)",
    )
    chosen, said = decide(DataFacts(100, 3, 64))
    assert chosen == "none"
    assert said.endswith("own; no outside weights chosen")
    assert decide(DataFacts(99, 3, 64)) == ("none", ""), "too few to be measured at all"


def test_what_was_measured_is_said_and_kept(squares: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Spoken(Silent):
        said: tuple[str, ...] = ()

        def message(self, text: str) -> None:
            self.said += (text,)

    spoken = Spoken()

    def measure(request: Request, *rest: Any) -> tuple[Request, str]:
        rest[-1].epoch("simclr", 1, 10, {})
        return replace(request, weights="none"), "weights: as measured"

    monkeypatch.setattr("scanmix_cli.workflow.train.decide_weights", measure)
    short, destination = Request(device="cpu", epochs=1, pretrain_epochs=1), Destination(Path("run"), html=False)
    train(read_samples(squares), short, destination, spoken)
    assert spoken.said[0] == "weights: as measured"
    assert spoken.said.count("weights: as measured") == 1
    lines = Path("run/log.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 2)[2] for line in lines[:2]] == ["simclr 1/10 · ", "weights: as measured"]


@pytest.mark.parametrize(
    ("device", "images", "side", "looked_at"),
    [
        ("cpu", 50_000, 32, True),
        ("cuda", 50_000, 32, False),  # there a pre-training on all of them sees more
        ("cuda", 50_000, 48, True),
        ("cuda", 5_000, 32, True),
        ("cpu", 99, 224, False),
    ],
)
def test_which_sets_are_measured(
    device: str, images: int, side: int, looked_at: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "is_packaged_installed", lambda: True)
    compute = replace(choose_compute("cpu"), device=torch.device(device))
    assert measured.is_measured(Request(), DataFacts(images, 10, side), compute) is looked_at
    assert not measured.is_measured(Request(weights="none"), DataFacts(images, 10, side), compute)


def test_the_centre_is_the_mean_of_the_first_views() -> None:
    raw = torch.zeros(CHUNK + 4, 2, 3, dtype=torch.float16)
    raw[:, 0] = torch.tensor([1.0, -2.0, 0.0])
    raw[:, 1] = 7.0
    raw[-1, 0, 2] = CHUNK + 4  # in the second chunk; exact in half precision
    assert mean_of(raw).tolist() == [1.0, -2.0, 1.0]


@pytest.mark.parametrize("lost", ["kept-centre-", "kept-centred-features-"])
def test_features_or_centre_that_are_damaged_are_worked_out_again(lost: str, tmp_path: Path, weights: Path) -> None:
    profile = replace(fast.STILL, image_size=32, stored_size=32, backbone=TINY, weights=str(weights))
    images, labels = np.random.default_rng(0).integers(0, 256, (12, 3, 32, 32), np.uint8), torch.arange(12) % 2

    def found(resume: bool) -> tuple[list[float], list[float], list[str]]:
        told: list[str] = []
        compute = choose_compute("cpu")
        context = Context(compute, 0, checkpoints=Checkpoints(tmp_path / "kept", "data", resume, told.append))
        encoder = StillEncoder(profile, compute)
        features = encoder.train_set(images, labels, 2, context)  # type: ignore[arg-type]
        return encoder.embedding.center.tolist(), features.pixels.flatten().tolist(), told

    first = found(resume=False)
    (path,) = (tmp_path / "kept").glob(f"{lost}*.pt")
    path.write_bytes(path.read_bytes()[:-40])
    again = found(resume=True)
    assert again[:2] == first[:2]
    assert any(first[0])
    assert str(path) in again[2][0]


def test_weights_that_do_not_fit_leave_no_folder(squares: Path, tmp_path: Path) -> None:
    save_file({"strange": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(SettingsError) as raised:
        run(squares, "run", weights=str(tmp_path / "other.safetensors"), backbone=TINY)
    assert "the weights do not fit timm:test_efficientnet: " in str(raised.value)
    assert not Path("run").exists()
