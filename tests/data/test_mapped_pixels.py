"""Pixels mapped from a cache file leave the memory of the process, and come back when they are read."""

import re
from pathlib import Path

import numpy as np
import pytest

from scanmix_cli.data.pixels import let_go

STATUS = Path("/proc/self/status")
MIB = 2**20


def mapped_mib() -> float:
    """Resident pages of files, of this process."""
    found = re.search(r"RssFile:\s+(\d+) kB", STATUS.read_text())
    assert found
    return int(found[1]) / 1024


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux says which pages are resident")
def test_pages_of_a_mapped_file_are_let_go_of_and_read_again(tmp_path: Path) -> None:
    written = np.tile(np.arange(256, dtype=np.uint8), 40 * MIB // 256).reshape(40, 4, 512, 512)
    np.save(tmp_path / "images.npy", written)
    before = mapped_mib()
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    part = mapped[5:]
    assert int(part.sum()) == int(written[5:].sum())
    assert mapped_mib() - before > 30
    let_go(part)
    assert mapped_mib() - before < 5
    assert (part == written[5:]).all()


def test_pixels_that_lie_in_no_file_are_left_alone(tmp_path: Path) -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(1, 3, 2, 2)
    np.save(tmp_path / "images.npy", pixels)
    own = np.load(tmp_path / "images.npy", mmap_mode="c")
    own[0, 0, 0, 0] = 7
    for images, first in ((pixels, 0), (own, 7)):
        let_go(images)
        assert images.ravel().tolist() == [first, *range(1, 12)]
