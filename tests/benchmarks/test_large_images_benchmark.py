"""The pictures that large networks are timed on."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def large_images(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("large_images")


def test_files_are_spread_over_the_folder_and_enlarged(large_images: ModuleType, tmp_path: Path) -> None:
    for k in range(10):
        path = tmp_path / f"class {k % 2}" / f"{k}.png"
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 6), (20 * k, 0, 0)).save(path)
    (tmp_path / "notes.txt").touch()
    pixels = large_images.decoded(tmp_path, 3, 16)
    assert pixels.shape == (3, 3, 16, 16)
    assert pixels[:, 0, 8, 8].tolist() == [0, 120, 60], "files 0, 6 and 3"
    assert len(large_images.decoded(tmp_path, 100, 16)) == 10


def test_a_folder_without_pictures_is_a_sentence(large_images: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        large_images.decoded(tmp_path, 3, 16)
    assert str(ended.value) == f"{tmp_path} holds no JPEG or PNG files"
