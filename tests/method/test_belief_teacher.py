"""What the EM loop on beliefs believes and trains towards: labels, votes, the probe, and what they are weighed by."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from toy_beliefs import CONTEXT_IMAGES, SETTINGS, TRUTH, student
from toy_runs import toy_context

from scanmix_cli.method import teacher as teaching
from scanmix_cli.method.belief_loop import doubled, view_of
from scanmix_cli.method.beliefs import believe, counted_noise_matrix, votes
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.student import look_closely
from scanmix_cli.method.teacher import LEARNED_FLOOR, Teacher
from scanmix_cli.method.vote_rounds import hidden_votes


@pytest.mark.parametrize("made", [True, False])
def test_the_confusion_of_labels_that_a_classifier_made_has_less_say(made: bool) -> None:
    without = torch.rand(96, 3, generator=torch.Generator().manual_seed(0)) + 0.1
    without /= without.sum(1, keepdim=True)
    chance = counted_noise_matrix(without, CONTEXT_IMAGES.labels).T[CONTEXT_IMAGES.labels]
    teacher = Teacher(CONTEXT_IMAGES, replace(SETTINGS, classifier_say=0.25, humble=False), 5, toy_context())
    teacher.load_state_dict({"good": True, "made": made, "rounds": 3, "heard": False})
    expected = without * chance ** (0.25 if made else 1)
    expected /= expected.sum(1, keepdim=True)
    known = CONTEXT_IMAGES.known
    torch.testing.assert_close(teacher._with_label(without)[known], expected[known])


@pytest.mark.parametrize("say", [0.25, 1.0])
def test_it_is_asked_anew_whether_a_classifier_made_the_labels(say: float, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, asked = replace(SETTINGS, classifier_say=say), []
    monkeypatch.setattr(teaching, "goodness", lambda *of: 1.0)
    monkeypatch.setattr(teaching, "made_alike", lambda *of: asked.append(of) or float(len(asked) == 2))
    teacher, one = Teacher(CONTEXT_IMAGES, settings, 5, toy_context()), student(settings)
    said = [teacher.start(one) or teacher.made]
    for find_out in (True, False, True):
        teacher.belief(one, find_out)
        said.append(teacher.made)
    assert said == ([False, True, True, False] if say < 1 else [False] * 4)
    assert [n for n in range(20) if doubled(n)] == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(("made", "features", "expected"), [(0.6, 1.0, True), (0.6, 0.8, False), (0.4, 1.0, False)])
@pytest.mark.parametrize("rounds", [0, 2])
def test_a_classifiers_labels_are_outvoted_from_further_away_and_the_probe_is_not_heard(
    made: float, features: float, expected: bool, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In good features alone."""
    monkeypatch.setattr(teaching, "best_rounds", lambda *of: 1)
    monkeypatch.setattr(teaching, "foretells_better", lambda *opinions: False)
    monkeypatch.setattr(teaching, "goodness", lambda *of: features)
    asked = []
    monkeypatch.setattr(teaching, "made_alike", lambda *of: asked.append(of) or made)
    settings = replace(SETTINGS, classifier_say=0.25, rounds=rounds, probe=0.5)
    teacher = Teacher(CONTEXT_IMAGES, settings, 5, toy_context())
    one = student(settings)
    teacher.start(one)
    assert teacher.made == expected
    assert teacher.rounds == (rounds or (teaching.SETTLED if expected else 1))
    assert teacher.heard == (not expected)
    assert teacher.metrics(teacher.belief(one), Monitor(CONTEXT_IMAGES))["made_by_classifier"] == expected
    if features < 1:
        assert not asked
        return
    believed, sureness, labels, near = asked[0]
    assert (believed == TRUTH).mean() > 0.9
    assert ((sureness > 1 / 3) & (sureness <= 1)).all()
    assert (labels == CONTEXT_IMAGES.labels.numpy()).all()
    assert near(np.array([3, 95])).shape == (2, 5)


@pytest.mark.parametrize(("rounds", "expected"), [(0, 8), (2, 2)])
def test_votes_are_passed_on_as_hidden_labels_are_foretold_best(
    rounds: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, rounds=rounds)
    monkeypatch.setattr(teaching, "best_rounds", lambda *_: 8)
    teacher, one = Teacher(CONTEXT_IMAGES, settings, 5, toy_context()), student(settings)
    teacher.start(one)
    assert teacher.rounds == expected
    belief = teacher.belief(one)
    voted = votes(teacher.given, belief.neighbors, teacher.prior, expected)
    sight = look_closely(one.averaged, CONTEXT_IMAGES, teacher.context)
    without = believe([sight.probabilities, voted], teacher.prior, LEARNED_FLOOR / 3)
    torch.testing.assert_close(belief.told, without)
    logged = teacher.metrics(belief, Monitor(CONTEXT_IMAGES))
    assert logged.get("vote_rounds") == (None if rounds else expected)
    assert "made_by_classifier" not in logged
    teacher.rounds, teacher.made, teacher.good = 1, True, not teacher.good  # of an earlier epoch
    resumed = Teacher(CONTEXT_IMAGES, settings, 5, toy_context())
    resumed.load_state_dict(teacher.state_dict())
    assert (resumed.rounds, resumed.made, resumed.good) == (1, True, teacher.good)


