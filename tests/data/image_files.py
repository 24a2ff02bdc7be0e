"""Tiny pictures and folders, made on the spot."""

from pathlib import Path

import numpy as np
from PIL import Image


def picture(seed: int, width: int = 8, height: int = 8) -> Image.Image:
    """Random RGB pixels."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def smooth_picture(width: int = 48, height: int = 48) -> Image.Image:
    """Colour ramps, which lossy formats hardly change."""
    x, y = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return Image.fromarray(np.stack([x, y, (x + y) / 2], axis=2).astype(np.uint8))


def save_picture(path: Path, seed: int = 0) -> Path:
    """A PNG picture at `path`, whatever its suffix; folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture(seed).save(path, "PNG")
    return path


def make_folder(root: Path, files: list[str]) -> Path:
    """Different pictures at the given places below `root`."""
    for seed, name in enumerate(files):
        save_picture(root / name, seed)
    return root


def write_table(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path
