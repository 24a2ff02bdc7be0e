"""The Python API's view of a finished run."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from scanmix_cli.data.sources import read_samples
from scanmix_cli.engine.progress import Silent
from scanmix_cli.engine.run_folder import choose_folder
from scanmix_cli.evidence.noise_rate import NoiseRate
from scanmix_cli.report.files import read_report, read_summary
from scanmix_cli.report.runs import resolve_run
from scanmix_cli.workflow.predict import predict
from scanmix_cli.workflow.request import parse_duration, read_request
from scanmix_cli.workflow.train import Destination, train


@dataclass(frozen=True)
class Result:
    """A run folder and what it holds."""

    folder: Path

    @cached_property
    def report(self) -> pd.DataFrame:
        """One row per input row, in input order: the columns of `report.csv`."""
        return read_report(self.folder)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`."""
        return read_summary(self.folder)

    @property
    def noise_rate(self) -> NoiseRate:
        """Estimated share of wrong labels with its 90 % interval."""
        rate = self.summary["noise_rate"]
        return NoiseRate(rate["estimate"], rate["low"], rate["high"])

    def predict(self, images: list[str | Path], top_k: int = 1, device: str = "auto") -> pd.DataFrame:
        """Classify image files and the images in folders; columns as `scanmix predict` prints them."""
        return predict(self.folder, [Path(image) for image in images], top_k=top_k, device=device)


def clean(data: str | Path, out: str | Path | None = None, *, overwrite: bool = False, **options: Any) -> Result:
    """Train on `data` and return the finished run; silent.

    `options` are the fields of `Request`: profile, seed, epochs, device, time_budget (seconds, or text such as "10m")
    and so on. Raises a ScanmixError, whose text is one sentence, for everything that `scanmix train` would refuse.

    Example:
        result = scanmix.clean("images/", out="run", seed=0)
        result.report.sort_values("rank").head(10)
    """
    if isinstance(options.get("time_budget"), str):
        options["time_budget"] = parse_duration(options["time_budget"])
    request, _ = read_request(None, options)
    samples = read_samples(Path(data))
    folder = choose_folder(None if out is None else Path(out), samples.name)
    return Result(train(samples, request, Destination(folder, overwrite), Silent()).folder)


def load_run(run: str | Path) -> Result:
    """An earlier run; DataError where the folder holds none."""
    result = Result(resolve_run(Path(run)))
    read_summary(result.folder)
    return result
