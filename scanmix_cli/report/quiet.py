"""Libraries that have something to say of their own."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(library: str) -> Iterator[None]:
    """Keep off standard error what the library logs meanwhile; a program that has set up `logging` still gets it."""
    logger, nowhere = logging.getLogger(library), logging.NullHandler()
    logger.addHandler(nowhere)
    try:
        yield
    finally:
        logger.removeHandler(nowhere)
