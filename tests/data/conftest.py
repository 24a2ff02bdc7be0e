"""How much the property tests of this folder try: `pytest tests/data --hypothesis-profile=thorough` tries far more; and
what the tests of `scanmix check` need."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from image_files import make_folder, save_picture

settings.register_profile(
    "thorough",
    max_examples=5000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def troubled(tmp_path: Path) -> Path:
    """A set with bad files, a conflict, a leak, an empty class and litter."""
    data = make_folder(
        tmp_path / "photos",
        ["train/cat/1.png", "train/cat/2.png", "train/dog/1.png", "train/dog/2.png", "val/dog/1.png", "val/dog/2.png"],
    )
    save_picture(data / "train" / "cat" / "2.png", 50)
    save_picture(data / "train" / "dog" / "2.png", 50)
    save_picture(data / "val" / "dog" / "2.png", 50)
    (data / "train" / "cat" / "=bad.png").write_bytes(b"garbage")
    (data / "train" / "cat" / "empty.png").touch()
    (data / "train" / "[bold]eel").mkdir()
    (data / ".DS_Store").touch()
    return data
