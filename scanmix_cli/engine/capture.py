"""A training step recorded once as a CUDA graph and replayed: small batches are then not bound by kernel launches."""

import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from scanmix_cli.engine.parallel import is_shared

Step = Callable[..., Tensor]
EAGER_CALLS = 3  # real steps before recording: they fill optimiser state and choose convolution algorithms


class CapturedStep:
    """`step(*tensors) -> Tensor` with fixed shapes; on CUDA recorded after a few eager calls, elsewhere called as is.

    The step must not synchronise with the host, and draws randomness only from `generator`. The returned tensor is
    overwritten by the next call. Messages between processes (NCCL) are recorded with the rest. `prepared` is told the
    seconds from the first call to the end of recording, compiling included.
    """

    def __init__(
        self, step: Step, generator: torch.Generator, prepared: Callable[[float], None] = lambda seconds: None
    ) -> None:
        self.step, self.generator, self.prepared = step, generator, prepared
        self.calls, self.recordable = 0, True
        self.began = 0.0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: tuple[Tensor, ...] = ()
        self.output = torch.empty(0)

    def __call__(self, *inputs: Tensor) -> Tensor:
        if self.generator.device.type != "cuda" or not self.recordable:
            return self.step(*inputs)
        if self.graph is None:
            self.began = self.began or time.monotonic()
            self.calls += 1
            if self.calls <= EAGER_CALLS:
                return self._on_side_stream(inputs)
            try:
                self._record(inputs)
            except RuntimeError as error:
                # A recording has memory of its own: what fits once may not fit twice. And not every NCCL is recordable.
                self.recordable = not (_short_of_memory(error) or is_shared())
                if self.recordable:
                    raise
                if is_shared():
                    reason = str(error).strip().partition("\n")[0][:200]
                    warnings.warn(f"steps are not recorded and slower: {type(error).__name__}: {reason}", stacklevel=2)
            self.prepared(time.monotonic() - self.began)
            if not self.recordable:
                return self.step(*inputs)
        elif any(kept.shape != given.shape for kept, given in zip(self.inputs, inputs, strict=True)):
            return self.step(*inputs)
        for kept, given in zip(self.inputs, inputs, strict=True):
            kept.copy_(given, non_blocking=True)
        assert self.graph is not None
        self.graph.replay()
        return self.output

    def _on_side_stream(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Recording needs the step to have run on a stream other than the default one."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            output = self.step(*inputs)
        torch.cuda.current_stream().wait_stream(stream)
        return output

    def _record(self, inputs: tuple[Tensor, ...]) -> None:
        self.inputs = tuple(given.clone() for given in inputs)
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        torch.cuda.synchronize()
        # The thread in which NCCL watches earlier messages may ask the device at any time.
        mode = "thread_local" if is_shared() else "global"
        with torch.cuda.graph(graph, capture_error_mode=mode):
            self.output = self.step(*self.inputs)
        self.graph = graph


def _short_of_memory(error: BaseException) -> bool:
    """Whether that is what an error goes back to: ending a recording that failed raises another one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, torch.OutOfMemoryError):
            return True
        cause = cause.__context__
    return False
