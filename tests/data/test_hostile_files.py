"""Files that would stop everything: each costs its own row, and what decodes them may do little else."""

import io
import os
import signal
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scanmix_cli.data import isolated
from scanmix_cli.data.decode import (
    CORRUPT_IMAGE,
    MISSING_FILE,
    TOO_LARGE,
    VALID,
    DecodeError,
    decode_bytes,
    read_content,
)
from scanmix_cli.data.isolated import Isolation
from scanmix_cli.data.pixels import load_pixels
from scanmix_cli.data.risk import is_calm
from scanmix_cli.data.sources import read_samples


def encoded(kind: str, side: int = 20, **options: object) -> bytes:
    pixels = np.random.default_rng(side).integers(0, 255, (side, side + 4, 3)).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def png(width: int, height: int) -> bytes:
    """A PNG that says it has so many black pixels, in a few bytes a line."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = zlib.compress(b"\0" * min(height * (width // 8 + 1), 1 << 20), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def endless_gif(frames: int = 20_000) -> bytes:
    """So many frames of one pixel and no end mark."""
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + struct.pack("<HHBBB", 1, 1, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff" + frame * frames


def tiff(directories: int, loop: bool) -> bytes:
    """A one-pixel TIFF whose directories point on and on, at the end back to the first one."""
    entries = [(256, 3, 1, 1), (257, 3, 1, 1), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8)]
    entries += [(277, 3, 1, 1), (278, 3, 1, 1), (279, 4, 1, 1)]
    size = 2 + 12 * (len(entries) + 1) + 4
    content = b"II*\0" + struct.pack("<I", 12) + b"\x80\0\0\0"
    for k in range(directories):
        here = 12 + k * size
        following = here + size if k + 1 < directories else 12 * loop
        content += struct.pack("<H", len(entries) + 1)
        content += b"".join(struct.pack("<HHII", *entry) for entry in entries)
        content += struct.pack("<HHII", 330, 4, 1, following or 12)  # a sub-directory in the same place
        content += struct.pack("<I", following)
    return content


@pytest.fixture
def isolation() -> Iterator[Isolation]:
    made = Isolation()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("data", "calm"),
    [
        (encoded("PNG"), True),
        (encoded("JPEG"), True),
        (encoded("JPEG", progressive=True), True),
        (encoded("BMP"), True),
        (b"", True),
        (encoded("GIF"), False),
        (encoded("TIFF"), False),
        (encoded("WEBP"), False),
        (b"?" * 50, False),
        (png(8000, 4000), True),
        (png(8000, 4001), False),
        (encoded("JPEG") + b"\xff\xda" * 64, False),
        (encoded("JPEG").replace(struct.pack(">HH", 20, 24), b"\xff\xff\xff\xff"), False),
        (encoded("BMP")[:18] + struct.pack("<ii", 60_000, -60_000) + encoded("BMP")[26:], False),
    ],
)
def test_what_is_decoded_in_the_process_itself(data: bytes, calm: bool) -> None:
    assert is_calm(data) is calm


@pytest.mark.parametrize("kind", ["TIFF", "WEBP", "GIF", "PNG"])
def test_a_picture_is_the_same_wherever_it_is_decoded(isolation: Isolation, kind: str) -> None:
    data = encoded(kind)
    here, there = decode_bytes(data, 8), isolation.decode(data, 8, salvage=False)
    np.testing.assert_array_equal(here.pixels, there.pixels)
    assert here[1:] == there[1:]


def test_warnings_and_errors_come_back(isolation: Isolation) -> None:
    with pytest.warns(UserWarning, match="animated image, only the first frame is used"):
        isolation.decode(endless_gif(3) + b";", 4, salvage=False)
    with pytest.raises(DecodeError, match="the content is a ZIP archive") as caught:
        isolation.decode(b"PK\x03\x04" + b"\0" * 50, 4, salvage=False)
    assert caught.value.code == "ERROR_UNSUPPORTED"


def stop_it(isolation: Isolation) -> int:
    """Start the worker and put it to sleep, as an endless loop in a decoder would; its number."""
    isolation.decode(encoded("TIFF"), 8, salvage=False)
    process = isolation._own.worker.process
    os.kill(process.pid, signal.SIGSTOP)
    return process.pid


def test_a_decoder_that_gets_stuck_costs_its_picture_alone() -> None:
    isolation = Isolation(seconds=20.0)
    stop_it(isolation)
    isolation._own.worker.seconds = 0.2
    with pytest.raises(DecodeError, match=r"^decoding takes longer than 0.2 seconds$") as caught:
        isolation.decode(encoded("WEBP"), 8, salvage=False)
    assert caught.value.code == TOO_LARGE
    isolation._own.worker.seconds = 20.0
    assert isolation.decode(encoded("WEBP"), 8, salvage=False).pixels.shape == (3, 8, 8)
    isolation.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_decoder_that_dies_costs_its_picture_alone(
    isolation: Isolation, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Whatever ends it: each fresh process dies over that picture."""
    changed = f"""
from scanmix_cli.data import decode, decode_worker
import os
real = decode.decode_bytes
decode.decode_bytes = lambda data, *rest, **named: (
    os.kill(os.getpid(), {number}) if data.startswith(b"II*") else real(data, *rest, **named)
)
serve("""
    monkeypatch.setattr(isolated, "_PROGRAM", isolated._PROGRAM.replace("serve(", changed.lstrip()))
    with pytest.raises(DecodeError, match=r"^the decoder breaks down over it$") as caught:
        isolation.decode(encoded("TIFF"), 8, salvage=False)
    assert caught.value.code == CORRUPT_IMAGE
    assert isolation.decode(encoded("WEBP"), 8, salvage=False).pixels.shape == (3, 8, 8)


