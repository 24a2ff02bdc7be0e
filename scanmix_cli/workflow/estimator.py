"""ScanMix as a scikit-learn classifier of images."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from scanmix_cli.data.decode import VALID
from scanmix_cli.data.samples import TRAIN, Samples
from scanmix_cli.engine.device import choose_compute
from scanmix_cli.report.files import read_report
from scanmix_cli.workflow.classifier import load_classifier
from scanmix_cli.workflow.estimator_input import image_files, read_labels, temporary_folder
from scanmix_cli.workflow.log_reporter import LogReporter
from scanmix_cli.workflow.predict import run_on_files
from scanmix_cli.workflow.python_words import python_words
from scanmix_cli.workflow.request import parse_duration, read_request
from scanmix_cli.workflow.train import Destination, train

ISSUE_COLUMNS = ("is_label_issue", "label_score", "given_label", "predicted_label", "suggested_action", "rank")


class ScanMixClassifier(ClassifierMixin, BaseEstimator):
    """Train on images with partly wrong labels; predict, and say which labels are wrong.

    X is a sequence of paths or of PIL pictures, or a uint8 array (N, H, W), (N, H, W, 1) or (N, H, W, 3). y holds a
    label for each image, None, "", NaN or masked where there is none. Parameters are those of
    `scanmix train`, 0 and "" meaning: let the plan decide. `random_state` is a seed, a numpy RandomState, or None for
    numpy's global one.

    After `fit`: `classes_`, `class_names_` (as `report_` has them), `classifier_` (the networks), `report_` (the
    columns of report.csv, a row an image).

    >>> rng = numpy.random.default_rng(0)
    >>> images = rng.integers(0, 60, (24, 16, 16, 3), dtype="uint8")
    >>> images[:12, ..., 0] += 150                                          # half of them red
    >>> y = numpy.repeat(["red", "dark"], 12)
    >>> model = scanmix.ScanMixClassifier(time_budget="1s", device="cpu")
    >>> model.fit(images, y).predict(images).shape
    (24,)
    >>> model.predict_proba(images).shape
    (24, 2)
    >>> model.find_label_issues().columns.tolist()
    ['is_label_issue', 'label_score', 'given_label', 'predicted_label', 'suggested_action', 'rank']
    """

    def __init__(
        self,
        profile: str = "auto",
        backbone: str = "",
        image_size: int = 0,
        epochs: int = 0,
        pretrain_epochs: int = 0,
        time_budget: float | str = 0.0,
        batch_size: int = 0,
        device: str = "auto",
        precision: str = "auto",
        random_state: Any = 0,
    ) -> None:
        self.profile = profile
        self.backbone = backbone
        self.image_size = image_size
        self.epochs = epochs
        self.pretrain_epochs = pretrain_epochs
        self.time_budget = time_budget
        self.batch_size = batch_size
        self.device = device
        self.precision = precision
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """scikit-learn 1.6 and later ask what goes in: images or paths, not the usual table of numbers."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags

    @python_words()
    def fit(self, X: Any, y: Any) -> "ScanMixClassifier":
        """Train. Raises ValueError where X and y do not go together, ScanmixError for what `scanmix train` refuses."""
        classes, names, texts = read_labels(y)
        with temporary_folder() as temporary, image_files(X) as paths:
            if len(paths) != len(texts):
                raise ValueError(f"X has {len(paths)} images and y {len(texts)} labels; give one label an image")
            samples = _samples(paths, texts)
            request, _ = read_request(None, self._options())
            destination = Destination(Path(temporary) / "run", html=False, temporary=True)
            train(samples, request, destination, LogReporter())
            self.classifier_ = load_classifier(destination.path)
            self.report_ = read_report(destination.path)
        self.classes_ = classes
        self.class_names_ = names
        return self

    @python_words()
    def predict_proba(self, X: Any) -> np.ndarray:
        """float32 (N, C), columns in the order of `classes_`; ValueError naming the first image that cannot be read."""
        check_is_fitted(self, "classifier_")
        compute = choose_compute(self.device, self.precision)
        with image_files(X) as paths:
            found = run_on_files(
                self.classifier_, paths, lambda images: self.classifier_.probabilities(images, compute)
            )
        bad = np.flatnonzero(found.error_codes != VALID)
        if len(bad):
            raise ValueError(f"image {bad[0]} ({paths[bad[0]]}) cannot be read: {found.error_codes[bad[0]]}")
        columns = [self.classifier_.classes.index(name) for name in self.class_names_]
        return found.values[:, columns]

    def predict(self, X: Any) -> np.ndarray:
        """(N,): the likeliest label of each image, of the type of y."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return self.classes_[likeliest]

    def find_label_issues(self, X: Any = None, y: Any = None) -> pd.DataFrame:
        """A row an image of the training data: ISSUE_COLUMNS, named as cleanlab names them; a low label_score is worse.

        With X and y it trains on them first. `predicted_label` is the label to go on with.
        """
        if X is not None:
            self.fit(X, y)
        check_is_fitted(self, "report_")
        return self.report_.rename(columns={"predicted_label": "network_label", "suggested_label": "predicted_label"})[
            list(ISSUE_COLUMNS)
        ]

    def _options(self) -> dict[str, Any]:
        options = {name: value for name, value in self.get_params(deep=False).items() if name != "random_state"}
        if isinstance(self.time_budget, str):
            options["time_budget"] = parse_duration(self.time_budget)
        if isinstance(self.random_state, (int, np.integer)):
            return options | {"seed": int(self.random_state)}
        return options | {"seed": int(check_random_state(self.random_state).randint(2**31 - 1))}


def _samples(paths: Sequence[str], labels: Sequence[str]) -> Samples:
    columns = {"filename": paths, "path": paths, "split": [TRAIN] * len(paths), "given_label": labels}
    table = pd.DataFrame({name: pd.Series(list(cells), dtype=object) for name, cells in columns.items()})
    return Samples("X", Path.cwd(), table, tuple(sorted(set(labels) - {""})))
