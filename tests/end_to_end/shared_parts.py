"""What a shared run is made of, each as named tensors: test_shared_run.py compares those of several processes with
those of one."""

import shutil
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import normalize

sys.path.insert(0, str(Path(__file__).parents[1] / "method"))
from scanmix_cli.models.norm_sync import synchronise_norms
from scanmix_cli.models.registry import build_backbone
from toy_runs import shrink, toy_context, toy_images, toy_profile

from scanmix_cli.engine import context as engine
from scanmix_cli.engine import parallel
from scanmix_cli.engine.checkpoints import Checkpoints
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import seeded
from scanmix_cli.engine.progress import Silent
from scanmix_cli.method import images as image_sets
from scanmix_cli.method import neighbors as mining
from scanmix_cli.method import scanmix
from scanmix_cli.method.belief_loop import run_belief_loop
from scanmix_cli.method.images import forward_all
from scanmix_cli.method.learner import make_learner
from scanmix_cli.method.methods import METHODS
from scanmix_cli.method.moco import train_moco
from scanmix_cli.method.monitor import Monitor
from scanmix_cli.method.neighbors import mine_neighbors
from scanmix_cli.method.networks import contrastive_net, load_backbone, scanmix_net
from scanmix_cli.method.scan import train_scan
from scanmix_cli.method.scanmix import run_em_loop
from scanmix_cli.method.settings import BeliefSettings
from scanmix_cli.method.simclr import train_simclr
from scanmix_cli.method.student import make_student
from scanmix_cli.method.warmup import warm_up
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.workflow.still import StillEncoder

IMAGES = toy_images(38)  # a number that four processes cannot share evenly
PROFILE = toy_profile(2)
TINY = "timm:test_efficientnet"
DONE: Counter[str] = Counter()  # by this process in its whole run


def gathered() -> dict[str, Tensor]:
    """Two parts of twelve rows, and the gradient of a loss that compares all rows with each other."""
    rows = torch.arange(48.0).view(24, 2) / 10
    weight = nn.Parameter(torch.tensor([0.5, -0.25]))
    outputs = parallel.gather(normalize(parallel.own_share(rows, parts=2) * weight + 1), parts=2)
    (outputs @ outputs.T).triu(1).square().sum().backward()
    parallel.sum_gradients([weight])
    assert weight.grad is not None
    return {
        "rows": parallel.gather(parallel.own_share(rows, parts=3), parts=3),
        "columns": parallel.gather(parallel.own_share(rows.T.contiguous(), dim=1).T.contiguous()),
        "outputs": outputs.detach(),
        "gradient": weight.grad,
    }


def norms() -> dict[str, Tensor]:
    """A batch norm over maps and one over features: outputs, all gradients, buffers."""
    found: dict[str, Tensor] = {}
    for name, net, shape in (
        ("maps", nn.Sequential(nn.BatchNorm2d(3), nn.Flatten()), (8, 3, 2, 2)),
        ("features", nn.Sequential(nn.BatchNorm1d(3)), (8, 3)),
    ):
        inputs = torch.randn(shape, generator=torch.Generator().manual_seed(0)).mul_(3).add_(2).requires_grad_()
        if parallel.world() > 1:
            synchronise_norms(net)
        outputs = parallel.gather(net(parallel.own_share(inputs)))
        (outputs.sin() * torch.arange(outputs.numel()).view(outputs.shape)).sum().backward()
        parallel.sum_gradients([*net.parameters(), inputs])  # type: ignore[list-item]
        assert inputs.grad is not None
        found |= {f"{name} outputs": outputs.detach(), f"{name} input gradient": inputs.grad}
        found |= {f"{name} {key}": value.float() for key, value in net.state_dict().items()}
        found |= {f"{name} {key} gradient": p.grad for key, p in net.named_parameters() if p.grad is not None}
    return found


def history(context: Context) -> dict[str, Tensor]:
    """All metrics of a stage."""
    rows = [{k: v for k, v in row.items() if k not in ("stage", "epoch", "seconds")} for row in context.history.rows]
    return {f"{name} of epoch {k}": torch.tensor(v) for k, row in enumerate(rows) for name, v in row.items()}


def weights(net: nn.Module) -> dict[str, Tensor]:
    return {name: value.float() for name, value in net.state_dict().items()}


def simclr() -> dict[str, Tensor]:
    context = toy_context()
    net = contrastive_net("small", context)
    assert PROFILE.contrastive is not None
    train_simclr(net, IMAGES, PROFILE.contrastive, context)
    return weights(net) | history(context)


def moco() -> dict[str, Tensor]:
    context, settings = toy_context(), shrink(OFFICIAL["clothing1m"], 2, 16).contrastive
    net = contrastive_net("small", context)
    assert settings is not None
    train_moco(net, IMAGES, settings, context)
    return weights(net) | history(context)


def scan() -> dict[str, Tensor]:
    context = toy_context()
    net = scanmix_net("small", IMAGES.classes, context)
    features = normalize(forward_all(net.features, net, IMAGES, context), dim=1)
    neighbors = mine_neighbors(features, 5, include_self=True)
    assert PROFILE.scan is not None
    train_scan(net, IMAGES, neighbors, PROFILE.scan, context)
    return {"features": features, "neighbors": neighbors.float()} | weights(net) | history(context)


