"""What the encoder's features tell: how weak they are, which `humble` heeds, and how many neighbours vote."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from toy_runs import toy_context, toy_images

from scanmix_cli.engine.context import Context
from scanmix_cli.method import teacher as teaching
from scanmix_cli.method.networks import scanmix_net
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.method.student import Student, make_student
from scanmix_cli.method.teacher import Teacher

CLASSES, EACH, NEAR = 10, 120, 20


def started(
    alike: float, wrong: float, monkeypatch: pytest.MonkeyPatch, humble: bool = True, probe: float = 0.0
) -> Teacher:
    """A teacher of images of which a share `alike` of the neighbours is of their class, and a share `wrong` of the
    labels drawn anew."""
    draw = np.random.default_rng(0)
    truth = np.arange(CLASSES * EACH) % CLASSES
    own = draw.integers(0, EACH, (len(truth), NEAR)) * CLASSES + truth[:, None]
    near = np.where(draw.random((len(truth), NEAR)) < alike, own, draw.integers(0, len(truth), (len(truth), NEAR)))
    labels = np.where(draw.random(len(truth)) < wrong, draw.integers(0, CLASSES, len(truth)), truth)
    pixels = torch.zeros((len(truth), 3, 16, 16), dtype=torch.uint8)
    images = replace(toy_images(3), pixels=pixels, labels=torch.from_numpy(labels), classes=CLASSES)
    settings, context = BeliefSettings(humble=humble, probe=probe), toy_context()
    teacher = Teacher(images, settings, NEAR, context)
    monkeypatch.setattr(teacher, "mine", lambda features: torch.from_numpy(near))
    teacher.start(teacher_student(teacher))
    return teacher


def teacher_student(teacher: Teacher) -> Student:
    net = scanmix_net("small", CLASSES, teacher.context)
    return make_student(net, teacher.settings, teacher.context)


@pytest.mark.parametrize("wrong", [0.0, 0.8, 0.9])
def test_good_features_do_not_give_way_however_many_labels_are_wrong(
    wrong: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert started(0.9, wrong, monkeypatch).weakness == 0


def test_at_nine_labels_of_ten_drawn_anew_only_settled_votes_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = started(0.9, 0.9, monkeypatch)
    assert teacher.clusters > 0.72
    assert teacher.weakness == 0
    teacher.clusters = 0.0
    teacher._look_for_weakness(torch.zeros(CLASSES * EACH, 4), teacher.mine(torch.zeros(1)))
    assert teacher.weakness == 1


@pytest.mark.parametrize("wrong", [0.0, 0.2, 0.5])
def test_weak_features_give_way(wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    assert started(0.15, wrong, monkeypatch).weakness > 0.9


def test_nobody_gives_way_without_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert started(0.15, 0.2, monkeypatch, humble=False).weakness == 0


def probed(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """The matrices through which the probe is asked to learn."""
    asked: list[Tensor] = []

    def probe(features: Tensor, labels: Tensor, matrix: Tensor, context: Context) -> Tensor:
        asked.append(matrix)
        return torch.full((len(labels), CLASSES), 1 / CLASSES)

    monkeypatch.setattr(teaching, "probe", probe)
    return asked


def test_a_network_that_knows_labels_by_heart_does_not_clear_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven labels of ten are drawn evenly, and the network names every given label: it is asked about the images that
    it was trained on. The share that was told before it learned stays the least that is doubted."""
    probed(monkeypatch)
    monkeypatch.setattr(teaching, "even_share", lambda witness, labels: (0.7, 0.05))
    teacher = started(0.15, 0.7, monkeypatch)
    assert (teacher.even, teacher.even_error, teacher.weakness) == (0.7, 0.05, 1.0)
    by_heart = teacher.given * 0.91 + 0.01
    matrix = teacher._noise_matrix(by_heart / by_heart.sum(1, keepdim=True))
    assert float(matrix.diagonal().max()) <= 0.3 + 0.07
    torch.testing.assert_close(matrix.sum(1), torch.ones(CLASSES))
    teacher.even = 0.0
    matrix = teacher._noise_matrix(by_heart / by_heart.sum(1, keepdim=True))
    assert float(matrix.diagonal().min()) > 0.9, "without it they would all be cleared"


@pytest.mark.parametrize(("alike", "again"), [(0.15, 0), (0.9, 1)])
def test_nothing_is_asked_of_weak_features_that_labels_have_touched(
    alike: float, again: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = started(alike, 0.2, monkeypatch)
    asked: list[Tensor] = []
    monkeypatch.setattr(teacher, "_find_out", asked.append)
    teacher.belief(teacher_student(teacher), find_out=True)
    assert len(asked) == again


def test_in_weak_features_the_noise_matrix_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """82 % of the labels are right. Counted by vague votes it looks like a seventh, and what the probe learns by would
    throw right labels away."""
    asked = probed(monkeypatch)
    for humble in (True, False):
        started(0.2, 0.2, monkeypatch, humble, probe=0.5)
    blind, *others = asked
    assert torch.equal(blind, torch.eye(CLASSES)), "first, how many labels are drawn evenly is told without a matrix"
    fitted, counted = (float(matrix.diagonal().mean()) for matrix in others)
    assert counted < 0.2
    assert fitted > 2 * counted


@pytest.mark.parametrize(
    ("alike", "wrong", "times"), [(0.9, 0.0, 1), (0.9, 0.8, 1), (0.9, 0.9, 2), (0.9, 0.96, 2), (0.15, 0.0, 1)]
)
def test_more_neighbours_vote_where_votes_say_little(
    alike: float, wrong: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher = started(alike, wrong, monkeypatch)
    assert teacher.neighbors == times * NEAR
    teacher.start(teacher_student(teacher))  # of a second network
    assert teacher.neighbors == times * NEAR
