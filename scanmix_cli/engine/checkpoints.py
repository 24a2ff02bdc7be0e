"""What `--resume` needs: one file a stage with every state dict, the random state and the data's fingerprint."""

import pickle
import shutil
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from scanmix_cli.errors import SettingsError
from scanmix_cli.files import write_file


class Stateful(Protocol):
    """What a checkpoint can hold: networks, optimisers, evidence, loss histories."""

    def state_dict(self) -> dict: ...

    def load_state_dict(self, state: dict) -> Any: ...


class Checkpoints:
    """Reads and writes `<folder>/<stage>.pt` and `<folder>/kept-<name>.pt`; with `folder=None` it keeps nothing."""

    def __init__(self, folder: Path | None, fingerprint: str = "", resume: bool = False) -> None:
        self.folder, self.fingerprint, self.resume = folder, fingerprint, resume

    def save(self, stage: str, epoch: int, total: int, stateful: dict[str, Stateful], rng: torch.Generator) -> None:
        """Replace the stage's file: `epoch` epochs of `total` are finished."""
        if self.folder is None:
            return
        self._write(
            stage,
            {
                "epoch": epoch,
                "total": total,
                "fingerprint": self.fingerprint,
                "generator": rng.get_state(),
                "states": {name: _pack(item.state_dict()) for name, item in stateful.items()},
            },
        )

    def restore(self, stage: str, stateful: dict[str, Stateful], rng: torch.Generator) -> tuple[int, int] | None:
        """Load a stage's state; returns (finished epochs, planned epochs), None when there is nothing to restore."""
        content = self._read(stage)
        if content is None:
            return None
        for name, item in stateful.items():
            item.load_state_dict(content["states"][name])
        rng.set_state(content["generator"].cpu())
        return content["epoch"], content["total"]

    def keep(self, name: str, value: torch.Tensor) -> None:
        """Store a tensor computed once, such as the mined neighbours."""
        if self.folder is not None:
            self._write(f"kept-{name}", {"fingerprint": self.fingerprint, "value": value.cpu()})

    def kept(self, name: str) -> torch.Tensor | None:
        """A tensor stored by `keep`, on the CPU; None when not resuming or where there is none."""
        content = self._read(f"kept-{name}")
        return None if content is None else content["value"]

    def remove(self) -> None:
        """Delete the folder; nothing can be resumed after that."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, name: str, content: dict) -> None:
        assert self.folder is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(self.folder / f"{name}.pt", lambda file: torch.save(content, file))

    def _read(self, name: str) -> dict | None:
        if self.folder is None or not self.resume:
            return None
        path = self.folder / f"{name}.pt"
        if not path.exists():
            return None
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError, OSError):
            raise SettingsError(f"checkpoint {path} cannot be read; start the run anew with --overwrite") from None
        if content["fingerprint"] != self.fingerprint:
            raise SettingsError(
                f"checkpoint {path} was made from other data or settings; resume with the same ones or use --overwrite"
            )
        return content


def _pack(value: Any) -> Any:
    """Turn numpy arrays into tensors, so that a checkpoint loads without unpickling."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _pack(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(item) for item in value]
    return value
