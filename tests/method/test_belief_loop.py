"""The EM loop on beliefs: whole runs on toy pictures."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_beliefs import CONTEXT_IMAGES, SETTINGS, TRUTH, profile
from toy_runs import evidence_bytes, toy_context, train

from scanmix_cli.evidence.evidence import Evidence
from scanmix_cli.method.belief_loop import joint
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.method.student import Student
from scanmix_cli.method.teacher import Belief, Teacher


@pytest.mark.parametrize(
    "settings",
    [SETTINGS, replace(SETTINGS, networks=1, alpha=0.0), replace(SETTINGS, networks=1, probe=0.5)],
    ids=["two networks", "one network", "probe"],
)
def test_runs_and_finds_the_wrong_labels(settings: BeliefSettings) -> None:
    context = toy_context()
    outcome = train("scanmix", profile(settings), CONTEXT_IMAGES, context, Monitor(CONTEXT_IMAGES, TRUTH))
    assert len(outcome.nets) == settings.networks
    evidence = outcome.evidence
    assert evidence is not None
    assert (evidence.epochs, evidence.observations) == (3, 3 * settings.networks)
    assert (evidence.final_probability.argmax(1) == TRUTH).mean() > 0.9
    assert outcome.neighbors is not None
    assert (outcome.neighbors != torch.arange(96)[:, None]).all()
    last = context.history.rows[-1]
    assert last["knn_accuracy"] > 0.9
    assert last["clean_precision"] > 0.9


def test_same_seed_same_bytes() -> None:
    brief = profile(replace(SETTINGS, epochs=2, networks=1))
    runs = [evidence_bytes(train("scanmix", brief, CONTEXT_IMAGES)) for _ in range(2)]
    assert runs[0] == runs[1]


def test_all_images_unlabelled_but_a_few() -> None:
    labels = torch.full((96,), -1)
    labels[:30] = CONTEXT_IMAGES.labels[:30]
    images: ImageSet = replace(CONTEXT_IMAGES, labels=labels)
    outcome = train("scanmix", profile(SETTINGS), images)
    assert outcome.evidence is not None
    assert np.isfinite(outcome.evidence.loss_sum).all()
    assert (outcome.evidence.final_probability.argmax(1) == TRUTH).mean() > 0.8


def test_the_evidence_tells_which_network_named_another_class(monkeypatch: pytest.MonkeyPatch) -> None:
    form, students = Teacher.belief, []

    def sure(teacher: Teacher, one: Student, find_out: bool = False) -> Belief:
        """The first network to be asked names class 0 alone, the other one class 1."""
        students.extend([] if id(one) in students else [id(one)])
        told = torch.eye(3)[[students.index(id(one))] * 96]
        return replace(form(teacher, one, find_out), told=told)

    monkeypatch.setattr(Teacher, "belief", sure)
    evidence, labels = train("scanmix", profile(SETTINGS), CONTEXT_IMAGES).evidence, CONTEXT_IMAGES.labels.numpy()
    assert evidence is not None
    for k in (0, 1):
        assert evidence.disagreements[:, k].tolist() == (3 * ((labels >= 0) & (labels != k))).tolist()


def test_the_evidence_tells_the_even_share_as_far_as_features_are_weak(monkeypatch: pytest.MonkeyPatch) -> None:
    def half_weak(teacher: Teacher, *_: object) -> None:
        teacher.weakness, teacher.even, teacher.even_error = 0.5, 0.4, 0.02

    brief = profile(replace(SETTINGS, epochs=1, networks=1))
    evidence = train("scanmix", brief, CONTEXT_IMAGES).evidence
    assert evidence is not None
    assert (evidence.even, evidence.even_error) == (0.0, 0.0), "features of these pictures are good"
    monkeypatch.setattr(Teacher, "_look_for_weakness", half_weak)
    evidence = train("scanmix", brief, CONTEXT_IMAGES).evidence
    assert evidence is not None
    assert (evidence.even, evidence.even_error) == (0.2, 0.01)
    resumed = Evidence.empty(96, 3)
    resumed.load_state_dict({**evidence.state_dict(), "even": 0.3})
    assert (resumed.even, resumed.even_error, resumed.clusters) == (0.3, 0.01, evidence.clusters)
    before = {name: value for name, value in evidence.state_dict().items() if not name.startswith("even")}
    resumed = Evidence.empty(96, 3)
    resumed.load_state_dict(before)
    assert (resumed.even, resumed.epochs) == (0.0, 1), "a checkpoint of before tells none"


def test_what_two_networks_say_is_multiplied_and_no_class_is_ruled_out() -> None:
    first = torch.tensor([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]])
    second = torch.tensor([[0.8, 0.2], [0.1, 0.9], [0.0, 1.0]])
    expected = torch.tensor([[0.8, 0.2], [0.5, 0.5], [0.5, 0.5]])
    assert torch.allclose(joint([first, second]), expected)
    assert torch.allclose(joint([first[:2]]), first[:2])
