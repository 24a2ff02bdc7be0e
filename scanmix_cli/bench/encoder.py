"""The contrastive pre-training that several methods start from: run once, kept with the results."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors.torch import load_file, save_file

from scanmix_cli.engine.checkpoints import Checkpoints
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.progress import Reporter
from scanmix_cli.method.images import ImageSet
from scanmix_cli.method.methods import pretrain
from scanmix_cli.method.networks import contrastive_net
from scanmix_cli.method.settings import Profile
from scanmix_cli.models.network import ContrastiveNet
from scanmix_cli.workflow.train import device_name

FOLDER = "pretrained"


@dataclass(frozen=True)
class Encoder:
    """Weights on disk, and the seconds that their training took on `device`."""

    weights: Path
    seconds: float
    device: str

    def load(self, profile: Profile, context: Context) -> ContrastiveNet:
        """A fresh copy on the device."""
        net = contrastive_net(profile.backbone, context)
        net.load_state_dict(load_file(self.weights), strict=True)
        return net


def shared_encoder(
    out: Path, images: ImageSet, fingerprint: str, profile: Profile, seed: int, compute: Compute, reporter: Reporter
) -> Encoder:
    """The encoder for these images, settings and seed: from `out/pretrained`, or trained now and put there.

    An interrupted pre-training goes on from its last checkpoint. Labels play no part, so all noises share it.
    """
    parts = [asdict(profile.contrastive), profile.backbone, profile.image_size, profile.mean, profile.std]  # type: ignore[arg-type]
    text = json.dumps([parts, fingerprint, seed], sort_keys=True)
    stem = f"seed{seed}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    folder = out / FOLDER
    weights, facts = folder / f"{stem}.safetensors", folder / f"{stem}.json"
    if not facts.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        reporter.message(f"pre-training shared by the methods that start from it, seed {seed}")
        checkpoints = Checkpoints(folder / f"{stem}.checkpoints", text, resume=True)
        context = Context(compute, seed, reporter, checkpoints, metrics=folder / f"{stem}.metrics.csv")
        net = pretrain(images, profile, context)
        temporary = weights.with_suffix(".tmp")
        save_file({name: value.detach().cpu().contiguous() for name, value in net.state_dict().items()}, temporary)
        temporary.replace(weights)
        seconds = sum(row["seconds"] for row in context.history.rows)
        facts.write_text(json.dumps({"seconds": round(seconds, 3), "device": device_name(compute.device)}) + "\n")
        checkpoints.remove()
    found = json.loads(facts.read_text())
    return Encoder(weights, found["seconds"], found["device"])
