"""Decoded pixels on disk: one folder per data set and size, put in place by one rename."""

import hashlib
import json
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

_ABANDONED_SECONDS = 24 * 3600
VERSION = 1  # raise it whenever decoding gives other pixels


def default_cache_dir() -> Path:
    """`$XDG_CACHE_HOME/scanmix`, or `~/.cache/scanmix`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "scanmix"


def cache_key(paths: list[str], size: int) -> str:
    """sha256 over version, image size and the absolute path, length and time of every file in row order."""
    digest = hashlib.sha256(f"{VERSION} {size}\n".encode())
    for path in paths:
        try:
            status = os.stat(path)
            state = f"{status.st_size} {status.st_mtime_ns}"
        except (OSError, ValueError):
            state = "missing"
        digest.update(f"{os.path.abspath(path)}\0{state}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


class CacheWriter:
    """Writes one entry image by image; `finish` puts it under its key, whole; without it nothing stays."""

    def __init__(self, cache_dir: Path, key: str, size: int) -> None:
        self._final = cache_dir / key
        self._size = size
        cache_dir.mkdir(parents=True, exist_ok=True)
        _sweep(cache_dir)
        self._folder = Path(tempfile.mkdtemp(prefix=f".{key[:16]}-", dir=cache_dir))
        self._images = open(self._folder / "images.npy", "wb")  # noqa: SIM115 - closed in __exit__
        self._count = 0
        self._write_header()

    def _write_header(self) -> None:
        """The header is as long for any number of images, so it is written again when the number is known."""
        self._images.seek(0)
        shape = (self._count, 3, self._size, self._size)
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._images, header)

    def append(self, image: np.ndarray) -> None:
        """The next image in row order, uint8 (3, size, size)."""
        self._images.write(image.tobytes())
        self._count += 1

    def finish(self, source_sizes: np.ndarray, notes: dict[str, Any]) -> None:
        """Write what belongs to the images and move the entry into place."""
        self._write_header()
        self._images.close()
        np.save(self._folder / "source_sizes.npy", source_sizes)
        (self._folder / "notes.json").write_text(json.dumps(notes), encoding="utf-8")
        try:
            self._folder.rename(self._final)
        except OSError:
            if load_entry(self._final.parent, self._final.name) is not None:
                return  # another process was faster, with the same content
            shutil.rmtree(self._final, ignore_errors=True)  # a damaged entry
            self._folder.rename(self._final)

    def __enter__(self) -> "CacheWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # on a full disk closing fails as writing did
            self._images.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _sweep(cache_dir: Path) -> None:
    """Remove what killed processes left behind."""
    for images in cache_dir.glob(".*/images.npy"):
        with suppress(FileNotFoundError):  # its process has just moved it into place
            if time.time() - images.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(images.parent, ignore_errors=True)


def load_entry(cache_dir: Path, key: str) -> tuple[np.ndarray, np.ndarray, dict[str, Any]] | None:
    """Memory-mapped images, source sizes and notes of an entry, None where there is none or it cannot be read."""
    folder = cache_dir / key
    try:
        notes = json.loads((folder / "notes.json").read_text(encoding="utf-8"))
        images = np.load(folder / "images.npy", mmap_mode="r")
        return images, np.load(folder / "source_sizes.npy"), notes
    except (OSError, ValueError):
        return None
