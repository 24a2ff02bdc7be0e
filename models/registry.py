"""Backbones by name. Each is imported when it is built: timm and torchvision take seconds and 250 MiB."""

from difflib import get_close_matches
from importlib import import_module

from torch import nn

TIMM_PREFIX = "timm:"
ADAPTER_PREFIX = "adapter:"  # and the number of features: trained in place of a backbone on those of a still encoder
STILL_PREFIX = "still:"  # and a backbone: that one under an adapter

_CLASSES = {  # module and class
    "small": ("small", "SmallResNet"),
    "resnet18-cifar": ("resnet", "ResNet18"),
    "preact-resnet18-cifar": ("resnet", "PreActResNet18"),
    "resnet50": ("resnet50", "ResNet50"),
    "inception-resnet-v2": ("inception", "InceptionResNetV2"),
}
BACKBONES = tuple(_CLASSES)


def build_backbone(name: str) -> nn.Module:
    """An untrained backbone: forward (B, 3, H, W) -> (B, features), attribute `features` (int).

    `name` is one of `BACKBONES`, or "timm:NAME" for any model of timm; "adapter:D" and "still:NAME" are what a run with
    a still encoder trains and keeps. Weights are drawn from torch's CPU generator.
    Raises ValueError for any other name, with the known and the nearest ones.
    """
    if name.startswith(ADAPTER_PREFIX):
        from .still import Adapter

        return Adapter(int(name.removeprefix(ADAPTER_PREFIX)))
    if name.startswith(STILL_PREFIX):
        from .still import Embedding, StillBackbone

        return StillBackbone(Embedding(build_backbone(name.removeprefix(STILL_PREFIX))))
    if name.startswith(TIMM_PREFIX):
        from .timm_backbone import TimmBackbone

        return TimmBackbone(_known_timm_name(name.removeprefix(TIMM_PREFIX)))
    if name not in _CLASSES:
        choices = f"{', '.join(BACKBONES)}, or {TIMM_PREFIX}NAME for a timm model"
        raise ValueError(f"unknown backbone {name!r}{_nearest(name, BACKBONES)}: choose one of {choices}")
    module, backbone = _CLASSES[name]
    return getattr(import_module(f".{module}", __package__), backbone)()


def _known_timm_name(name: str) -> str:
    """`name`, which may carry a pre-training tag after a dot, if timm has that architecture."""
    import timm

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
