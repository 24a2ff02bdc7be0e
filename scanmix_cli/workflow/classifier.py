"""The trained classifier, in memory and on disk: `model/model.safetensors` and `model/model.json`, beside them
`model/model.onnx`; loading never unpickles."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from scanmix_cli.augment.pipelines import build_view
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.parts import halving
from scanmix_cli.errors import DataError, SettingsError
from scanmix_cli.files import write_bytes, write_text
from scanmix_cli.method.images import EVALUATION_BATCH, to_layout
from scanmix_cli.method.networks import placed
from scanmix_cli.method.settings import Normalisation, Profile
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.registry import build_backbone
from scanmix_cli.models.still import features_of, share_embedding
from scanmix_cli.workflow.onnx_file import OnnxNote, sum_of_logits, write_onnx
from scanmix_cli.workflow.views import views_of

WEIGHTS, DESCRIPTION = "model.safetensors", "model.json"
FORMAT = 1


class Images(Protocol):
    """uint8 (N, 3, S, S) that is asked for in parts: an array, or rows of the pixel cache, which may be larger than the
    memory."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> np.ndarray: ...


@dataclass(frozen=True)
class Classifier:
    """One or more networks whose summed logits classify."""

    nets: list[ScanMixNet]
    backbone: str
    classes: tuple[str, ...]
    image_size: int
    stored_size: int
    mean: Normalisation
    std: Normalisation

    def probabilities(self, images: Images, compute: Compute, views: int = 1) -> np.ndarray:
        """float32 (N, C) for uint8 (N, 3, stored_size, stored_size); the mean over `views` of every image."""

        def classify(batch: Tensor) -> Tensor:
            seen = views_of(batch, views)
            return torch.stack([sum_of_logits(self.nets, view).softmax(1) for view in seen]).mean(0)

        return self._batched(images, compute, classify, len(self.classes))

    def features(self, images: Images, compute: Compute) -> np.ndarray:
        """float32 (N, D) for uint8 (N, 3, stored_size, stored_size): the backbones' outputs side by side."""

        def embed(batch: Tensor) -> Tensor:
            return torch.cat([features.float() for features in features_of(self.nets, batch)], dim=1)

        width = sum(net.class_head.in_features for net in self.nets)
        return self._batched(images, compute, embed, width)

    def _batched(
        self, images: Images, compute: Compute, function: Callable[[Tensor], Tensor], width: int
    ) -> np.ndarray:
        """`function` of the normalised test view of every image, float32 (N, width)."""
        view = build_view("test", self.image_size, self.mean, self.std)
        for net in self.nets:
            placed(net, compute.device).eval()

        def evaluate(step: int) -> np.ndarray:
            results = [np.zeros((0, width), np.float32)]
            for start in range(0, len(images), step):
                part = np.ascontiguousarray(images[start : start + step])
                with torch.inference_mode(), compute.autocast():
                    batch = to_layout(view(torch.from_numpy(part).to(compute.device), None))
                    results.append(function(batch).float().cpu().numpy())
            return np.concatenate(results)

        return halving(evaluate, EVALUATION_BATCH[compute.device.type], {}, "prediction")

    def network(self, which: str) -> "Classifier":
        """This classifier with the networks that `which` names: "both", or one by its number, from "1" on."""
        if which == "both":
            return self
        numbers = [str(k) for k in range(1, len(self.nets) + 1)]
        if which not in numbers:
            raise SettingsError(f"there is no network {which!r}; choose one of both, {', '.join(numbers)}")
        return replace(self, nets=[self.nets[int(which) - 1]])


def make_classifier(nets: list[ScanMixNet], profile: Profile, classes: tuple[str, ...]) -> Classifier:
    """Wrap the networks of a finished run."""
    return Classifier(
        nets, profile.backbone, classes, profile.image_size, profile.stored_size, profile.mean, profile.std
    )


def save_classifier(folder: Path, classifier: Classifier) -> OnnxNote:
    """Write all files into `folder`, which is made; returns how it went with model.onnx, which may be left out."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        f"net{k}.{name}": value.detach().cpu().contiguous().clone()  # files refuse tensors that are shared
        for k, net in enumerate(classifier.nets, start=1)
        for name, value in net.state_dict().items()
    }
    write_bytes(folder / WEIGHTS, save(tensors))
    note = write_onnx(folder, classifier.nets, classifier.image_size, classifier.classes)
    description = {
        "format": FORMAT,
        "backbone": classifier.backbone,
        "networks": len(classifier.nets),
        "classes": list(classifier.classes),
        "input_size": classifier.image_size,
        "stored_size": classifier.stored_size,
        "mean": list(classifier.mean),
        "std": list(classifier.std),
        "onnx": note.description,
    }
    write_text(folder / DESCRIPTION, json.dumps(description, indent=2) + "\n")
    return note


def load_classifier(run: Path) -> Classifier:
    """The classifier of a run folder; DataError where it is missing or damaged."""
    folder = run / "model"
    try:
        info = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        if info["format"] != FORMAT:
            raise DataError(f"the classifier in {folder} is of another version; train again with this one")
        tensors = load_file(folder / WEIGHTS)
        nets = [_restore(info, tensors, k) for k in range(1, info["networks"] + 1)]
        share_embedding(nets)
        mean, std = tuple(info["mean"]), tuple(info["std"])
        classes = tuple(info["classes"])
        return Classifier(nets, info["backbone"], classes, info["input_size"], info["stored_size"], mean, std)
    except FileNotFoundError:
        raise DataError(f"{run} holds no trained classifier; name the folder of a finished run") from None
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the classifier in {folder} is damaged ({reason}); train again") from None


def _restore(info: dict, tensors: dict[str, Tensor], number: int) -> ScanMixNet:
    prefix = f"net{number}."
    net = ScanMixNet(build_backbone(info["backbone"]), len(info["classes"]))
    own = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    net.load_state_dict(own, strict=True)
    return net
