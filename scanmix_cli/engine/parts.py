"""What happens where a device's memory is too small: the same work in smaller parts."""

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from scanmix_cli.engine.capture import CapturedStep, Step
from scanmix_cli.engine.descent import WHOLE, Part
from scanmix_cli.engine.parallel import is_shared
from scanmix_cli.errors import RunError

if TYPE_CHECKING:
    from scanmix_cli.engine.context import Context

T = TypeVar("T")
LEAST = 2  # images a part: batch norm needs two
_SIGNS = ("can't allocate memory", "out of memory", "STATUS_ALLOC_FAILED")  # errors that have no class of their own


def is_out_of_memory(error: BaseException) -> bool:
    """Whether PyTorch says so, in any of its ways, or Python does."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)
    )


def free_memory() -> None:
    """Give back what nobody uses; call it when the error that told of the shortage is gone with all that it holds."""
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()


def halving(compute: Callable[[int], T], size: int, parts: dict[str, int], name: str) -> T:
    """`compute(size)`, anew with half the size where memory runs out, down to 1; for work whose result is the same
    whatever the size. What fits is remembered in `parts`, the divisor of `size`, under `name`."""
    while True:
        fitting = max(size // parts.get(name, 1), 1)
        try:
            return compute(fitting)
        except RuntimeError as error:
            if fitting == 1 or not is_out_of_memory(error):
                raise
        free_memory()
        parts[name] = 2 * parts.get(name, 1)


class PartedStep:
    """A training step that is recorded where that is possible and made in ever smaller parts where memory is short.

    Its inputs are row numbers (B,) and pixels (B, ...), all of the same length, and scalars. On running out of memory
    the batch is cut in two, then in four and so on down to two images, for the rest of the run:

    - gradients of the parts are added up, weighted by their size, and the optimiser steps once. Exact for losses that
      are a mean over images (cross-entropy, MixMatch's, MoCo's); nearly so for terms that look at the batch as a whole
      (SCAN's entropy, DivideMix's prior), which then look at a part. Batch norm normalises each part by itself.
    - `summable=False`: NT-Xent compares every image with all others of the batch, and gradients of parts do not add up
      to that. Each part is then a batch of its own, with a step of its own and a rate that is smaller by its share.

    The attempt that failed may leave its mark on running averages of batch norm and on the random numbers drawn since:
    such a run is right, but not bit for bit what it is with more memory. Parts are not recorded: small ones are slow.
    Processes that share the run make no parts: memory may be short in one of them only, and more processes need less.
    """

    def __init__(self, step: Step, context: "Context", summable: bool = True) -> None:
        self.step, self.context, self.summable = step, context, summable
        self.captured = CapturedStep(step, context.generator, context.add_preparation)
        self.name = getattr(step, "__qualname__", "step")  # both learners' steps share it: one finding serves for both

    def forget(self) -> None:
        """What was recorded is no longer true: optimisers have other state."""
        self.captured = CapturedStep(self.step, self.context.generator, self.context.add_preparation)

    def __call__(self, *inputs: Tensor) -> Tensor:
        while True:
            parts = self.context.relief.parts.get(self.name, 1)
            try:
                return self.captured(*inputs) if parts == 1 or is_shared() else self._in_parts(inputs, parts)
            except RuntimeError as error:
                if is_shared() or not is_out_of_memory(error):
                    raise
            self._halve(len(inputs[0]), parts)

    def _halve(self, batch: int, before: int) -> None:
        context, parts = self.context, min(2 * before, batch // LEAST)
        if parts <= before:
            least = -(-batch // before)
            raise RunError(
                f"{context.device} ran out of memory in {context.place}, with {least} images at a time too; use a "
                "smaller --image-size, or a device with more memory"
            )
        self.forget()
        free_memory()
        context.relief.parts[self.name] = parts
        how = "gradients are added up" if self.summable else "each is a batch of its own, with a lower rate"
        context.reporter.message(
            f"warning: {context.device} ran out of memory in {context.place}: batches of {batch} are worked on in "
            f"{parts} parts from here on ({how})"
        )

    def _in_parts(self, inputs: tuple[Tensor, ...], parts: int) -> Tensor:
        descend, batch = self.context.descend, len(inputs[0])
        parts = max(min(parts, batch // LEAST), 1)
        pieces = [each.tensor_split(parts) if each.dim() else [each] * parts for each in inputs]
        total: Tensor | None = None
        try:
            for k, part in enumerate(zip(*pieces, strict=True)):
                share = len(part[0]) / batch
                descend.part = Part(share, k == 0, k == parts - 1, self.summable)
                output = share * self.step(*part)
                total = output if total is None else total + output
        finally:
            descend.part = WHOLE
        assert total is not None
        return total