def test_workers_end_with_the_work(isolation: Isolation) -> None:
    isolation.decode(encoded("TIFF"), 8, salvage=False)
    process = isolation._own.worker.process
    isolation.close()
    assert process.poll() is not None


def test_a_stuck_worker_does_not_outlive_its_parent(isolation: Isolation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own alarm ends it; here after a second, and the parent takes that for a decoder that broke down."""
    program = isolated._PROGRAM.replace("serve(", "from scanmix_cli.data import decode, decode_worker as w\nserve(")
    program = program.replace(
        "\nserve(", "\nw.ORPHANED = 1; decode.decode_bytes = lambda *_, **__: [0 for _ in iter(int, 1)]\nserve("
    )
    monkeypatch.setattr(isolated, "_PROGRAM", program)
    with pytest.raises(DecodeError, match=r"^the decoder breaks down over it$"):
        isolation.decode(encoded("TIFF"), 8, salvage=False)


def test_modules_beside_the_pictures_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("json", "numpy", "PIL", "struct", "resource"):
        (tmp_path / f"{name}.py").write_text("from pathlib import Path; Path('sprung').touch()")
    isolation = Isolation()
    assert isolation.decode(encoded("TIFF"), 8, salvage=False).size == (24, 20)
    isolation.close()
    assert not (tmp_path / "sprung").exists()


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    for path in (tmp_path / "pipe.png", "/dev/zero"):
        with pytest.raises(DecodeError, match=r"^cannot be opened: no regular file$") as caught:
            read_content(path)
        assert caught.value.code == MISSING_FILE


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "hole.png").open("wb") as file:
        file.truncate((1 << 30) + 1)
    with pytest.raises(DecodeError, match=r"^1073741825 bytes; at most 1073741824 are read$") as caught:
        read_content(tmp_path / "hole.png")
    assert caught.value.code == TOO_LARGE


def test_hostile_pictures_cost_their_rows(tmp_path: Path) -> None:
    hostile = {
        "bomb.png": (png(100_000, 100_000), TOO_LARGE),
        "large.png": (png(13_000, 13_000), "ERROR_TRUNCATED_IMAGE"),
        "wide.png": (png(2_000_000_000, 1), TOO_LARGE),
        "endless.gif": (endless_gif(), VALID),
        "nested.tif": (tiff(3_000, loop=False), VALID),
        "loop.tif": (tiff(40, loop=True), VALID),
        "icon.ico": (b"\0\0\1\0" + b"\xff\xff" + b"\xff" * 4_000, CORRUPT_IMAGE),
    }
    for k in range(4):
        (tmp_path / "ab"[k % 2]).mkdir(exist_ok=True)
        (tmp_path / "ab"[k % 2] / f"{k}.png").write_bytes(encoded("PNG", side=20 + k))
    for name, (data, _) in hostile.items():
        (tmp_path / "a" / name).write_bytes(data)
    pixels = load_pixels(samples := read_samples(tmp_path), 16, workers=2, cache_dir=None)
    found = dict(zip(samples.table["filename"], pixels.error_codes, strict=True))
    assert {name: found.pop(f"a/{name}") for name in hostile} == {name: code for name, (_, code) in hostile.items()}
    assert list(found.values()) == [VALID] * 4