@pytest.mark.parametrize(
    ("rounds", "features", "found", "learned", "told"),
    [(0, 1.0, 1, 2, 3), (0, 0.9, 1, 1, 1), (1, 1.0, 2, 1, 1), (0, 1.0, 8, 8, 8), (0, 1.0, 3, 3, 3)],
)
def test_in_good_features_votes_tell_what_the_verdicts_were_measured_on(
    rounds: int, features: float, found: int, learned: int, told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Votes that are passed on less often are vaguer, which would pass for weak features; and next neighbours share
    what a network has learned by heart, so that it is trained towards two rounds at least."""
    monkeypatch.setattr(teaching, "best_rounds", lambda *_: found)
    monkeypatch.setattr(teaching, "goodness", lambda *_: features)
    teacher, one = Teacher(CONTEXT_IMAGES, replace(SETTINGS, rounds=rounds), 5, toy_context()), student()
    teacher.start(one)
    assert teacher.rounds == (rounds or found)
    belief = teacher.belief(one)
    sight = look_closely(one.averaged, CONTEXT_IMAGES, teacher.context)
    trained, evidence = (
        believe(
            [sight.probabilities, votes(teacher.given, belief.neighbors, teacher.prior, often)],
            teacher.prior,
            LEARNED_FLOOR / 3,
        )
        for often in (learned, told)
    )
    torch.testing.assert_close(belief.told, evidence)
    torch.testing.assert_close(belief.posterior, teacher._with_label(trained))


def test_trusted_labels_are_never_doubted() -> None:
    trusted = torch.zeros(96, dtype=torch.bool)
    trusted[9] = True  # given 1, true class 0
    images = replace(CONTEXT_IMAGES, trusted=trusted)
    teacher = Teacher(images, SETTINGS, 5, toy_context())
    even = torch.full((96, 3), 1 / 3)
    assert teacher._with_label(even)[9].tolist() == [0, 1, 0]


def test_evidence_goes_below_what_is_learned_from() -> None:
    images = CONTEXT_IMAGES
    least = {}
    for floor in (LEARNED_FLOOR, 0.001):
        teacher = Teacher(images, replace(SETTINGS, floor=floor), 5, toy_context())
        one = student()
        teacher.start(one)
        with torch.no_grad():
            for parameter in one.averaged.class_head.parameters():
                parameter.mul_(20)  # a network that is sure of itself
        belief = teacher.belief(one)
        view = view_of(belief, images.labels)
        least[floor] = (float(view.probabilities.min()), float(view.losses.max()), belief.posterior)
    assert least[0.001][0] < least[LEARNED_FLOOR][0] / 3
    assert least[0.001][1] > least[LEARNED_FLOOR][1] + 1
    assert torch.equal(least[0.001][2], least[LEARNED_FLOOR][2]), "what is trained towards is the same"


@pytest.mark.parametrize("worse", [True, False])
def test_at_first_the_probe_is_heard_unless_hidden_labels_speak_against_it(
    worse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, networks=1, probe=0.5)
    asked: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def answer(*opinions: torch.Tensor) -> bool:
        asked.append(opinions)  # type: ignore[arg-type]
        return worse

    monkeypatch.setattr(teaching, "foretells_better", answer)
    teacher = Teacher(CONTEXT_IMAGES, settings, 5, toy_context())
    one = student(settings)
    teacher.start(one)
    ((without, with_probe, labels),) = asked
    assert with_probe.shape == without.shape == (len(labels), 3)
    rows, _ = hidden_votes(teacher.given, CONTEXT_IMAGES.labels, torch.arange(96).unsqueeze(1), teacher.prior)
    assert teacher.witness is not None
    torch.testing.assert_close(with_probe, teacher._joined(without, teacher.witness[rows]))
    assert teacher.heard is not worse
    heard = teacher.belief(one).told
    teacher.heard = False
    assert torch.equal(teacher.belief(one).told, heard) is worse


def test_the_probe_is_asked_again_with_better_neighbours_and_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(SETTINGS, probe=0.5)
    answers = [False, True, False]  # better without it; better with it, twice
    monkeypatch.setattr(teaching, "foretells_better", lambda *opinions: answers.pop(0))
    teacher = Teacher(CONTEXT_IMAGES, settings, 5, toy_context())
    first, second = student(settings), student(settings)
    teacher.start(first)
    witness = teacher.witness
    teacher.start(second)
    assert teacher.witness is witness
    assert teacher.heard
    teacher.belief(first)
    assert teacher.heard
    teacher.belief(first, find_out=True)
    assert not teacher.heard
    assert not answers
    kept = teacher.state_dict()
    teacher.heard = True
    teacher.load_state_dict(kept)
    assert not teacher.heard


def test_without_labels_there_is_nothing_to_probe() -> None:
    settings = replace(SETTINGS, networks=1, probe=0.5)
    unlabelled = replace(CONTEXT_IMAGES, labels=torch.full((96,), -1))
    teacher = Teacher(unlabelled, settings, 5, toy_context())
    teacher.start(student(settings))
    assert teacher.witness is None
