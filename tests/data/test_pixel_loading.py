"""Decoding a whole table: rows keep their places, one bad file costs one row, the cache gives the same again."""

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from image_files import make_folder, picture, save_picture, smooth_picture, write_table
from mixed_table import CODES, assert_equal, mixed_table
from PIL import ImageFile

from scanmix_cli.data import cache as cache_module
from scanmix_cli.data import decode_many, isolated
from scanmix_cli.data.cache import CacheWriter, default_cache_dir
from scanmix_cli.data.decode import decode_file
from scanmix_cli.data.pixels import Pixels, load_pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import RunError

SIZE = 8


@pytest.fixture
def mixed(tmp_path: Path) -> Samples:
    return mixed_table(tmp_path / "data")


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("cached", [False, True])
def test_every_row_belongs_to_its_own_file(mixed: Samples, tmp_path: Path, workers: int, cached: bool) -> None:
    pixels = load_pixels(mixed, SIZE, workers=workers, cache_dir=tmp_path / "cache" if cached else None)
    good = [k for k in range(100) if k % 7]
    assert pixels.rows.tolist() == good
    assert pixels.rows.dtype == np.int64
    assert pixels.images.shape == (len(good), 3, SIZE, SIZE)
    for image, k in zip(pixels.images, good, strict=True):
        np.testing.assert_array_equal(image, np.asarray(picture(k)).transpose(2, 0, 1))
    assert pixels.error_codes.tolist() == CODES
    assert [bool(message) for message in pixels.messages] == [k % 7 == 0 for k in range(100)]
    assert pixels.source_sizes.tolist() == [[8, 8] if k % 7 else [0, 0] for k in range(100)]


def test_processes_that_die_leave_the_files_to_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = read_samples(make_folder(tmp_path / "data", [f"{label}/{k}.png" for label in "ab" for k in range(40)]))
    expected = load_pixels(samples, SIZE, workers=2, cache_dir=None)
    monkeypatch.setattr(decode_many, "MANY", 1)
    monkeypatch.setattr(isolated, "_PROGRAM", "import sys\nprint('ready', flush=True)\nsys.stdin.buffer.read(17)")
    assert_equal(expected, load_pixels(samples, SIZE, workers=2, cache_dir=None))


