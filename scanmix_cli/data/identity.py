"""Which files a table of rows names and what state they are in, as numbers that are quickly compared."""

import hashlib
import os

import numpy as np

MISSING = b"missing"


def file_states(paths: list[str]) -> np.ndarray:
    """uint64 (rows, 2): a hash of each absolute path, and one of the file's length, time and permissions."""
    here = os.getcwd()
    found = bytearray()
    for path in paths:
        try:
            status = os.stat(path)
            # permissions, since a file that could not be opened may be readable the next time
            state = b"%d %d %d" % (status.st_size, status.st_mtime_ns, status.st_mode)
        except (OSError, ValueError):
            state = MISSING
        name = os.path.join(here, path).encode("utf-8", "surrogateescape")
        found += hashlib.blake2b(name, digest_size=8).digest() + hashlib.blake2b(state, digest_size=8).digest()
    return np.frombuffer(bytes(found), "<u8").reshape(-1, 2)


def rows_in(states: np.ndarray, earlier: np.ndarray) -> np.ndarray:
    """int64 (rows,): where `earlier` holds the same file in the same state, -1 where it does not."""
    if not len(earlier):
        return np.full(len(states), -1)
    keys, known = _keys(states), _keys(earlier)
    order = np.argsort(known, kind="stable")
    at = order[np.searchsorted(known, keys, sorter=order).clip(max=len(known) - 1)]
    return np.where(known[at] == keys, at, -1)


def is_outdated(states: np.ndarray, earlier: np.ndarray) -> bool:
    """Whether a file that both name has changed since `earlier`, so that `earlier` can never fit again."""
    _, here, there = np.intersect1d(states[:, 0], earlier[:, 0], return_indices=True)
    return bool((states[here, 1] != earlier[there, 1]).any())


def _keys(states: np.ndarray) -> np.ndarray:
    return states[:, 0] ^ (states[:, 1] * np.uint64(0x9E3779B97F4A7C15))
