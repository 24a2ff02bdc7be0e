"""When a step is recorded, replayed or taken as it is; PyTorch's CUDA graphs are played by others."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from scanmix_cli.engine.capture import EAGER_CALLS, CapturedStep


class Machine:
    """Counts steps taken, recordings and replays; `fault` is what the next recording ends with."""

    def __init__(self) -> None:
        self.steps, self.recordings, self.replays = 0, 0, 0
        self.fault: RuntimeError | None = None
        device = SimpleNamespace(type="cuda")
        self.captured = CapturedStep(self.step, SimpleNamespace(device=device))  # type: ignore[arg-type]

    def step(self, batch: Tensor) -> Tensor:
        self.steps += 1
        return batch.sum()

    def replay(self) -> None:
        """Kernels run again on the recorded inputs; no line of the step does."""
        self.replays += 1
        self.captured.output.copy_(self.captured.inputs[0].sum())

    @contextmanager
    def recording(self, graph: object, capture_error_mode: str) -> Iterator[None]:
        self.recordings += 1
        yield
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    stream = SimpleNamespace(wait_stream=lambda other: None)
    graph = SimpleNamespace(register_generator_state=lambda generator: None, replay=made.replay)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda chosen: nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graph)
    monkeypatch.setattr(torch.cuda, "graph", made.recording)
    return made


def results(machine: Machine, *sizes: int) -> list[float]:
    return [float(machine.captured(torch.full((size,), float(size)))) for size in sizes]


def test_after_a_few_ordinary_steps_one_recording_serves_for_all_others(machine: Machine) -> None:
    for value in range(EAGER_CALLS + 5):
        assert float(machine.captured(torch.full((4,), float(value)))) == 4.0 * value
    assert (machine.steps, machine.recordings, machine.replays) == (EAGER_CALLS + 1, 1, 5)


def test_batches_of_odd_sizes_are_taken_as_they_are_and_never_recorded(machine: Machine) -> None:
    results(machine, *[4] * (EAGER_CALLS + 1))
    assert results(machine, 3, 4, 2, 5, 4) == [9.0, 16.0, 4.0, 25.0, 16.0]
    assert (machine.recordings, machine.replays) == (1, 3)


def test_where_a_recording_has_no_room_all_steps_are_ordinary(machine: Machine) -> None:
    machine.fault = torch.OutOfMemoryError("CUDA out of memory")
    assert results(machine, *[4] * (EAGER_CALLS + 5)) == [16.0] * (EAGER_CALLS + 5)
    assert (machine.recordings, machine.replays) == (1, 0)


def test_other_errors_of_a_recording_come_through(machine: Machine) -> None:
    machine.fault = RuntimeError("operation not permitted when stream is capturing")
    results(machine, *[4] * EAGER_CALLS)
    with pytest.raises(RuntimeError, match="not permitted"):
        results(machine, 4)