def test_second_call_maps_the_same_pixels_without_decoding(
    mixed: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load_pixels(mixed, SIZE, workers=2, cache_dir=tmp_path / "cache")
    monkeypatch.setattr("scanmix_cli.data.decode_many.read_content", None)
    second = load_pixels(mixed, SIZE, workers=2, cache_dir=tmp_path / "cache")
    assert isinstance(second.images, np.memmap)
    assert_equal(first, second)


def test_result_without_a_cache_is_the_same(mixed: Samples, tmp_path: Path) -> None:
    assert_equal(
        load_pixels(mixed, SIZE, workers=2, cache_dir=None),
        load_pixels(mixed, SIZE, workers=2, cache_dir=tmp_path / "cache"),
    )


@pytest.mark.parametrize("change", ["content", "length", "time", "size", "missing", "order", "version"])
def test_cache_notices_changes(tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_folder(tmp_path / "data", ["a/1.png", "b/2.png"])
    table = write_table(tmp_path / "t.csv", "file_name,label\ndata/a/1.png,a\ndata/b/2.png,b\n")
    size = SIZE
    load_pixels(read_samples(table), size, workers=1, cache_dir=tmp_path / "cache")
    if change == "content":
        save_picture(data / "a" / "1.png", 77)
    elif change == "length":
        path = data / "a" / "1.png"
        before = path.stat()
        path.write_bytes(path.read_bytes() + b"more")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    elif change == "time":
        os.utime(data / "a" / "1.png", (1, 1))
    elif change == "size":
        size = 2 * SIZE
    elif change == "missing":
        (data / "a" / "1.png").unlink()
    elif change == "order":
        write_table(table, "file_name,label\ndata/b/2.png,b\ndata/a/1.png,a\n")
    else:
        monkeypatch.setattr(cache_module, "VERSION", cache_module.VERSION + 1)
    samples = read_samples(table)
    pixels = load_pixels(samples, size, workers=1, cache_dir=tmp_path / "cache")
    assert_equal(pixels, load_pixels(samples, size, workers=1, cache_dir=None))


@pytest.mark.parametrize("workers", [1, 3])
def test_files_cut_short_are_skipped_or_used_as_asked(tmp_path: Path, workers: int) -> None:
    lines = ["file_name,label\n"]
    for k in range(60):
        path = tmp_path / f"{k}.jpg"
        smooth_picture(64, 64).save(path, quality=90)
        if k % 3 == 0:
            path.write_bytes(path.read_bytes()[:-300])
        if k % 30 == 0:
            content = path.read_bytes()  # nothing of the picture is left but its headers
            path.write_bytes(content[: content.index(b"\xff\xda") + 14])
        if k % 30 == 1:
            path.write_bytes(b"garbage")
        lines.append(f"{k}.jpg,{'ab'[k % 2]}\n")
    samples = read_samples(write_table(tmp_path / "t.csv", "".join(lines)))
    whole = [k for k in range(60) if k % 3 and k % 30 != 1]
    cache = tmp_path / "cache"
    skipped = load_pixels(samples, SIZE, workers=workers, cache_dir=cache)
    assert skipped.rows.tolist() == whole
    assert set(skipped.error_codes[::3]) == {"ERROR_TRUNCATED_IMAGE"}
    used = load_pixels(samples, SIZE, workers=workers, cache_dir=cache, truncated="use")
    assert used.rows.tolist() == [k for k in range(60) if k % 30 > 1]
    assert used.error_codes[[0, 1, 30, 31]].tolist() == ["ERROR_TRUNCATED_IMAGE", "ERROR_CORRUPT_IMAGE"] * 2
    assert "file cut short, what is there of the picture is used (18 times)" in used.warnings
    top = slice(0, 1)
    for k in range(3, 30, 3):  # what is there looks as in the whole picture
        salvaged = used.images[used.rows.tolist().index(k)][:, top].astype(int)
        assert np.abs(salvaged - used.images[used.rows.tolist().index(2)][:, top]).max() <= 8
    assert_equal(load_pixels(samples, SIZE, workers=workers, cache_dir=cache), skipped)
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


@pytest.mark.parametrize("name", ["images.npy", "records.npz", "notes.json"])
def test_damaged_cache_is_made_anew(mixed: Samples, tmp_path: Path, name: str) -> None:
    first = load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache")
    (entry,) = (tmp_path / "cache").iterdir()
    (entry / name).write_bytes((entry / name).read_bytes()[:20])
    again = load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache")
    assert_equal(again, load_pixels(mixed, SIZE, workers=1, cache_dir=None))
    assert first.rows.tolist() == again.rows.tolist()


@pytest.mark.parametrize("seconds", [60.0, -1.0], ids=["begun", "saved after every task"])
def test_cache_may_be_filled_by_two_at_once(
    mixed: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(cache_module, "_SAVE_SECONDS", seconds)
    inner: list[Pixels] = []

    def meanwhile(done: int, total: int) -> None:
        if not inner:
            inner.append(load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache"))

    outer = load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache", on_progress=meanwhile)
    assert_equal(outer, inner[0])
    assert_equal(outer, load_pixels(mixed, SIZE, workers=1, cache_dir=None))
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_left_overs_of_a_killed_process_are_removed_after_a_day(mixed: Samples, tmp_path: Path) -> None:
    for name, age in (("old", 0), ("new", None)):
        folder = tmp_path / "cache" / f".{name}"
        folder.mkdir(parents=True)
        (folder / "images.npy").touch()
        if age is not None:
            os.utime(folder / "images.npy", (age, age))
    load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache" / ".old").exists()
    assert (tmp_path / "cache" / ".new").exists()


def test_a_clock_that_jumps_takes_nothing_from_a_process_at_work(
    mixed: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second process comes in the middle of the first one's work, and the clock says that a month has passed."""
    seen = []

    def on_progress(done: int, _: int) -> None:
        if not seen:
            now = time.time()
            with monkeypatch.context() as patch:
                patch.setattr(time, "time", lambda: now + 30 * 24 * 3600)
                seen.append(load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache", truncated="use"))

    first = load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache", on_progress=on_progress)
    assert len(seen) == 1
    assert isinstance(first.images, np.memmap)
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_cache_that_cannot_be_made_is_done_without(mixed: Samples, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    pixels = load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache")
    assert_equal(pixels, load_pixels(mixed, SIZE, workers=1, cache_dir=None))


def test_full_disk_is_an_error_that_says_what_to_do(
    mixed: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: CacheWriter, image: np.ndarray) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CacheWriter, "append", refuse)
    with pytest.raises(RunError) as caught:
        load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache")
    assert str(caught.value) == (
        f"the pixel cache in {tmp_path / 'cache'} cannot be written (No space left on device); "
        "make room or set XDG_CACHE_HOME to a folder on another disk"
    )
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_entry_is_on_the_disk_before_it_is_in_place(
    mixed: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut could leave its name and pixels that were never written."""
    flushed, moved = [], []
    fsync, rename = os.fsync, Path.rename

    def remember(descriptor: int) -> None:
        flushed.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def check(self: Path, target: Path) -> Path:
        moved.append({path.stat().st_ino for path in self.iterdir()} <= set(flushed))
        return rename(self, target)

    monkeypatch.setattr(os, "fsync", remember)
    monkeypatch.setattr(Path, "rename", check)
    load_pixels(mixed, SIZE, workers=1, cache_dir=tmp_path / "cache")
    assert moved == [True]


def test_nothing_readable(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", "file_name,label\na.png,x\nb.png,y\n")
    pixels = load_pixels(read_samples(table), SIZE, workers=1, cache_dir=tmp_path / "cache")
    assert pixels.images.shape == (0, 3, SIZE, SIZE)
    assert pixels.rows.tolist() == []
    assert pixels.error_codes.tolist() == ["ERROR_MISSING_FILE"] * 2


def test_progress_ends_at_the_number_of_rows(mixed: Samples) -> None:
    calls: list[tuple[int, int]] = []
    load_pixels(mixed, SIZE, workers=2, cache_dir=None, on_progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert calls[-1] == (100, 100)


def test_warnings_of_the_libraries_are_counted_and_not_shown(tmp_path: Path) -> None:
    for k in range(3):
        (tmp_path / "ab"[k % 2]).mkdir(exist_ok=True)
        frames = {"save_all": True, "append_images": [picture(9)]}
        picture(k).quantize(16).save(tmp_path / "ab"[k % 2] / f"{k}.gif", **frames)
    for k in range(2):
        smooth_picture().save(tmp_path / "b" / f"{k}.jpg", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pixels = load_pixels(read_samples(tmp_path), SIZE, workers=2, cache_dir=tmp_path / ".cache")
        again = load_pixels(read_samples(tmp_path), SIZE, workers=2, cache_dir=tmp_path / ".cache")
    assert "animated image, only the first frame is used (3 times)" in pixels.warnings
    assert any(text.startswith("Corrupt EXIF data") and text.endswith("(2 times)") for text in pixels.warnings)
    assert again.warnings == pixels.warnings


def test_decoding_prints_nothing(tmp_path: Path) -> None:
    """Not even what C libraries write past Python."""
    make_folder(tmp_path, ["a/1.png", "b/1.png"])
    for name, file_format in (("a/2.jpg", "JPEG"), ("a/3.tif", "TIFF"), ("b/2.png", "PNG"), ("b/3.webp", "WEBP")):
        picture(5, 40, 40).save(tmp_path / name, file_format)
        data = bytearray((tmp_path / name).read_bytes())
        data[len(data) // 2 : len(data) // 2 + 60] = b"\xff" * 60
        (tmp_path / name).write_bytes(data[:-20])
    program = (
        "import sys; from pathlib import Path\n"
        "from scanmix_cli.data.sources import read_samples; from scanmix_cli.data.pixels import load_pixels\n"
        "load_pixels(read_samples(Path(sys.argv[1])), 8, workers=1, cache_dir=None)"
    )
    result = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert (result.stdout, result.stderr) == ("", "")


def test_single_image_and_table_agree(mixed: Samples) -> None:
    pixels = load_pixels(mixed, 5, workers=1, cache_dir=None)
    row = int(pixels.rows[3])
    np.testing.assert_array_equal(pixels.images[3], decode_file(mixed.table["path"][row], 5)[0])


def test_default_cache_dir_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / "scanmix"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / ".cache" / "scanmix"
