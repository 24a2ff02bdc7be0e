"""The Python API: train, and look at a finished run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from scanmix_cli.data.sources import read_samples
from scanmix_cli.engine.run_folder import choose_folder
from scanmix_cli.evidence.noise_rate import NoiseRate
from scanmix_cli.export.pictures import LINKS
from scanmix_cli.report.decided import read_decided_report
from scanmix_cli.report.files import cleaned_labels, read_summary
from scanmix_cli.report.runs import resolve_run
from scanmix_cli.workflow.handoff import ONNX, Export, export_onnx, export_run
from scanmix_cli.workflow.log_reporter import LogReporter
from scanmix_cli.workflow.outputs import check_folder
from scanmix_cli.workflow.predict import predict
from scanmix_cli.workflow.python_words import python_words
from scanmix_cli.workflow.request import parse_duration, read_request
from scanmix_cli.workflow.train import Destination, train

StrPath = str | Path


@dataclass(frozen=True)
class Result:
    """A run folder and what it holds.

    >>> result = scanmix.load_run("run")
    >>> result.folder.name
    'run'
    """

    folder: Path

    @cached_property
    @python_words()
    def report(self) -> pd.DataFrame:
        """One row per input row, in input order: the columns of `report.csv`, with decisions made since in place.

        >>> report = scanmix.load_run("run").report
        >>> worst = report.sort_values("rank").head(3)
        >>> worst[["rank", "suggested_action"]].columns.tolist()
        ['rank', 'suggested_action']
        """
        return read_decided_report(self.folder)[0]

    @cached_property
    @python_words()
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`.

        >>> scanmix.load_run("run").summary["classes"]
        ['blue', 'green', 'red']
        """
        return read_summary(self.folder)

    @property
    def noise_rate(self) -> NoiseRate:
        """Estimated share of wrong labels with its 90 % interval.

        >>> rate = scanmix.load_run("run").noise_rate
        >>> 0 <= rate.low <= rate.estimate <= rate.high <= 1
        True
        """
        rate = self.summary["noise_rate"]
        return NoiseRate(rate["estimate"], rate["low"], rate["high"])

    @property
    def cleaned(self) -> pd.DataFrame:
        """`file_name, label` of the training rows to go on with, decisions made since included.

        >>> scanmix.load_run("run").cleaned.columns.tolist()
        ['file_name', 'label']
        """
        return cleaned_labels(self.report)

    @python_words()
    def predict(
        self,
        images: StrPath | Sequence[StrPath],
        top_k: int = 1,
        device: str = "auto",
        *,
        network: str = "both",
        views: int = 1,
    ) -> pd.DataFrame:
        """Classify an image file, the images in a folder, or several of both; columns as `scanmix predict` prints them.

        network: "both", "1" or "2"; views: test-time views an image, 1 to 10. Unreadable files get an error_code and no
        label.

        >>> table = scanmix.load_run("run").predict(["photos/test/red"], top_k=2, device="cpu")
        >>> table.columns.tolist()
        ['filename', 'predicted_label', 'probability', 'label_2', 'probability_2', 'error_code']
        """
        named = [images] if isinstance(images, StrPath) else images
        paths = [Path(image) for image in named]
        return predict(self.folder, paths, top_k=top_k, device=device, network=network, views=views)

    @python_words()
    def export(
        self,
        to: str,
        out: StrPath,
        *,
        link: str = LINKS[0],
        only: str | None = None,
        min_confidence: float | None = None,
        root: StrPath | None = None,
        device: str = "auto",
    ) -> Export:
        """Write images and cleaned labels for another tool, as `scanmix export` does; originals are only read.

        `to="onnx"` writes the classifier alone, without images.

        >>> done = scanmix.load_run("run").export("imagefolder", "cleaned", link="hard")
        >>> done.folder.name, done.gone
        ('cleaned', [])
        """
        if to == ONNX:
            return Export(export_onnx(self.folder, Path(out)), rows=0, gone=[])
        return export_run(
            self.folder,
            to,
            Path(out),
            link=link,
            only=only,
            min_confidence=min_confidence,
            root=_path(root),
            device=device,
        )


@python_words()
def clean(
    data: StrPath,
    out: StrPath | None = None,
    *,
    labels: StrPath | None = None,
    test: StrPath | None = None,
    overwrite: bool = False,
    path_column: str | None = None,
    label_column: str | None = None,
    split_column: str | None = None,
    root: StrPath | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    **options: Any,
) -> Result:
    """Train on `data` and return the finished run.

    The named arguments are those of `scanmix train`; `options` are the fields of `Request`: profile, seed, epochs,
    device, time_budget (seconds, or text such as "10m") and so on. Progress goes to the logger `scanmix_cli`, which is
    silent unless the program sets `logging` up. Raises a ScanmixError, whose text is one sentence, for everything that
    `scanmix train` would refuse.

    >>> result = scanmix.clean("photos", out="run", seed=0, time_budget="2s", device="cpu")
    >>> len(result.report)
    42
    """
    if isinstance(options.get("time_budget"), str):
        options["time_budget"] = parse_duration(options["time_budget"])
    request, _ = read_request(None, options)
    if out is not None:
        check_folder(Path(out), (Path(data), _path(test)))
    samples = read_samples(
        Path(data),
        labels=_path(labels),
        path_column=path_column,
        label_column=label_column,
        split_column=split_column,
        root=_path(root),
        sep=sep,
        encoding=encoding,
        test=_path(test),
    )
    folder = choose_folder(_path(out), samples.name)
    destination = Destination(folder, overwrite, numbered=out is None)
    return Result(train(samples, request, destination, LogReporter()).folder)


@python_words()
def load_run(run: StrPath) -> Result:
    """An earlier run; DataError where the folder holds none.

    >>> scanmix.load_run("run").summary["seed"]
    0
    """
    result = Result(resolve_run(Path(run)))
    read_summary(result.folder)
    return result


def _path(given: StrPath | None) -> Path | None:
    return None if given is None else Path(given)
