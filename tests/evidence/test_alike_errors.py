"""Labels that a classifier made, told from those of people by how neighbours are labelled wrong."""

import numpy as np
import pytest

from scanmix_cli.evidence import alike_errors
from scanmix_cli.evidence.alike_errors import agreement, by_chance, made_alike
from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.fitting import HALF, MADE_SAY, MADE_WEIGHT, fit_noise
from scanmix_cli.evidence.witnesses import Witnesses

CLASSES, GROUP, IMAGES = 5, 10, 4_000
TRUTH = np.repeat(np.arange(IMAGES // GROUP) % CLASSES, GROUP)
PLACE = np.arange(IMAGES) // GROUP * GROUP
NEIGHBORS = PLACE[:, None] + (np.arange(IMAGES)[:, None] + np.arange(1, GROUP)) % GROUP


def near(rows: np.ndarray) -> np.ndarray:
    return NEIGHBORS[rows]


def labelled(kind: str, share: float = 0.3, seed: int = 0) -> np.ndarray:
    """A classifier mislabels whole groups of images that look alike, people one image at a time."""
    generator = np.random.default_rng(seed)
    one_by_one = generator.random(IMAGES) < share
    anything = (TRUTH + generator.integers(1, CLASSES, IMAGES)) % CLASSES
    if kind == "classifier":
        return np.where(one_by_one[PLACE], anything[PLACE], TRUTH)
    return np.where(one_by_one, (TRUTH + 1) % CLASSES if kind == "swapped" else anything, TRUTH)


def sure(of: float = 0.95, seed: int = 1) -> np.ndarray:
    return of + 0.04 * np.random.default_rng(seed).random(IMAGES)


def test_chance_by_hand() -> None:
    # of 3 and 1 labels: 3 * 2 of 4 * 3 ordered pairs are alike; 2 and 2: 4 of 12; one label alone has no pair
    found = by_chance(np.array([[0, 3, 1], [2, 0, 2], [0, 1, 0]]))
    assert found == pytest.approx([0.5, 1 / 3, 1.0])


def test_agreement_by_hand() -> None:
    """Images 0 to 3 are of class 0 and labelled 1, 1, 2, 1; image 4 is right; image 5 is of class 3."""
    believed, labels = np.array([0, 0, 0, 0, 0, 3]), np.array([1, 1, 2, 1, 0, 1])
    wrong = labels != believed
    neighbors = np.array([[1, 2], [0, 5], [2, 4], [4, 4], [0, 1], [0, 1]])
    chance = np.array([0.5, 1, 1, 1.0])
    # 0 agrees with 1 and not with 2; 1 agrees with 0, 5 is of another class; 2 is beside itself and a right label
    found, error = agreement(believed, labels, wrong, np.array([0, 1, 2]), neighbors[:3], chance)
    assert found == pytest.approx((2 / 3 - 0.5) / 0.5)
    assert error == pytest.approx(np.sqrt((1 - 2 / 3 * 2) ** 2 + (1 - 2 / 3) ** 2) / 3 / 0.5)
    assert agreement(believed, labels, wrong, np.array([2, 3]), neighbors[2:4], chance) == (0.0, 0.0)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("kind", "expected"), [("classifier", 1.0), ("people", 0.0), ("swapped", 0.0)])
def test_only_a_classifiers_mistakes_are_alike(kind: str, expected: float, seed: int) -> None:
    assert made_alike(TRUTH, sure(), labelled(kind, seed=seed), near) == expected


def test_few_wrong_labels_or_none_known_cannot_tell() -> None:
    assert made_alike(TRUTH, sure(), labelled("classifier", 0.08), near) == 0
    assert made_alike(TRUTH, sure(), np.full(IMAGES, -1), near) == 0


def test_beliefs_that_may_err_as_often_themselves_cannot_tell() -> None:
    """A third of the labels is contradicted: by beliefs that are sure to .65 that may be their own doing."""
    labels = labelled("classifier")
    assert [made_alike(TRUTH, sure(of), labels, near) for of in (0.65, 0.8)] == [0.0, 1.0]


def test_only_the_surer_half_is_asked() -> None:
    """Doubtful images are labelled wrong in groups, sure ones one by one."""
    doubtful = np.arange(IMAGES) // GROUP % 2 == 0
    labels = np.where(doubtful, labelled("classifier"), labelled("people"))
    sureness = np.where(doubtful, 0.9, 0.99)
    assert made_alike(TRUTH, sureness, labels, near) == 0.0
    assert made_alike(TRUTH, 1.89 - sureness, labels, near) == 1.0


def test_swapped_classes_agree_whoever_swapped_them() -> None:
    """Nine tenths of the mistakes are of one kind: what the others agree in says nothing of a classifier."""
    few = labelled("classifier", 0.03, seed=3)
    labels = np.where(few != TRUTH, few, labelled("swapped"))
    assert made_alike(TRUTH, sure(), labels, near) == 0.0


def test_fewer_images_tell_less() -> None:
    """Some groups are a classifier's, the others people's: agreement .14 +- .02 of 4,000 images, .19 +- .07 of 800."""
    labels = np.where(PLACE // GROUP % 18 == 0, labelled("classifier", 0.4), labelled("people", 0.4))
    of = [made_alike(TRUTH[:n], sure()[:n], labels[:n], near) for n in (IMAGES, 800)]
    assert of == pytest.approx([0.62, 0.0], abs=0.05)


def test_of_many_images_some_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(alike_errors, "MOST", 100)
    monkeypatch.setattr(alike_errors, "agreement", lambda *of: asked.append(of[3]) or agreement(*of))
    assert made_alike(TRUTH, sure(), labelled("classifier"), near) == 1.0
    assert 50 <= len(asked[0]) <= 100


@pytest.mark.usefixtures("each_fit_once")
@pytest.mark.parametrize("kind", ["classifier", "people"])
def test_a_classifiers_label_has_next_to_no_say(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate is then what the beliefs contradict."""
    labels, rows = labelled(kind), np.arange(IMAGES)
    monkeypatch.setattr("scanmix_cli.evidence.fitting.follows_image", lambda *of: True)
    beliefs = np.full((IMAGES, CLASSES), 0.02)
    beliefs[rows, TRUTH] = sure()
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    kept = Evidence.empty(IMAGES, CLASSES, beliefs=True)
    kept.add(labels, [View(beliefs, -np.log(beliefs[rows, labels]), np.full(IMAGES, 0.5))])
    found = fit_noise(Witnesses.of(kept, labels, NEIGHBORS), seed=0)
    expected = (MADE_SAY, MADE_WEIGHT, 1.0) if kind == "classifier" else (HALF, 1.0, 0.0)
    assert (found.model.say, np.exp(found.model.log_weights[0]), found.made) == pytest.approx(expected)
    assert fit_noise(Witnesses.of(kept, labels, None), seed=0).made == 0


def test_in_weak_features_nobody_is_held_for_a_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beliefs that are right in six cases of ten are wrong alike among neighbours, whatever the labels."""
    monkeypatch.setattr("scanmix_cli.evidence.fitting.goodness", lambda *of: 0.9)
    labels, rows = labelled("classifier"), np.arange(IMAGES)
    beliefs = np.full((IMAGES, CLASSES), 0.02)
    beliefs[rows, TRUTH] = sure()
    kept = Evidence.empty(IMAGES, CLASSES, beliefs=True)
    kept.add(labels, [View(beliefs, -np.log(beliefs[rows, labels]), np.full(IMAGES, 0.5))])
    assert fit_noise(Witnesses.of(kept, labels, NEIGHBORS), seed=0).made == 0
