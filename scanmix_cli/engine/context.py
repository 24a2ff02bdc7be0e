"""The surroundings of every stage: device, the one generator, epochs that can be resumed, metrics."""

import csv
import importlib.util
import io
import math
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from scanmix_cli.engine.budget import Budget
from scanmix_cli.engine.capture import Step
from scanmix_cli.engine.checkpoints import Checkpoints, Snapshot, Stateful
from scanmix_cli.engine.compiled import CompiledFunction
from scanmix_cli.engine.descent import Descent
from scanmix_cli.engine.device import Compute
from scanmix_cli.engine.parallel import agree, from_writer
from scanmix_cli.engine.parts import PartedStep
from scanmix_cli.engine.progress import Reporter, Silent
from scanmix_cli.engine.relief import Relief
from scanmix_cli.errors import RunError
from scanmix_cli.files import write_text

CHECKPOINT_SECONDS = 30.0  # within a stage, state is saved at most this often


@dataclass(frozen=True)
class Epoch:
    """One epoch of a stage: `index` counts from 0; `total` may shrink below `planned` under a time budget.

    `repeated`: the state was put back since the epoch before, and what a stage remembers of it no longer holds.
    """

    index: int
    total: int
    planned: int
    repeated: bool = False

    @property
    def fraction(self) -> float:
        """Share of the stage that is done, 0 at its first epoch and below 1 at its last."""
        return self.index / self.total

    @property
    def scheduled(self) -> float:
        """Where the epoch stands in the schedule as planned, when it was shortened on the way."""
        return self.index * self.planned / self.total


class MetricRows:
    """Rows of `metrics.csv`, kept in checkpoints so that a resumed run has the whole history."""

    def __init__(self) -> None:
        self.rows: list[dict] = []

    def state_dict(self) -> dict:
        return {"rows": self.rows}

    def load_state_dict(self, state: dict) -> None:
        self.rows = list(state["rows"])


