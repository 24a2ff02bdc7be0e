"""Verdicts do not depend on the order of the table: one that lists its classes in turn is judged as any other."""

import numpy as np
import pytest

from scanmix_cli.evidence.evidence import Evidence, View
from scanmix_cli.evidence.verdicts import Verdicts, judge


def judged(classes: int, beliefs: bool, order: np.ndarray) -> tuple[Verdicts, np.ndarray]:
    """Verdicts on images of classes in turn, every second class's labels often taken for the next, in an order; and
    which labels are wrong."""
    generator, rows = np.random.default_rng(0), np.arange(len(order))
    true = rows % classes
    logits = generator.normal(size=(len(rows), classes))
    logits[rows, true] += 2.5
    seen = (np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)).astype(np.float32)[order]
    taken = (true % 2 == 0) & (generator.random(len(rows)) < 0.4)
    given = np.where(taken, (true + 1) % classes, true)[order]
    evidence = Evidence.empty(len(rows), classes, beliefs=beliefs)
    loss = -np.log(seen[rows, given])
    evidence.add(given, [View(seen, loss, np.exp(-loss))])
    evidence.final_probability[:] = seen
    evidence.clusters = 0.9
    return judge(evidence, given, None), (given != true[order])


@pytest.mark.parametrize("beliefs", [False, True])
@pytest.mark.parametrize("classes", [2, 5, 10])
def test_classes_in_turn_are_judged_as_shuffled_ones(classes: int, beliefs: bool) -> None:
    in_turn, shuffled = np.arange(1000), np.random.default_rng(1).permutation(1000)
    (one, wrong), (other, _) = judged(classes, beliefs, in_turn), judged(classes, beliefs, shuffled)
    assert one.noise_rate.estimate == pytest.approx(other.noise_rate.estimate, abs=0.03)
    assert one.noise_rate.estimate == pytest.approx(wrong.mean(), abs=0.06)
    assert (one.is_label_issue[shuffled] == other.is_label_issue).mean() > 0.97
