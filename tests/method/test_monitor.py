"""What is measured and never fed back."""

import numpy as np
import pytest
import torch
from toy_runs import CLASSES, toy_context, toy_images

from scanmix_cli.method.images import EVALUATION_BATCH, accuracy, forward_all
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.networks import scanmix_net


def test_accuracy_leaves_unlabelled_rows_out() -> None:
    logits = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 1.0], [0.0, 9.0]])
    assert accuracy(logits, torch.tensor([0, 1, 1, -1])) == pytest.approx(2 / 3)


def test_ensemble_is_judged_by_summed_logits() -> None:
    context, images = toy_context(), toy_images(30, unlabelled=0)
    nets = [scanmix_net("small", CLASSES, context, k) for k in (1, 2)]
    values = Monitor(images).test(nets, context)
    with torch.no_grad():
        logits = [net.eval()(images.view("test")(images.pixels, None)) for net in nets]
    for k, single in enumerate(logits, start=1):
        assert values[f"test_accuracy_net{k}"] == pytest.approx(accuracy(single, images.labels))
    assert values["test_accuracy"] == pytest.approx(accuracy(logits[0] + logits[1], images.labels))
    assert list(Monitor(images).test(nets[:1], context)) == ["test_accuracy"]


def test_without_held_out_images_or_truth_there_is_nothing_to_say() -> None:
    assert Monitor().test([], toy_context()) == {}
    assert Monitor().selection(np.ones(2, dtype=bool), np.zeros(2, dtype=int)) == {}


def test_precision_and_recall_of_the_clean_set() -> None:
    truth, labels = np.array([0, 1, 2, 0, 1]), np.array([0, 1, 0, 2, -1])
    selected = np.array([True, False, True, False, False])
    assert Monitor(truth=truth).selection(selected, labels) == {"clean_precision": 0.5, "clean_recall": 0.5}
    nothing = Monitor(truth=truth).selection(np.zeros(5, dtype=bool), labels)
    assert nothing == {"clean_precision": 0.0, "clean_recall": 0.0}


@pytest.mark.parametrize("training", [True, False])
def test_looking_at_all_images_changes_nothing(training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    context, images = toy_context(), toy_images(20)
    net = scanmix_net("small", CLASSES, context).train(training)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    whole = forward_all(net, net, images, context)
    monkeypatch.setitem(EVALUATION_BATCH, "cpu", 7)
    torch.testing.assert_close(forward_all(net, net, images, context), whole)
    assert net.training == training
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name]), name
    whole.requires_grad_()  # the result is an ordinary tensor
