"""An interrupted run goes on as if nothing had happened."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from toy_runs import evidence_bytes, shrink, toy_context, toy_images, toy_profile, train

from scanmix_cli.engine import context as engine
from scanmix_cli.engine.checkpoints import Checkpoints
from scanmix_cli.engine.progress import Silent
from scanmix_cli.errors import SettingsError
from scanmix_cli.method import methods
from scanmix_cli.method.settings import BeliefSettings, Profile
from scanmix_cli.profiles.official import OFFICIAL

EPOCHS = 2
IMAGES = toy_images(32)  # more than the 24 that a subset has
OURS, RELEASED = toy_profile(EPOCHS), shrink(OFFICIAL["cifar10"], EPOCHS, 16)
BELIEFS = replace(OURS, beliefs=BeliefSettings(epochs=EPOCHS, batch_size=16))
PROBED = replace(OURS, beliefs=BeliefSettings(epochs=EPOCHS, batch_size=16, probe=0.5))
SUBSET = shrink(OFFICIAL["clothing1m"], EPOCHS, 16)


class PowerCut(Exception):
    pass


class CutsPower(Silent):
    """Stops the run when a stage reports an epoch, before that epoch is saved."""

    def __init__(self, stage: str, finished: int) -> None:
        self.at = (stage, finished)

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
        if (name, finished) == self.at:
            raise PowerCut


@pytest.fixture(autouse=True)
def save_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "CHECKPOINT_SECONDS", -1.0)


def undisturbed(method: str, profile: Profile) -> tuple[bytes, list[dict]]:
    context = toy_context()
    evidence = evidence_bytes(train(method, profile, IMAGES, context))
    return evidence, without_times(context.history.rows)


def without_times(rows: list[dict]) -> list[dict]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def interrupt(method: str, profile: Profile, folder: Path, stage: str, finished: int) -> None:
    reporter = CutsPower(stage, finished)
    with pytest.raises(PowerCut):
        train(method, profile, IMAGES, toy_context(reporter=reporter, checkpoints=Checkpoints(folder, "data")))


@pytest.mark.parametrize(
    ("method", "profile", "stage"),
    [
        ("scanmix", OURS, "warmup"),
        ("scanmix", RELEASED, "scanmix"),
        ("scanmix", SUBSET, "moco"),
        ("scanmix", SUBSET, "scanmix"),
        ("mixup", OURS, "mixup"),
        ("elr", OURS, "elr"),
        ("scanmix", BELIEFS, "scanmix"),
        ("scanmix", PROBED, "scanmix"),
    ],
    ids=["ours, warm-up", "released, EM loop", "subset, MoCo", "subset, EM loop", "mixup", "elr", "beliefs", "probe"],
)
def test_resumed_run_ends_with_the_same_evidence(method: str, profile: Profile, stage: str, tmp_path: Path) -> None:
    evidence, rows = undisturbed(method, profile)
    interrupt(method, profile, tmp_path, stage, EPOCHS)
    context = toy_context(checkpoints=Checkpoints(tmp_path, "data", resume=True))
    assert evidence_bytes(train(method, profile, IMAGES, context)) == evidence
    assert without_times(context.history.rows) == rows


def test_a_run_can_be_interrupted_again_and_again(tmp_path: Path) -> None:
    evidence, rows = undisturbed("scanmix", OURS)
    interrupt("scanmix", OURS, tmp_path, "simclr", 2)
    for stage, finished in [("neighbors", 1), ("scan", 2), ("scanmix", 1), ("scanmix", 2)]:
        checkpoints = Checkpoints(tmp_path, "data", resume=True)
        with pytest.raises(PowerCut):
            train("scanmix", OURS, IMAGES, toy_context(reporter=CutsPower(stage, finished), checkpoints=checkpoints))
    context = toy_context(checkpoints=Checkpoints(tmp_path, "data", resume=True))
    assert evidence_bytes(train("scanmix", OURS, IMAGES, context)) == evidence
    assert without_times(context.history.rows) == rows


def test_neighbors_and_the_gates_estimate_are_not_found_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt("scanmix", RELEASED, tmp_path, "scanmix", 1)
    Checkpoints(tmp_path, "data").keep("gate", torch.tensor(0.875))  # not what this run estimated

    def fail(*_: object) -> None:
        raise AssertionError("mined again")

    monkeypatch.setattr(methods, "mine_neighbors", fail)
    messages: list[str] = []

    class Listens(Silent):
        def message(self, text: str) -> None:
            messages.append(text)

    context = toy_context(reporter=Listens(), checkpoints=Checkpoints(tmp_path, "data", resume=True))
    train("scanmix", RELEASED, IMAGES, context)
    assert messages == ["gate: estimated noise 0.875, high-noise branch"]


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    profile = toy_profile(1)
    context = toy_context(checkpoints=Checkpoints(tmp_path, "data"))
    first = evidence_bytes(train("scanmix", profile, IMAGES, context))
    steps: list[str] = []

    class Counts(Silent):
        def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
            steps.append(name)

    again = toy_context(reporter=Counts(), checkpoints=Checkpoints(tmp_path, "data", resume=True))
    assert evidence_bytes(train("scanmix", profile, IMAGES, again)) == first
    assert steps == []


def test_other_data_or_settings_are_refused(tmp_path: Path) -> None:
    interrupt("scanmix", OURS, tmp_path, "scan", 2)
    context = toy_context(checkpoints=Checkpoints(tmp_path, "other data", resume=True))
    with pytest.raises(
        SettingsError, match="made from other data or settings; resume with the same ones or use --overwrite"
    ):
        train("scanmix", OURS, IMAGES, context)
