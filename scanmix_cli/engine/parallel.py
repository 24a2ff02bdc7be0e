"""Several processes that share one run, one GPU each, over torch.distributed.

Every process holds the same networks, the same random state and takes the same decisions. A step draws its random
numbers for the whole batch, sends this process's share of the images through the network, gathers the outputs and works
out the loss of the whole batch, the same number everywhere; gradients are summed. So a run is the same, to rounding,
whatever the number of processes, and a checkpoint does not depend on it. One process, the writer, writes all files.
Pieces of work that have nothing to do with each other may be done by a team of processes each (`in_team`): within it
the team is all there is.

In a process that runs alone every function here hands back what it was given.
"""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from scanmix_cli.engine.launch import GRACE, INTERRUPTED
from scanmix_cli.errors import PeerLost, RunError, ScanmixError, SettingsError

Value = TypeVar("Value")
STEP_TIMEOUT = timedelta(minutes=30)  # longest wait for another process within a stage
HOST_TIMEOUT = timedelta(days=2)  # while the writer decodes, judges or writes
_host: Any = None  # for Python objects, on the CPU
_team: Any = None  # within `in_team` the processes of this one's team, else all
_teams: dict[int, list[Any]] = {}  # by their number


def is_shared() -> bool:
    """Whether other processes share the run, be it in other teams."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def world() -> int:
    """Number of processes that share the work."""
    return dist.get_world_size(_team) if is_shared() else 1


def rank() -> int:
    """Number of this process, from 0."""
    return dist.get_rank(_team) if is_shared() else 0


def is_writer() -> bool:
    """Whether this is the one process that writes files and shows progress."""
    return not is_shared() or dist.get_rank() == 0


def divisible(count: int) -> int:
    """The largest batch of at most `count` images that all processes share evenly; RunError where there is none."""
    if count and count < world():
        raise RunError(f"a batch of {count} images cannot be shared by {world()} processes; start fewer")
    return count // world() * world()


def own_share(values: Tensor, parts: int = 1, dim: int = 0) -> Tensor:
    """This process's share of each of `parts` equal parts of `values` along `dim`, a number that `divisible` gave."""
    if world() == 1:
        return values
    return values.unflatten(dim, (parts, world(), -1)).select(dim + 1, rank()).flatten(dim, dim + 1)


def gather(values: Tensor, parts: int = 1) -> Tensor:
    """What `own_share` would cut `values` (B, ...) from, with gradient, for a loss that all processes work out."""
    if world() == 1:
        return values
    everything = _Gather.apply(values)
    return everything.unflatten(0, (world(), parts, -1)).transpose(0, 1).flatten(0, 2)


class _Gather(torch.autograd.Function):
    """(B, ...) of each process, one after another. As every process works out the whole loss, the gradient of its own
    rows is all there and nothing is sent on the way back."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        return _everything(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient.chunk(world())[rank()]


def _everything(values: Tensor) -> Tensor:
    """(n, ...) of each process, one after another."""
    everything = values.new_empty((world() * len(values), *values.shape[1:]))
    dist.all_gather(list(everything.chunk(world())), values.contiguous(), group=_team)
    return everything


def rows_of_this_process(count: int, device: torch.device) -> Tensor:
    """Consecutive row numbers int64 (n,), as many in every process: beyond `count` the last row is repeated."""
    each = -(-count // world())
    return torch.arange(rank() * each, (rank() + 1) * each, device=device).clamp_max(count - 1)


def gather_rows(values: Tensor, count: int) -> Tensor:
    """`values` (n, ...) of `rows_of_this_process` in every process to those of all rows (count, ...); no gradient."""
    return values if world() == 1 else _everything(values)[:count]


def sum_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Add up the gradients of all processes, in one message."""
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if world() == 1 or not gradients:
        return
    message = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(message, group=_team)
    sums = message.split([gradient.numel() for gradient in gradients])
    torch._foreach_copy_(gradients, [total.view(one.shape) for total, one in zip(sums, gradients, strict=True)])


def agree(tensors: Iterable[Tensor], first: int = 0) -> None:
    """Overwrite tensors by those of process `first`, the writer unless said otherwise: where arithmetic may round
    differently from one process to another."""
    if world() > 1:
        for values in tensors:
            whole = values.contiguous()
            dist.broadcast(whole, group=_team, group_src=first)
            values.copy_(whole)


def least(value: float) -> float:
    """The smallest of what the processes found, in all of them: room that every one of them has."""
    values = [value] * world()
    if world() > 1:
        dist.all_gather_object(values, value, group=_host)
    return min(values)


def can_be_teams(count: int) -> bool:
    """Whether the processes make `count` teams of one size."""
    return count > 1 and _team is None and world() > 1 and world() % count == 0


