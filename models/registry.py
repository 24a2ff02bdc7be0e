"""Backbones by name."""

from collections.abc import Callable
from difflib import get_close_matches

import timm
from torch import nn

from .inception import InceptionResNetV2
from .resnet import PreActResNet18, ResNet18, ResNet50
from .small import SmallResNet
from .timm_backbone import TimmBackbone

TIMM_PREFIX = "timm:"

_BUILDERS: dict[str, Callable[[], nn.Module]] = {
    "small": SmallResNet,
    "resnet18-cifar": ResNet18,
    "preact-resnet18-cifar": PreActResNet18,
    "resnet50": ResNet50,
    "inception-resnet-v2": InceptionResNetV2,
}
BACKBONES = tuple(_BUILDERS)


def build_backbone(name: str) -> nn.Module:
    """An untrained backbone: forward (B, 3, H, W) -> (B, features), attribute `features` (int).

    `name` is one of `BACKBONES`, or "timm:NAME" for any model of timm. Weights are drawn from torch's CPU generator.
    Raises ValueError for any other name, with the known and the nearest ones.
    """
    if name.startswith(TIMM_PREFIX):
        return TimmBackbone(_known_timm_name(name.removeprefix(TIMM_PREFIX)))
    if name not in _BUILDERS:
        choices = f"{', '.join(BACKBONES)}, or {TIMM_PREFIX}NAME for a timm model"
        raise ValueError(f"unknown backbone {name!r}{_nearest(name, BACKBONES)}: choose one of {choices}")
    return _BUILDERS[name]()


def _known_timm_name(name: str) -> str:
    """`name`, which may carry a pre-training tag after a dot, if timm has that architecture."""
    if timm.is_model(name):
        return name
    nearest = _nearest(name, tuple(timm.list_models()))
    raise ValueError(f"timm has no model {name!r}{nearest}: timm.list_models() lists all names")


def _nearest(name: str, known: tuple[str, ...]) -> str:
    """Text that names the most similar known name, one that `name` begins if there is any; "" where none is similar."""
    wanted = name.lower()
    longer = [candidate for candidate in known if wanted and candidate.startswith(wanted)]
    similar = longer or get_close_matches(wanted, known, n=1, cutoff=0.4)
    return f" (nearest: {similar[0]})" if similar else ""
