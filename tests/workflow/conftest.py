"""A tiny set of coloured squares that trains in seconds."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

COLOURS = {"blue": (30, 30, 220), "green": (20, 200, 40), "red": (220, 30, 30)}


def write_squares(folder: Path, per_class: int, wrong: int = 0, seed: int = 0) -> dict[str, str]:
    """Class folders of noisy 16x16 squares, the first `wrong` of each class filed under the next one; the truth by
    posix path relative to `folder`."""
    rng = np.random.default_rng(seed)
    names = sorted(COLOURS)
    truth = {}
    for k, name in enumerate(names):
        for number in range(per_class):
            filed = names[(k + 1) % len(names)] if number < wrong else name
            pixels = np.clip(np.array(COLOURS[name]) + rng.normal(0, 25, (16, 16, 3)), 0, 255).astype(np.uint8)
            path = folder / filed / f"{name[0]}{number:03d}x.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
            truth[f"{filed}/{path.name}"] = name
    return truth


@pytest.fixture
def squares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`data/train` and `data/test` in a fresh working directory with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_squares(tmp_path / "data" / "train", 10, wrong=2)
    write_squares(tmp_path / "data" / "test", 4, seed=1)
    return tmp_path / "data"
