"""What the machine is short of is no picture's fault: reading stops with a sentence, and no index keeps it."""

import errno
import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from image_files import picture
from PIL import Image

from scanmix_cli.data import decode, isolated
from scanmix_cli.data.decode import VALID, DecodeError, decode_bytes
from scanmix_cli.data.isolated import Isolation
from scanmix_cli.data.pixels import Pixels, load_pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples
from scanmix_cli.errors import RunError

SIZE = 8


@pytest.fixture
def samples(tmp_path: Path) -> Samples:
    """Two classes of pictures, the second one's decoded in a process of its own."""
    for k in range(80):
        path = tmp_path / "photos" / "ab"[k % 2] / f"{k}.{('png', 'webp')[k % 2]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture(k).resize((20, 20)).save(path)
    return read_samples(tmp_path / "photos")


def load(samples: Samples, cache: Path) -> Pixels:
    return load_pixels(samples, SIZE, workers=2, cache_dir=cache)


def refused(number: int, wanted: str) -> Callable[..., None]:
    """Stands for a call of the system that is refused."""

    def call(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), wanted)

    return call


def assert_all_good_next_time(samples: Samples, cache: Path) -> None:
    assert set(load(samples, cache).error_codes) == {VALID}


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EMFILE, "raise the limit of open files"),
        (errno.ENFILE, "close programs"),
        (errno.ENOMEM, "close other programs"),
        (errno.EAGAIN, "raise the limit of processes"),
    ],
)
def test_a_process_that_cannot_be_started_stops_reading(
    samples: Samples, tmp_path: Path, number: int, advice: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", refused(number, "python"))
        with pytest.raises(
            RunError, match=rf"^reading stopped at .*webp: no process .*{os.strerror(number)}; {advice}"
        ):
            load(samples, tmp_path / "cache")
    assert_all_good_next_time(samples, tmp_path / "cache")


@pytest.mark.parametrize("python", [None, "", "/nonexistent/python", "/bin/true"])
def test_python_that_is_not_found_is_named(samples: Samples, tmp_path: Path, python: str | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", python)
        with pytest.raises(RunError, match=rf"can be started: .*sys.executable, which is {python!r}, starts Python$"):
            load(samples, tmp_path / "cache")
    assert_all_good_next_time(samples, tmp_path / "cache")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_file_that_cannot_be_opened_for_now_is_not_missing(samples: Samples, tmp_path: Path, number: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "open", refused(number, "photo"), raising=False)
        with pytest.raises(RunError, match=rf"^reading stopped at .*\.png: {os.strerror(number)}; "):
            load(samples, tmp_path / "cache")
    assert_all_good_next_time(samples, tmp_path / "cache")


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.EMFILE, "Too many open files")])
def test_an_ordinary_picture_that_cannot_be_decoded_for_now_is_not_bad(
    samples: Samples, tmp_path: Path, error: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decode, "_upright", fail)
        with pytest.raises(RunError, match=r"^reading stopped at .*\.png: "):
            load(samples, tmp_path / "cache")
    assert_all_good_next_time(samples, tmp_path / "cache")


def test_a_limit_of_open_files_costs_no_picture(samples: Samples, tmp_path: Path) -> None:
    """As under `ulimit -n 14`; in a process of its own, which has few files open."""
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from scanmix_cli.data.pixels import load_pixels\n"
        "from scanmix_cli.data.sources import read_samples\n"
        "from scanmix_cli.errors import RunError\n"
        "samples = read_samples(Path(sys.argv[1]))\n"
        "most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "for limit in range(5, 20):\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))\n"
        "    try:\n"
        "        pixels = load_pixels(samples, 8, workers=2, cache_dir=Path(sys.argv[2], str(limit)))\n"
        "        print(set(pixels.error_codes))\n"
        "    except RunError as error:\n"
        "        print('Too many open files; raise the limit' in str(error))\n"
    )
    command = [sys.executable, "-c", program, samples.root, tmp_path / "cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert set(done.stdout.splitlines()) == {"True", "{'VALID'}"}, done.stdout + done.stderr


def test_a_process_that_never_gets_ready_stops_reading(
    samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "_PROGRAM", "import sys\nsys.stdin.buffer.read()")
    monkeypatch.setattr(isolated, "_START_SECONDS", 0.5)
    with pytest.raises(RunError, match=r"\.webp: no process to decode it gets ready in 0.5 seconds; run the command"):
        load(samples, tmp_path / "cache")


def test_a_decoder_that_is_killed_from_outside_costs_no_picture() -> None:
    data, isolation = _webp(300), Isolation()
    isolation.decode(_webp(20), SIZE, salvage=False)
    process = isolation._own.worker.process
    os.kill(process.pid, signal.SIGSTOP)
    killer = threading.Timer(0.5, os.kill, (process.pid, signal.SIGKILL))  # long after it was given the picture
    killer.start()
    found = isolation.decode(data, SIZE, salvage=False)
    isolation.close()
    np.testing.assert_array_equal(found.pixels, decode_bytes(data, SIZE).pixels)


def test_no_further_thread_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Timer) -> None:
        raise RuntimeError("can't start new thread")

    isolation = Isolation()
    monkeypatch.setattr(isolated.threading.Timer, "start", start)
    with pytest.raises(DecodeError, match=r"^can't start new thread; raise the limit of processes") as caught:
        isolation.decode(_webp(20), SIZE, salvage=False)
    isolation.close()
    assert caught.value.code == decode.SHORTAGE


def _webp(side: int) -> bytes:
    buffer = io.BytesIO()
    pixels = np.random.default_rng(side).integers(0, 255, (side, side, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(buffer, "WEBP", lossless=True)
    return buffer.getvalue()