class Context:
    """What a stage needs besides networks, images and settings.

    `generator` lives on the compute device and is the only source of randomness after the networks are built. `most`:
    images that an epoch of any stage draws, 0 for all; all are still judged.
    """

    def __init__(
        self,
        compute: Compute,
        seed: int,
        reporter: Reporter | None = None,
        checkpoints: Checkpoints | None = None,
        budget: Budget | None = None,
        metrics: Path | None = None,
        most: int = 0,
    ) -> None:
        self.compute, self.seed = compute, seed
        self.descend = Descent(compute)
        self.generator = torch.Generator(compute.device).manual_seed(seed)
        self.reporter = reporter or Silent()
        self.checkpoints = checkpoints or Checkpoints(None)
        self.budget = budget or Budget(None, {})
        self.metrics, self.most = metrics, most
        self.history, self.relief = MetricRows(), Relief()
        self.stage, self.place = "", "the beginning"  # where the run is, for messages: "epoch 3 of scanmix"
        self._values: dict[str, float] = {}
        self._preparation = 0.0  # seconds in the current stage
        self._kept: dict[str, torch.Tensor] = {}
        self._captured: weakref.WeakSet[PartedStep] = weakref.WeakSet()
        self._good: Snapshot | None = None  # the stage's last state with finite numbers
        self._saved = True  # whether `_good` is on disk as well
        self._take: Callable[[], Snapshot] | None = None  # makes `_good` of the stage's last finished epoch
        self._fault = ""  # what became of a loss that is not finite any more

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds of training in each stage, those before a resumption included."""
        totals: dict[str, float] = {}
        for row in self.history.rows:
            totals[row["stage"]] = totals.get(row["stage"], 0.0) + row["seconds"]
        return totals

    @property
    def device(self) -> torch.device:
        return self.compute.device

    def captured(self, step: Step, summable: bool = True) -> PartedStep:
        """A step that is replayed as a CUDA graph where there is one, and made in parts where memory is short.

        Not `summable`: the loss compares all images of a batch with each other.
        """
        parted = PartedStep(step, self, summable)
        self._captured.add(parted)
        return parted

    def compiled(self, function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """A pure function through `torch.compile` on a GPU, for stages long enough to pay for the compiling."""
        if self.device.type != "cuda" or importlib.util.find_spec("triton") is None:
            return function
        return CompiledFunction(function, self.reporter.message)

    def add_preparation(self, seconds: float) -> None:
        """Compiling and recording took so long, which is no measure of the epochs to come."""
        self._preparation += seconds

    def permutation(self, count: int) -> torch.Tensor:
        """A random order of `count` rows, int64 on the device, or the first `most` of it."""
        return torch.randperm(count, generator=self.generator, device=self.device)[: self.most or None]

    def once(self, name: str, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        """A tensor computed once a run and kept with the checkpoints: mined neighbours, the gate's estimate."""
        if name not in self._kept:
            value = self.checkpoints.kept(name)
            if value is None:
                value = compute()
                self.checkpoints.keep(name, value)
            self._kept[name] = value.to(self.device)
            agree([self._kept[name]])
        return self._kept[name]

    def log(self, **values: float) -> None:
        """Values of the current epoch; a loss that is not finite makes the epoch fail."""
        for name, value in values.items():
            if "loss" in name and not math.isfinite(value):
                self._fault = self._fault or f"{name} became {value}"
        self._values.update(values)

    def epochs(self, stage: str, planned: int, **stateful: Stateful) -> Iterator[Epoch]:
        """Epochs of a stage still to be run. Restores `stateful` when resuming and saves it as the stage goes on.

        An epoch whose losses or networks are not finite is run again from the end of the epoch before, with half the
        rate, at most twice a stage; RunError after that.
        """
        self.budget.start(stage)
        self.stage, saved, self._preparation = stage, time.monotonic(), 0.0
        stateful = {**stateful, "metrics": self.history, "relief": self.relief}
        restored = self.checkpoints.restore(stage, stateful, self.generator)
        first, planned = restored or (0, planned)
        for item in stateful.values():
            agree(item.state_dict().values() if isinstance(item, torch.nn.Module) else ())
        self.descend.scale = self.relief.scale(stage)
        self.reporter.stage(stage, planned)
        total, index, repeated = planned, first, False
        if index < total:
            self._good, self._saved = Snapshot.take(index, planned, stateful, self.generator), True
        while index < total:
            self._values, self._fault, self.place = {}, "", f"epoch {index + 1} of {stage}"
            epoch_began = time.monotonic()
            yield Epoch(index, total, planned, repeated)
            repeated = bool(self._fault) or not _finite(stateful)
            if repeated:
                self._go_back(stateful)
                continue
            index += 1
            total = first + from_writer(partial(self.budget.epochs, index - first, planned - first, self._preparation))
            self._record(stage, index, total, time.monotonic() - epoch_began)
            self._saved = False
            length = total if index >= total else planned
            self._take = partial(Snapshot.take, index, length, stateful, self.generator)
            self._good = None  # two at once would take twice the memory
            self._good = self._take()
            if index >= total or time.monotonic() - saved > CHECKPOINT_SECONDS:
                self.save_progress()
                saved = time.monotonic()

    def save_progress(self) -> None:
        """Put the last finished epoch's state on disk, unless it is there: for the end of a stage or an early one."""
        if self._good is None and self._take is not None:  # an interrupt came while it was made
            self._good = self._take()
        if self._good is not None and not self._saved:
            self.checkpoints.save(self.stage, self._good)
            self._saved = True

    def _go_back(self, stateful: dict[str, Stateful]) -> None:
        """From numbers that are not finite to the last good state, with a lower rate from here on."""
        assert self._good is not None
        fault = self._fault or "a weight became nan or inf"
        slowed = self.relief.slow_down(self.stage)
        if not slowed:
            raise RunError(
                f"{fault} in {self.place}, with lower learning rates too; use --precision fp32, or lower the stage's "
                "learning_rate in config.toml and pass the file with --config"
            )
        relief = self.relief.state_dict()
        self._good.restore(stateful, self.generator)
        self.relief.load_state_dict(relief)
        self.descend.scale = self.relief.scale(self.stage)
        for step in self._captured:
            step.forget()
        self.reporter.message(
            f"warning: {fault} in {self.place}: back to the state before it, with half the learning rate"
        )

    def _record(self, stage: str, finished: int, total: int, seconds: float) -> None:
        self.history.rows.append({"stage": stage, "epoch": finished, "seconds": round(seconds, 3), **self._values})
        self.reporter.epoch(stage, finished, total, self._values)
        if self.metrics is not None:
            write_metrics(self.metrics, self.history.rows)


def _finite(stateful: dict[str, Stateful]) -> bool:
    """Whether all networks consist of numbers; one wait for the device."""
    nets = [item for item in stateful.values() if isinstance(item, torch.nn.Module)]
    tensors = [value for net in nets for value in net.state_dict().values() if value.is_floating_point()]
    return not tensors or bool(torch.stack([norm.float() for norm in torch._foreach_norm(tensors)]).isfinite().all())


def write_metrics(path: Path, rows: list[dict]) -> None:
    """`metrics.csv`: a row per epoch and stage; columns are the union of all values logged, in first-seen order."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    write_text(path, text.getvalue())
