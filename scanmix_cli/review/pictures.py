"""Pictures by row number: found strictly inside the data set, decoded, and kept encoded in memory."""

import io
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from scanmix_cli.data.decode import MISSING_FILE, DecodeError, decode_whole

SIZES = {"small": 112, "card": 360, "view": 1600, "full": 4096}  # pixels of the long side; never enlarged
KEPT_BYTES = 256 * 2**20
LOSSLESS = 128  # pixels a side up to which PNG is as small as JPEG, and shows every pixel as it is
QUALITY = 88


class OutsideError(Exception):
    """The file of a row lies outside the folders that pictures may come from."""


@dataclass(frozen=True)
class Encoded:
    """A picture as it goes to the browser."""

    content: bytes
    media_type: str


class Pictures:
    """The pictures of a run; usable from several threads.

    paths: the file of every row. folders: where those files may lie once every link is followed.
    """

    def __init__(self, paths: Sequence[str], folders: Iterable[Path]) -> None:
        self._paths = ["" if "\0" in path else path for path in paths]
        self._folders = [os.path.join(os.path.realpath(folder), "") for folder in folders]
        self._kept: OrderedDict[tuple[int, str], Encoded] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def place(self, row: int) -> str | None:
        """The file of a row, free of links; None where it lies outside of the folders."""
        real = os.path.realpath(self._paths[row])
        return real if any(real.startswith(folder) for folder in self._folders) else None

    def outside(self, rows: Iterable[int]) -> list[str]:
        """The files among those of the rows that are not shown, since they lie outside."""
        return [self._paths[row] for row in rows if self._paths[row] and self.place(row) is None]

    def get(self, row: int, size: str) -> Encoded:
        """The picture of a row at one of `SIZES`; raises OutsideError and DecodeError."""
        if not self._paths[row]:
            raise DecodeError(MISSING_FILE, "the row names no file")
        place = self.place(row)
        if place is None:
            raise OutsideError(f"row {row} lies outside the data set: start the review with --pictures-from FOLDER")
        with self._lock:
            kept = self._kept.get((row, size))
            if kept is not None:
                self._kept.move_to_end((row, size))
                return kept
        made = encode(decode_whole(place, SIZES[size]))
        with self._lock:
            replaced = self._kept.pop((row, size), None)
            self._kept[(row, size)] = made
            self._bytes += len(made.content) - (len(replaced.content) if replaced else 0)
            while self._bytes > KEPT_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1].content)
        return made


def encode(picture: Image.Image) -> Encoded:
    """Small pictures pixel by pixel, others as JPEG."""
    content = io.BytesIO()
    if max(picture.size) <= LOSSLESS:
        picture.save(content, "PNG")
        return Encoded(content.getvalue(), "image/png")
    picture.save(content, "JPEG", quality=QUALITY)
    return Encoded(content.getvalue(), "image/jpeg")