def warmup() -> dict[str, Tensor]:
    context = toy_context()
    learner = make_learner(scanmix_net("small", IMAGES.classes, context), PROFILE, context)
    warm_up([learner], IMAGES, replace(PROFILE.warmup, confidence_penalty=True), Monitor(IMAGES), context)
    return weights(learner.net) | history(context)


def em_loop(
    order: Literal["sequential", "parallel"] = "sequential", epochs: int = 2, context: Context | None = None
) -> dict[str, Tensor]:
    """The mixtures, the semi-supervised step, the clustering step."""
    context, profile = context or toy_context(), replace(toy_profile(epochs), order=order)
    nets = [scanmix_net("small", IMAGES.classes, context, k) for k in (1, 2)]
    learners = [make_learner(net, profile, context) for net in nets]
    neighbors = (torch.arange(len(IMAGES)).unsqueeze(1) + torch.arange(4)) % len(IMAGES)
    run_em_loop(learners, IMAGES, neighbors, profile, Monitor(), context)
    return weights(nets[0]) | {f"second {name}": value for name, value in weights(nets[1]).items()} | history(context)


def teams() -> dict[str, Tensor]:
    """Networks trained apart, by half of the processes each; in the second epoch on what the first exchanged."""
    return em_loop("parallel")


class Stop(Exception):
    pass


class Stops(Silent):
    """Ends a stage in its second epoch, when the state after the first one is on disk."""

    def epoch(self, name: str, finished: int, total: int, values: dict[str, float]) -> None:
        if finished == 2:
            raise Stop


def begin(folder: Path) -> None:
    """`teams`, left off in the second epoch."""
    with pytest.MonkeyPatch.context() as patch, suppress(Stop):
        patch.setattr(engine, "CHECKPOINT_SECONDS", -1.0)
        em_loop("parallel", context=toy_context(reporter=Stops(), checkpoints=Checkpoints(folder)))


def go_on(folder: Path) -> dict[str, Tensor]:
    """The rest of what `begin` left in the folder, which stays as it is."""
    with TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        assert [path.name[:15] for path in Path(copy).glob("scanmix-*")] == ["scanmix-000001-"]
        return em_loop("parallel", context=toy_context(checkpoints=Checkpoints(Path(copy), resume=True)))


def beliefs() -> dict[str, Tensor]:
    """On images that all numbers of processes share evenly: the statistics of so few depend on every one of them."""
    context, settings, images = toy_context(), BeliefSettings(epochs=1, batch_size=16), toy_images(40)
    encoder = contrastive_net("small", context)
    net = scanmix_net("small", images.classes, context, 1)
    load_backbone(net, encoder)
    student = make_student(net, settings, context)
    run_belief_loop([student], images, replace(PROFILE, beliefs=settings), Monitor(images), context)
    return weights(student.averaged) | history(context)


class Asked:
    """Images, and how many of them were asked for."""

    def __init__(self, images: np.ndarray) -> None:
        self.images, self.count = images, 0

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        self.count += len(rows)
        return self.images[rows]


def still_features(asked: Asked) -> Tensor:
    """What an encoder that stands still sees in the images."""
    context = toy_context()
    with TemporaryDirectory() as folder:
        weights = Path(folder) / "tiny.safetensors"
        with seeded(0):
            save_file(build_backbone(TINY).state_dict(), weights)
        profile = replace(fast.STILL, image_size=32, stored_size=32, backbone=TINY, weights=str(weights))
        encoder = StillEncoder(profile, context.compute)
    return encoder.train_set(asked, IMAGES.labels, IMAGES.classes, context).mean_features()  # type: ignore[arg-type]


def still() -> dict[str, Tensor]:
    pixels = torch.nn.functional.interpolate(IMAGES.pixels.float(), size=32).byte()
    return {"features": still_features(Asked(pixels.numpy()))}


def count_calls(patch: pytest.MonkeyPatch, place: ModuleType, name: str, size: Callable[..., int]) -> None:
    """Let `DONE` count what this process does by a function, `size` of the arguments at each call."""
    original = getattr(place, name)

    def counted(*arguments: Any) -> Any:
        DONE[name] += size(*arguments)
        return original(*arguments)

    patch.setattr(place, name, counted)


def whole_run() -> dict[str, Tensor]:
    """All stages, of an epoch each: the stages by themselves have more."""
    context = toy_context()
    with pytest.MonkeyPatch.context() as patch:
        count_calls(patch, mining, "_search_cpu", lambda features, asking, wanted: len(asking))
        count_calls(patch, image_sets, "to_layout", len)  # before a network sees them
        count_calls(patch, scanmix, "divide", lambda *_: 1)
        outcome = METHODS["scanmix"](IMAGES, toy_profile(1), Monitor(IMAGES), context, None)
    assert outcome.evidence is not None
    assert outcome.neighbors is not None
    evidence = outcome.evidence
    learned = {"evidence": evidence.probability_sum, "posterior": evidence.posterior_sum}
    found = {name: torch.as_tensor(value) for name, value in learned.items()} if parallel.is_writer() else {}
    return found | {"final": torch.from_numpy(evidence.final_probability), "neighbors": outcome.neighbors.float()}


PARTS = (gathered, norms, simclr, moco, scan, warmup, em_loop, teams, beliefs, still, whole_run)
PARTS_OF_MANY = (gathered, norms, moco, teams, beliefs, still, whole_run)  # what more than two processes are tried with


def everything() -> dict[str, dict[str, Tensor]]:
    return {part.__name__: part() for part in (PARTS if parallel.world() <= 2 else PARTS_OF_MANY)}
