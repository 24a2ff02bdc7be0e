"""What a result must say about the machine and the code it came from."""

import gc
import platform
import resource
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import torch

from scanmix_cli.version import __version__

_PACKAGES = {"numpy": "numpy", "scikit-learn": "sklearn", "torchvision": "torchvision", "cleanlab": "cleanlab"}


def versions() -> dict[str, str]:
    """Versions of scanmix, Python, PyTorch and what the scores depend on, where installed."""
    found = {"scanmix": __version__, "python": platform.python_version(), "torch": torch.__version__}
    return found | {name: version(name) for name, module in _PACKAGES.items() if find_spec(module) is not None}


def commit() -> str | None:
    """The commit of the code where it runs from a git checkout."""
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def start_memory(device: torch.device) -> None:
    """Give unused GPU memory back, and count the peak from here."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory(device: torch.device) -> int:
    """Peak MiB: of tensors on a GPU since `start_memory`, of the whole process elsewhere."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / 2**20)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))
