"""A table of good and bad files, and what it means that two loaded sets of pixels are the same."""

from pathlib import Path

import numpy as np
from image_files import save_picture, write_table

from scanmix_cli.data.pixels import Pixels
from scanmix_cli.data.samples import Samples
from scanmix_cli.data.sources import read_samples

BAD = ("ERROR_ZERO_SIZE_FILE", "ERROR_CORRUPT_IMAGE", "ERROR_TRUNCATED_IMAGE", "ERROR_MISSING_FILE")
CODES = [BAD[k % 4] if k % 7 == 0 else "VALID" for k in range(100)]


def mixed_table(data: Path) -> Samples:
    """100 rows of which every seventh is bad in one way or another, see `CODES`."""
    for k, code in enumerate(CODES):
        path = save_picture(data / f"{k}.png", k)
        if code == "ERROR_MISSING_FILE":
            path.unlink()
        elif code != "VALID":
            content = {"ERROR_ZERO_SIZE_FILE": b"", "ERROR_CORRUPT_IMAGE": b"garbage"}
            path.write_bytes(content.get(code, path.read_bytes()[:90]))
    lines = [f"{k}.png,{'odd' if k % 2 else 'even'}\n" for k in range(100)]
    return read_samples(write_table(data / "t.csv", "file_name,label\n" + "".join(lines)))


def assert_equal(one: Pixels, other: Pixels) -> None:
    for name in ("images", "rows", "error_codes", "messages", "source_sizes", "prints"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.warnings, one.kinds) == (other.warnings, other.kinds)
