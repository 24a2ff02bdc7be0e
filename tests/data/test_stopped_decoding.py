"""Decoding that was stopped goes on where it was, and comes out as if it had not been."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from image_files import save_picture
from mixed_table import assert_equal, mixed_table

from scanmix_cli.data.decode import read_content
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.samples import Samples

SIZE, CHUNK = 8, 32  # rows of a task
STOP_AT = 2 * CHUNK


@pytest.fixture
def mixed(tmp_path: Path) -> Samples:
    return mixed_table(tmp_path / "data")


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the files that are really decoded."""
    paths: list[str] = []

    def spy(path: str) -> bytes:
        paths.append(path)
        return read_content(path)

    monkeypatch.setattr("scanmix_cli.data.decode_many.read_content", spy)
    return paths


def stop(samples: Samples, folder: Path, at: int = STOP_AT) -> None:
    """A call that ends after so many rows."""

    def on_progress(done: int, total: int) -> None:
        if done == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_pixels(samples, SIZE, workers=2, cache_dir=folder, on_progress=on_progress)


def test_an_interrupted_call_is_gone_on_with(mixed: Samples, tmp_path: Path, decoded: list[str]) -> None:
    stop(mixed, tmp_path / "cache")
    decoded.clear()
    progress: list[int] = []
    pixels = load_pixels(
        mixed, SIZE, workers=2, cache_dir=tmp_path / "cache", on_progress=lambda done, _: progress.append(done)
    )
    assert sorted(decoded) == sorted(mixed.table["path"][STOP_AT:])
    assert progress == [96, 100]
    assert_equal(pixels, load_pixels(mixed, SIZE, workers=2, cache_dir=None))
    assert len(list((tmp_path / "cache").iterdir())) == 1, "the stopped call's folder has become the entry"


def test_it_may_be_interrupted_again(mixed: Samples, tmp_path: Path, decoded: list[str]) -> None:
    stop(mixed, tmp_path / "cache", CHUNK)
    save_picture(tmp_path / "data" / "99.png", 500)  # files that were not read yet may change meanwhile
    stop(mixed, tmp_path / "cache", 3 * CHUNK)
    decoded.clear()
    pixels = load_pixels(mixed, SIZE, workers=2, cache_dir=tmp_path / "cache")
    assert sorted(decoded) == sorted(mixed.table["path"][3 * CHUNK :])
    assert_equal(pixels, load_pixels(mixed, SIZE, workers=2, cache_dir=None))


def test_a_killed_call_is_gone_on_with(mixed: Samples, tmp_path: Path, decoded: list[str]) -> None:
    program = f"""
import os, signal, sys
from pathlib import Path
from scanmix_cli.data import cache
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.sources import read_samples
cache._SAVE_SECONDS = -1.0
def killed(done, total):
    if done == {STOP_AT}:
        os.kill(os.getpid(), signal.SIGKILL)
load_pixels(read_samples(Path(sys.argv[1])), {SIZE}, workers=2, cache_dir=Path(sys.argv[2]), on_progress=killed)
"""
    arguments = [sys.executable, "-c", program, str(tmp_path / "data" / "t.csv"), str(tmp_path / "cache")]
    assert subprocess.run(arguments, env=dict(os.environ)).returncode == -signal.SIGKILL
    pixels = load_pixels(mixed, SIZE, workers=2, cache_dir=tmp_path / "cache")
    assert sorted(decoded) == sorted(mixed.table["path"][STOP_AT:])
    assert_equal(pixels, load_pixels(mixed, SIZE, workers=2, cache_dir=None))


def tear(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:20])


def forget_a_row(folder: Path) -> None:
    """As if the power had gone after the records were written and before the count of pixels was."""
    with np.load(folder / "records.npz") as arrays:
        np.savez(folder / "records.npz", **{name: array[:-1] for name, array in arrays.items()})


@pytest.mark.parametrize(
    "damage",
    [tear("records.npz"), tear("notes.json"), tear("images.npy"), forget_a_row],
    ids=lambda each: each.__name__,
)
def test_a_damaged_folder_is_not_gone_on_with(
    mixed: Samples, tmp_path: Path, decoded: list[str], damage: Callable[[Path], None]
) -> None:
    stop(mixed, tmp_path / "cache")
    (folder,) = (tmp_path / "cache").iterdir()
    damage(folder)
    decoded.clear()
    pixels = load_pixels(mixed, SIZE, workers=2, cache_dir=tmp_path / "cache")
    assert len(decoded) == len(mixed)
    assert_equal(pixels, load_pixels(mixed, SIZE, workers=2, cache_dir=None))


@pytest.mark.parametrize("change", ["a file", "the order", "the size", "rescan"])
def test_other_files_or_wishes_start_anew(mixed: Samples, tmp_path: Path, decoded: list[str], change: str) -> None:
    stop(mixed, tmp_path / "cache")
    size = SIZE
    if change == "a file":
        save_picture(tmp_path / "data" / "3.png", 500).chmod(0o600)
    elif change == "the order":
        mixed.table["path"] = mixed.table["path"].to_numpy()[::-1]
    elif change == "the size":
        size = 2 * SIZE
    decoded.clear()
    pixels = load_pixels(mixed, size, workers=2, cache_dir=tmp_path / "cache", rescan=change == "rescan")
    assert len(decoded) == len(mixed)
    assert_equal(pixels, load_pixels(mixed, size, workers=2, cache_dir=None))
