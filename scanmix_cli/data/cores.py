"""How many processor cores there are to use."""

import os


def usable_cores() -> int:
    """The cores that this process may run on: under `taskset` or a scheduler fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
