"""The contrastive pre-training that several methods start from: run once, kept with the results."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save

from scanmix_cli.bench.sharing import alone
from scanmix_cli.engine.checkpoints import Checkpoints
from scanmix_cli.engine.context import Context
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.progress import Reporter
from scanmix_cli.errors import DataError
from scanmix_cli.files import write_bytes, write_text
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
        try:
            weights = load_file(self.weights)
        except (SafetensorError, FileNotFoundError) as error:
            raise _damaged(self.weights, error) from error
        net.load_state_dict(weights, strict=True)
        return net


def shared_encoder(
    out: Path, images: ImageSet, fingerprint: str, profile: Profile, seed: int, compute: Compute, reporter: Reporter
) -> Encoder:
    """The encoder for these images, settings and seed: from `out/pretrained`, or trained now and put there.

    An interrupted pre-training goes on from its last checkpoint. Labels play no part, so all noises share it. Where
    another process is training it already, this one waits for it.
    """
    parts = [asdict(profile.contrastive), profile.backbone, profile.image_size, profile.mean, profile.std]  # type: ignore[arg-type]
    text = json.dumps([parts, fingerprint, seed], sort_keys=True)
    stem = out / FOLDER / f"seed{seed}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    weights, facts = stem.with_suffix(".safetensors"), stem.with_suffix(".json")
    with alone(out, f"pretraining-{stem.name}", reporter.message):
        if not facts.is_file():
            reporter.message(f"pre-training shared by the methods that start from it, seed {seed}")
            stem.parent.mkdir(parents=True, exist_ok=True)
            checkpoints = Checkpoints(stem.with_suffix(".checkpoints"), text, resume=True, tell=reporter.message)
            context = Context(compute, seed, reporter, checkpoints, metrics=stem.with_suffix(".metrics.csv"))
            net = pretrain(images, profile, context)
            write_bytes(weights, save({name: value.cpu().contiguous() for name, value in net.state_dict().items()}))
            seconds = sum(row["seconds"] for row in context.history.rows)
            made = {"seconds": round(seconds, 3), "device": device_name(compute.device)}
            write_text(facts, json.dumps(made) + "\n")  # last: who finds it finds the weights
            checkpoints.remove()
    try:
        found = json.loads(facts.read_text(encoding="utf-8"))
        return Encoder(weights, found["seconds"], found["device"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(facts, error) from error


def _damaged(path: Path, error: Exception) -> DataError:
    reason = " ".join(str(error).split())
    return DataError(
        f"{path} is damaged ({reason}): remove {path.with_suffix('.json')}, and the encoder is trained again"
    )
