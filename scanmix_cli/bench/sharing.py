"""One results folder, several processes: whoever comes second waits instead of doing the same work again."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from scanmix_cli.errors import RunError

FOLDER = ".locks"


@contextmanager
def alone(out: Path, work: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Only one process at a time is inside, for this results folder and name of `work`; `tell` says where one waits.

    The system frees the lock of a process that ends, however it ends. Raises RunError where nothing can be locked.
    """
    path = out / FOLDER / f"{work}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise RunError(f"{path} cannot be made ({error.strerror}); name another folder with --out") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell(f"another process is at {work}: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise RunError(
                f"{path} cannot be locked ({error.strerror}); name a folder on a local disk with --out"
            ) from None
        yield
