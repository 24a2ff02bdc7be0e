"""What the runs of `faults.py` are made of: pictures, outside weights, and settings that lead through every stage."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from scanmix_cli.models.registry import build_backbone

_PUBLISHED = "[profile]\nbeliefs = false\n"
_SCHEDULE = """[profile.warmup]
epochs = 2
batch_size = 16
learning_rate = 0.005
scope = "network"
[profile.mixmatch]
epochs = 3
batch_size = 8
learning_rate = 0.002
steps = 0
[profile.clustering]
batch_size = 16
steps = 0
"""
_SIMCLR = '[profile.contrastive]\nobjective = "simclr"\nepochs = 2\nbatch_size = 16\n'
_MOCO = _SIMCLR.replace("simclr", "moco") + "queue_size = 32\n"
_SCAN = "[profile.scan]\nepochs = 2\nbatch_size = 16\n"
# The stages of the published loop, and those that other devices, image sizes and weights bring.
SETTINGS = {
    "published": _PUBLISHED + _SIMCLR + _SCAN + _SCHEDULE,
    "moco": _PUBLISHED + _MOCO + _SCAN + _SCHEDULE,
    "beliefs": _SIMCLR + "[profile.beliefs]\nepochs = 3\nbatch_size = 16\n",
    "features": '[run]\nweights = "own.safetensors"\nbackbone = "small"\nimage_size = 32\n' + _SCHEDULE,
}


def write_data(folder: Path, images: int) -> None:
    """Noisy squares of three colours, every fifth under a wrong name."""
    rng = np.random.default_rng(0)
    for k in range(images):
        given = (k + (k % 5 == 4)) % 3
        pixels = rng.integers(0, 120, (16, 16, 3))
        pixels[..., k % 3] += 110
        path = folder / ("red", "green", "blue")[given] / f"{k:05d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(path)


def write_weights(path: Path) -> None:
    """Outside weights, of a network that nobody has trained."""
    torch.manual_seed(0)
    save_file(build_backbone("small").state_dict(), path)
