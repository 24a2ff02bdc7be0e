"""What `--resume` needs: the last two states of every stage, each a file that its name's digest vouches for."""

import hashlib
import io
import pickle
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from scanmix_cli.engine.parallel import from_writer, is_writer
from scanmix_cli.errors import SettingsError
from scanmix_cli.files import write_bytes

KEPT = 2  # states of a stage: should the last one be damaged, the one before serves
DIGEST = 16  # hexadecimal digits of SHA-256 in a file's name


class Stateful(Protocol):
    """What a checkpoint can hold: networks, optimisers, evidence, loss histories."""

    def state_dict(self) -> dict: ...

    def load_state_dict(self, state: dict) -> Any: ...


@dataclass(frozen=True)
class Snapshot:
    """A stage after `epoch` of `total` epochs: tensors and plain values that nobody else writes to."""

    epoch: int
    total: int
    generator: torch.Tensor
    states: dict[str, Any]

    @classmethod
    def take(cls, epoch: int, total: int, stateful: dict[str, Stateful], rng: torch.Generator) -> "Snapshot":
        """A copy of all state as it is now."""
        states = {name: _copied(item.state_dict()) for name, item in stateful.items()}
        return cls(epoch, total, rng.get_state(), states)

    def restore(self, stateful: dict[str, Stateful], rng: torch.Generator) -> None:
        """Put all state back; the snapshot stays good for another time."""
        for name, item in stateful.items():
            state = _copied(self.states[name])
            if isinstance(item, torch.optim.Optimizer):
                _load_optimizer(item, state)
            else:
                item.load_state_dict(state)
        rng.set_state(self.generator.cpu())


class Checkpoints:
    """Writes and reads `<folder>/<stage>-<epoch>-<digest>.pt` and `kept-<name>-...`; keeps nothing with `folder=None`.

    `tell` is given a sentence about every file that is damaged and therefore passed over.
    """

    def __init__(
        self,
        folder: Path | None,
        fingerprint: str = "",
        resume: bool = False,
        tell: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self.folder, self.fingerprint, self.resume, self.tell = folder, fingerprint, resume, tell

    def save(self, stage: str, snapshot: Snapshot) -> None:
        """Keep a stage's state beside the one before."""
        self._write(
            stage,
            snapshot.epoch,
            {
                "epoch": snapshot.epoch,
                "total": snapshot.total,
                "generator": snapshot.generator,
                "states": snapshot.states,
            },
        )

    def restore(self, stage: str, stateful: dict[str, Stateful], rng: torch.Generator) -> tuple[int, int] | None:
        """Load a stage's last good state; returns (finished epochs, planned epochs), None where there is none."""
        content = self._read(stage)
        if content is None:
            return None
        snapshot = Snapshot(content["epoch"], content["total"], content["generator"], content["states"])
        snapshot.restore(stateful, rng)
        return snapshot.epoch, snapshot.total

    def keep(self, name: str, value: torch.Tensor) -> None:
        """Store a tensor computed once, such as the mined neighbours."""
        self._write(f"kept-{name}", 0, {"value": value.cpu()})

    def kept(self, name: str) -> torch.Tensor | None:
        """A tensor stored by `keep`, on the CPU; None when not resuming or where there is no good one."""
        content = self._read(f"kept-{name}")
        return None if content is None else content["value"]

    def remove(self) -> None:
        """Delete the folder; nothing can be resumed after that."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, name: str, number: int, content: dict) -> None:
        if self.folder is None or not is_writer():
            return
        buffer = io.BytesIO()
        torch.save({"fingerprint": self.fingerprint, **content}, buffer)
        digest = hashlib.sha256(buffer.getbuffer()).hexdigest()[:DIGEST]
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}-{number:06d}-{digest}.pt"
        write_bytes(path, buffer.getbuffer())
        others = [other for other in self._files(name) if other != path]
        earlier = [other for other in others if _number(other) < number][: KEPT - 1]
        for outdated in set(others) - set(earlier):  # and damaged ones of later epochs
            outdated.unlink(missing_ok=True)

    def _files(self, name: str) -> list[Path]:
        """A stage's files, the last state first."""
        assert self.folder is not None
        own = re.compile(rf"{re.escape(name)}-\d{{6,}}-[0-9a-f]{{{DIGEST}}}\.pt")
        return sorted(
            (path for path in self.folder.glob("*.pt") if own.fullmatch(path.name)), key=_number, reverse=True
        )

    def _read(self, name: str) -> dict | None:
        if self.folder is None or not self.resume:
            return None
        return from_writer(lambda: self._newest(name))

    def _newest(self, name: str) -> dict | None:
        for path in self._files(name):
            content = self._load(path)
            if content is None:
                self.tell(
                    f"warning: checkpoint {path} is damaged and passed over; the run goes on from an earlier state"
                )
                continue
            if content["fingerprint"] != self.fingerprint:
                raise SettingsError(
                    f"checkpoint {path} was made from other data or settings; resume with the same ones or use "
                    "--overwrite"
                )
            return content
        return None

    @staticmethod
    def _load(path: Path) -> dict | None:
        """What a file holds, None where it is not what was written. Nothing in it is run."""
        try:
            data = path.read_bytes()
            if hashlib.sha256(data).hexdigest()[:DIGEST] != path.stem.rpartition("-")[2]:
                return None
            return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError, OSError):
            return None


def _number(path: Path) -> int:
    return int(path.stem.split("-")[-2])


def _load_optimizer(optimizer: torch.optim.Optimizer, state: dict) -> None:
    """Rates that are tensors stay the tensors they are, on their device: recorded steps read them there."""
    rates = [group["lr"] for group in optimizer.param_groups]
    optimizer.load_state_dict(state)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if isinstance(rate, torch.Tensor):
            rate.fill_(float(group["lr"]))
            group["lr"] = rate


def _copied(value: Any) -> Any:
    """A copy that shares no memory; numpy arrays become tensors, so that a checkpoint loads without unpickling."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value
