"""The trained classifier on disk: `model/model.safetensors` and `model/model.json`; loading never unpickles."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from scanmix_cli.augment.pipelines import build_view
from scanmix_cli.engine.device import Compute
from scanmix_cli.errors import DataError
from scanmix_cli.files import write_text
from scanmix_cli.method.images import EVALUATION_BATCH, to_layout
from scanmix_cli.method.networks import placed
from scanmix_cli.method.settings import Normalisation, Profile
from scanmix_cli.models.network import ScanMixNet
from scanmix_cli.models.registry import build_backbone

WEIGHTS, DESCRIPTION = "model.safetensors", "model.json"
FORMAT = 1


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

    def probabilities(self, images: np.ndarray, compute: Compute) -> np.ndarray:
        """float32 (N, C) for uint8 (N, 3, stored_size, stored_size)."""
        view = build_view("test", self.image_size, self.mean, self.std)
        nets = [placed(net, compute.device).eval() for net in self.nets]
        results = []
        for start in range(0, len(images), EVALUATION_BATCH[compute.device.type]):
            part = np.ascontiguousarray(images[start : start + EVALUATION_BATCH[compute.device.type]])
            with torch.inference_mode(), compute.autocast():
                batch = to_layout(view(torch.from_numpy(part).to(compute.device), None))
                logits = torch.stack([net(batch).float() for net in nets]).sum(0)
            results.append(logits.softmax(1).cpu().numpy())
        return np.concatenate(results) if results else np.zeros((0, len(self.classes)), np.float32)


def make_classifier(nets: list[ScanMixNet], profile: Profile, classes: tuple[str, ...]) -> Classifier:
    """Wrap the networks of a finished run."""
    return Classifier(
        nets, profile.backbone, classes, profile.image_size, profile.stored_size, profile.mean, profile.std
    )


def save_classifier(folder: Path, classifier: Classifier) -> None:
    """Write both files into `folder`, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {
        f"net{k}.{name}": value.detach().cpu().contiguous()
        for k, net in enumerate(classifier.nets, start=1)
        for name, value in net.state_dict().items()
    }
    save_file(tensors, folder / WEIGHTS)
    description = {
        "format": FORMAT,
        "backbone": classifier.backbone,
        "networks": len(classifier.nets),
        "classes": list(classifier.classes),
        "input_size": classifier.image_size,
        "stored_size": classifier.stored_size,
        "mean": list(classifier.mean),
        "std": list(classifier.std),
    }
    write_text(folder / DESCRIPTION, json.dumps(description, indent=2) + "\n")


def load_classifier(run: Path) -> Classifier:
    """The classifier of a run folder; DataError where it is missing or damaged."""
    folder = run / "model"
    try:
        info = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        if info["format"] != FORMAT:
            raise DataError(f"the classifier in {folder} is of another version; train again with this one")
        tensors = load_file(folder / WEIGHTS)
        nets = [_restore(info, tensors, k) for k in range(1, info["networks"] + 1)]
        mean, std = tuple(info["mean"]), tuple(info["std"])
        classes = tuple(info["classes"])
        return Classifier(nets, info["backbone"], classes, info["input_size"], info["stored_size"], mean, std)
    except FileNotFoundError:
        raise DataError(f"{run} holds no trained classifier; name the folder of a finished run") from None
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"the classifier in {folder} is damaged ({reason}); train again") from None


def _restore(info: dict, tensors: dict[str, torch.Tensor], number: int) -> ScanMixNet:
    prefix = f"net{number}."
    net = ScanMixNet(build_backbone(info["backbone"]), len(info["classes"]))
    own = {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
    net.load_state_dict(own, strict=True)
    return net
