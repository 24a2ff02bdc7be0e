"""Which files are decoded again: those that are new or have changed, or all on request."""

import os
from pathlib import Path

import numpy as np
import pytest
from image_files import make_folder, picture, save_picture, write_table
from mixed_table import assert_equal, mixed_table
from PIL import Image

from scanmix_cli.data.decode import read_content
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples

SIZE = 8


@pytest.fixture
def mixed(tmp_path: Path) -> Samples:
    return mixed_table(tmp_path / "data")


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are really decoded."""
    names: list[str] = []

    def spy(path: str) -> bytes:
        names.append(Path(path).name)
        return read_content(path)

    monkeypatch.setattr("scanmix_cli.data.decode_many.read_content", spy)
    return names


def test_only_changed_and_new_files_are_decoded_again(mixed: Samples, tmp_path: Path, decoded: list[str]) -> None:
    cache, data = tmp_path / "cache", tmp_path / "data"
    load_pixels(mixed, SIZE, workers=2, cache_dir=cache)
    assert sorted(decoded) == sorted(Path(path).name for path in mixed.table["path"])
    decoded.clear()
    save_picture(data / "7.png", 7)  # bad until now
    save_picture(data / "40.png", 400)
    (data / "41.png").unlink()
    save_picture(data / "new.png", 500)
    lines = ["new.png,odd\n", *(f"{k}.png,{'odd' if k % 2 else 'even'}\n" for k in reversed(range(100)))]
    samples = read_samples(write_table(data / "t.csv", "file_name,label\n" + "".join(lines)))
    pixels = load_pixels(samples, SIZE, workers=2, cache_dir=cache)
    assert sorted(decoded) == ["40.png", "41.png", "7.png", "new.png"]
    assert_equal(pixels, load_pixels(samples, SIZE, workers=2, cache_dir=None))
    assert len(list(cache.iterdir())) == 1  # the entry that can never fit again is gone


def test_rescan_decodes_everything_and_replaces_the_entry(mixed: Samples, tmp_path: Path, decoded: list[str]) -> None:
    load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache")
    path = Path(mixed.table["path"][1])
    before = path.stat()
    image = np.asarray(picture(1))
    Image.fromarray(image[::-1].copy()).save(path)  # the same length at the same time
    path.write_bytes(path.read_bytes().ljust(before.st_size, b"\0")[: before.st_size])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    stale = load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache")
    np.testing.assert_array_equal(stale.images[0], image.transpose(2, 0, 1))
    decoded.clear()
    fresh = load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache", rescan=True)
    np.testing.assert_array_equal(fresh.images[0], image[::-1].transpose(2, 0, 1))
    assert len(decoded) == 100
    decoded.clear()
    assert_equal(load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache"), fresh)
    assert decoded == []


def test_file_made_readable_is_read_again(tmp_path: Path, decoded: list[str]) -> None:
    data = make_folder(tmp_path / "data", ["a/1.png", "b/2.png"])
    load_pixels(read_samples(data), SIZE, workers=1, cache_dir=tmp_path / "cache")
    decoded.clear()
    (data / "a" / "1.png").chmod(0o600)
    load_pixels(read_samples(data), SIZE, workers=1, cache_dir=tmp_path / "cache")
    assert decoded == ["1.png"]
