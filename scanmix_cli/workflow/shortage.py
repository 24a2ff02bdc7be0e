"""A shortage of memory as a sentence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from scanmix_cli.engine.parts import is_out_of_memory
from scanmix_cli.errors import RunError
from scanmix_cli.workflow.outlook import device_name


@contextmanager
def memory_told(device: torch.device, rest: Callable[[], str]) -> Iterator[None]:
    """Turn running out of memory into a RunError; `rest` says where, when it happens, and how to go on."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunError(f"{device_name(device)} ran out of memory {rest()}") from None


def smaller(device: torch.device) -> str:
    """What a run needs less memory with."""
    return "use a smaller --batch-size or --image-size" + ("" if device.type == "cpu" else ", or --device cpu")
