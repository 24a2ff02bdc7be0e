"""`scanmix bench --list`: what can be named, and what of it is on this machine."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scanmix_cli.bench.datasets import DATASETS
from scanmix_cli.bench.injected import label_files
from scanmix_cli.bench.noise import RECIPES
from scanmix_cli.bench.red_mini_imagenet import INNER
from scanmix_cli.bench.request import FILE, HUMAN, KNOWN_METHODS, NOISES, OWN_NOISE, SEMANTIC

# One file or folder that each layout must have, below --data-dir; several where there are several layouts.
_SIGNS = {
    "cifar10": ("cifar-10-batches-py", "batches.meta"),
    "cifar100": ("cifar-100-python", "meta"),
    "red-mini-imagenet": ("split", f"{INNER}/split"),
    "webvision": ("info/train_filelist_google.txt",),
    "clothing1m": ("noisy_train_key_list.txt",),
}
_EXTRAS = {"cleanlab": "method cleanlab"}


def listing(data_dir: Path) -> dict[str, Any]:
    """Data sets with their noises and whether they are in `data_dir`, methods, recipes, extras."""
    datasets = {}
    for name in DATASETS:
        published = (*SEMANTIC, *HUMAN[name]) if name in HUMAN else ()
        datasets[name] = {
            "present": any((data_dir / sign).exists() for sign in _SIGNS[name]),
            "looked_for": _SIGNS[name][0],
            "noises": list(OWN_NOISE.get(name, NOISES)),
            "label_files": [noise for noise in published if label_files(name, noise, data_dir)],
        }
    return {
        "data_dir": str(data_dir),
        "datasets": datasets,
        "noises": [*NOISES, f"{FILE}PATH"],
        "recipes": list(RECIPES),
        "methods": list(KNOWN_METHODS),
        "extras": {name: find_spec(name) is not None for name in _EXTRAS},
    }


def listing_text(found: dict[str, Any]) -> str:
    """The listing for a terminal."""
    lines = [f"data sets (looked for in {found['data_dir']}):"]
    for name, facts in found["datasets"].items():
        state = "present" if facts["present"] else f"not there (no {facts['looked_for']})"
        labels = f"; label files: {', '.join(facts['label_files'])}" if facts["label_files"] else ""
        lines.append(f"  {name:<18} {state}{labels}")
    lines.append("  or any folder or table with clean labels")
    lines.append(f"noises:  {', '.join(found['noises'])}")
    lines += [f"  {name} comes with its own: {', '.join(own)}" for name, own in OWN_NOISE.items()]
    lines.append(f"recipes: {', '.join(found['recipes'])}")
    lines.append(f"methods: {', '.join(found['methods'])}")
    missing = [f"{name} ({_EXTRAS[name]})" for name, there in found["extras"].items() if not there]
    lines += [f"not installed: {', '.join(missing)}; run `pip install '.[bench]'` in a checkout"] if missing else []
    return "\n".join(lines)