@contextmanager
def in_team(count: int) -> Iterator[tuple[int, Any]]:
    """Within it, this process works with those of its team alone, one of `count` as `can_be_teams` allows: the first
    processes are team 0. Gives the team's number and its `torch.distributed` group. `from_writer` has to wait."""
    global _team
    size = world() // count
    if count not in _teams:
        backend = dist.get_backend()
        _teams[count] = [
            dist.new_group(list(range(k * size, (k + 1) * size)), backend=backend, timeout=STEP_TIMEOUT)
            for k in range(count)
        ]
    own = rank() // size
    _team = _teams[count][own]
    try:
        yield own, _team
    finally:
        _team = None


def from_teams(value: Value, tensors: Sequence[Iterable[Tensor]]) -> list[Value]:
    """What every team's first process found, by team; `tensors` of each team are overwritten by those of its own."""
    size, values = world() // len(tensors), [value] * world()
    dist.all_gather_object(values, value, group=_host)
    for number, changed in enumerate(tensors):
        agree(changed, first=number * size)
    return values[::size]


def from_writer(compute: Callable[[], Value]) -> Value:
    """What the writer computes, in every process; an error that a user can mend is raised in all of them."""
    if not is_shared():
        return compute()
    assert _team is None
    answer: list[Any] = [None, None]
    if is_writer():
        try:
            answer[0] = compute()
        except ScanmixError as error:
            answer[1] = error
    dist.broadcast_object_list(answer, src=0, group=_host, device=torch.device("cpu"))
    if answer[1] is not None:
        raise answer[1]
    return answer[0]


def writer_first(compute: Callable[[], Value]) -> Value:
    """`compute` in every process, in the others after the writer: what it leaves on disk is there for them."""
    made: list[Value] = []
    from_writer(lambda: made.append(compute()))
    return made[0] if made else compute()


def require_same(value: object, what: str) -> None:
    """SettingsError in every process where `value` differs between them."""
    if world() == 1:
        return
    values: list[Any] = [None] * world()
    dist.all_gather_object(values, value, group=_host)
    for number, other in enumerate(values):
        if other != values[0]:
            raise SettingsError(
                f"process {number} of {world()} has other {what} ({other}) than process 0 ({values[0]}); "
                "give all of them the same"
            )


@contextmanager
def joined(device: str) -> Iterator[None]:
    """Share the run with the processes that torchrun started along with this one, on `--device`.

    RunError where one of them is lost on the way, SettingsError where a process finds no GPU of its own.
    """
    global _host
    backend, place = _backend(device)
    if os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"] and sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # on one machine its name need not resolve
    try:
        dist.init_process_group(backend, timeout=STEP_TIMEOUT, device_id=place)
        _host = dist.new_group(backend="gloo", timeout=HOST_TIMEOUT)
        if not is_writer():
            _leave_interrupts_to_the_writer()
        yield
    except RuntimeError as error:  # gloo raises nothing more special, NCCL a DistBackendError
        if not _is_loss(error):
            raise
        raise PeerLost(
            "another process of this run is gone; what was done so far is kept, go on with --resume"
        ) from error
    leave()


def leave() -> None:
    """Go on alone; all processes of the run have to call it. Does nothing in one that is alone."""
    global _host
    if world() > 1:
        from_writer(lambda: None)
        gc.collect()  # recorded steps hold on to the connection
        dist.destroy_process_group()
        _teams.clear()
        _host = None


def _backend(device: str) -> tuple[str, torch.device | None]:
    """The library that carries messages, and this process's GPU, which becomes the current one."""
    if device == "cpu" or (device == "auto" and not torch.cuda.is_available()):
        return "gloo", None
    if device not in ("auto", "cuda"):
        raise SettingsError(f"--device {device} is one device; several processes share a run with --device auto or cpu")
    own, count = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if own >= count:
        raise SettingsError(
            f"process {own} of this machine has no GPU, there are {count}; start as many as there are GPUs"
        )
    torch.cuda.set_device(own)
    return "nccl", torch.device("cuda", own)


def _is_loss(error: RuntimeError) -> bool:
    return isinstance(error, dist.DistError) or any(name in str(error) for name in ("gloo", "NCCL"))


def _leave_interrupts_to_the_writer() -> None:
    """Ctrl-C reaches all processes: this one goes on for a moment, since the writer may wait for it, and then ends.

    A thread sees to that, because the main one may itself be waiting where no signal handler runs.
    """
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.set_wakeup_fd(telling)

    def end() -> None:
        os.read(told, 1)
        time.sleep(GRACE)
        os._exit(INTERRUPTED)

    threading.Thread(target=end, daemon=True).start()
