"""Whether Pillow takes files that are cut short: a switch of the whole process, made safe for many decoding threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import ImageFile


class Leniency:
    """Any number of strict decoders at once, or one lenient one alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._strict = 0

    @contextmanager
    def off(self) -> Iterator[None]:
        """Decode strictly; waits while someone decodes leniently."""
        with self._changed:
            self._strict += 1
        try:
            yield
        finally:
            with self._changed:
                self._strict -= 1
                self._changed.notify_all()

    @contextmanager
    def on(self) -> Iterator[None]:
        """Decode leniently; waits for all strict decoders, and new ones wait for it."""
        with self._changed:
            self._changed.wait_for(lambda: not self._strict)
            before = ImageFile.LOAD_TRUNCATED_IMAGES
            ImageFile.LOAD_TRUNCATED_IMAGES = True
            try:
                yield
            finally:
                ImageFile.LOAD_TRUNCATED_IMAGES = before


LENIENCY = Leniency()
