"""`torch.compile` with a way out: where compiling fails, a stage goes on with the plain function."""

from collections.abc import Callable

import torch
from torch import Tensor


class CompiledFunction:
    """A pure function of tensors, compiled; called as it is if the first call shows that this machine cannot compile.

    Triton, which the compiled code is made of, needs a C compiler and a recent GPU. `tell` gets one sentence then.
    """

    def __init__(self, function: Callable[..., Tensor], tell: Callable[[str], None]) -> None:
        self.plain, self.tell = function, tell
        self.current: Callable[..., Tensor] = torch.compile(function, dynamic=False)
        self.proven = False

    def __call__(self, *inputs: Tensor) -> Tensor:
        try:
            output = self.current(*inputs)
        except Exception as error:  # the compilers beneath raise whatever they like
            if self.proven:
                raise
            reason = str(error).strip().partition("\n")[0][:200]
            self.tell(f"augmentation is not compiled and slower: {type(error).__name__}: {reason}")
            self.current = self.plain
            output = self.plain(*inputs)
        self.proven = True
        return output
