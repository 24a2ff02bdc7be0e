"""Faults on order: what `faults.py` does to a run from inside its process. The package itself knows nothing of this.

A fault strikes at the n-th time that the run comes to a place:

    step STAGE        before a gradient step of the stage
    epoch STAGE       when an epoch of the stage is over and not yet saved
    call MODULE.NAME  before the function is called, which `MODULE` looks up by that name
    log               before a line goes into log.txt
    append            while decoded pixels go into the cache
    half NAME         in the middle of writing a file whose name begins so: half of it is in the temporary file
    rename NAME       the temporary file is whole and not yet in its place
    renamed NAME      the file is in its place
"""

import importlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

LASTING = ("enospc", "eio", "ooms", "nans")  # so from then on; the last two are a shortage and numbers that never end


@dataclass(frozen=True)
class Fault:
    """`action` at the `number`-th time at `place`, in a run with the settings of this name."""

    action: str
    place: str
    number: int = 1
    settings: str = "published"

    def __str__(self) -> str:
        time = f", time {self.number}" if self.number > 1 else ""
        return f"{self.action} at {self.place}{time} ({self.settings})"


class Trigger:
    """Counts visits and strikes; `struck` is a file that tells the parent that the place was reached."""

    def __init__(self, fault: Fault, struck: Path) -> None:
        self.fault, self.struck, self.visits = fault, struck, 0

    def due(self) -> bool:
        """Whether it is time."""
        self.visits += 1
        lasting = self.fault.action in LASTING
        strikes = self.visits >= self.fault.number if lasting else self.visits == self.fault.number
        if strikes:
            self.struck.touch()
        return strikes

    def strike(self) -> None:
        """Do what the fault is."""
        if self.fault.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault.action == "enospc":
            raise OSError(28, "No space left on device")
        if self.fault.action == "eio":
            raise OSError(5, "Input/output error")
        if self.fault.action in ("oom", "ooms"):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def arm(fault: Fault, struck: Path) -> None:
    """Put the fault into this process."""
    kind, _, name = fault.place.partition(" ")
    trigger = Trigger(fault, struck)
    {"step": _step, "epoch": _epoch, "call": _call, "append": _append, "log": _log}.get(kind, _write)(
        trigger, kind, name
    )


def narrow(images: int) -> None:
    """A forward pass of more than so many images runs out of memory, as on a device that is too small."""
    from scanmix_cli.models.small import SmallResNet

    forward = SmallResNet.forward

    def checked(self: SmallResNet, x: torch.Tensor) -> torch.Tensor:
        if len(x) > images:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return forward(self, x)

    SmallResNet.forward = checked  # type: ignore[method-assign]


def confine(gib: int) -> None:
    """This process gets no more than so much of the GPU's memory."""
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(gib * 2**30 / whole, 1.0))


def _before(owner: Any, name: str, check: Callable[..., None]) -> None:
    """Let `check` see the arguments before `owner.name` is called."""
    original = getattr(owner, name)

    def checked(*arguments: Any, **named: Any) -> Any:
        check(*arguments)
        return original(*arguments, **named)

    setattr(owner, name, checked)


def _step(trigger: Trigger, kind: str, stage: str) -> None:
    if trigger.fault.action in ("nan", "nans"):
        _spoil(trigger, stage)
        return
    from scanmix_cli.engine.parts import PartedStep

    original = PartedStep.__init__

    def begin(self: PartedStep, step: Callable, context: Any, *rest: Any, **named: Any) -> None:
        def checked(*inputs: torch.Tensor) -> torch.Tensor:
            if context.stage == stage and trigger.due():
                trigger.strike()
            return step(*inputs)

        checked.__qualname__ = step.__qualname__
        original(self, checked, context, *rest, **named)

    PartedStep.__init__ = begin  # type: ignore[method-assign]


def _spoil(trigger: Trigger, stage: str) -> None:
    """The loss of one step is not a number."""
    from scanmix_cli.engine.context import Context
    from scanmix_cli.engine.descent import Descent

    now: list[str] = [""]
    descend = Descent.__call__
    _before(Context, "epochs", lambda self, name, *_: now.__setitem__(0, name))

    def spoiled(self: Descent, loss: torch.Tensor, *rest: Any, **named: Any) -> None:
        descend(self, loss * float("nan") if now[0] == stage and trigger.due() else loss, *rest, **named)

    Descent.__call__ = spoiled  # type: ignore[method-assign]


def _epoch(trigger: Trigger, kind: str, stage: str) -> None:
    from scanmix_cli.engine.context import Context

    def check(self: Context, name: str, *_: Any) -> None:
        if name == stage and trigger.due():
            trigger.strike()

    _before(Context, "_record", check)


def _call(trigger: Trigger, kind: str, target: str) -> None:
    module, _, name = target.rpartition(".")
    _before(importlib.import_module(f"scanmix_cli.{module}"), name, lambda *_: trigger.due() and trigger.strike())


def _append(trigger: Trigger, kind: str, name: str) -> None:
    from scanmix_cli.data.cache import CacheWriter

    _before(CacheWriter, "append", lambda *_: trigger.due() and trigger.strike())


def _log(trigger: Trigger, kind: str, name: str) -> None:
    from scanmix_cli.engine.progress import Logged

    _before(Logged, "_write", lambda *_: trigger.due() and trigger.strike())


def _write(trigger: Trigger, kind: str, name: str) -> None:
    """Every file of a run is synchronised and then renamed: that is where writing can be caught."""
    if kind == "half":

        def halve(descriptor: int) -> None:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if os.path.basename(path).lstrip(".").startswith(name) and trigger.due():
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
                trigger.strike()

        _before(os, "fsync", halve)
        return
    replace = os.replace

    def checked(source: Any, target: Any, **named: Any) -> None:
        due = os.path.basename(target).startswith(name) and trigger.due()
        if due and kind == "rename":
            trigger.strike()
        replace(source, target, **named)
        if due:
            trigger.strike()

    os.replace = checked
