import hashlib
import pickle
from typing import Any

import pytest

from scanmix_cli.evidence.noise_model import NoiseModel

FITTED: dict[str, NoiseModel] = {}  # by model, data and options


@pytest.fixture
def each_fit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that this process has done already, from the same start on the same data, is not done again."""
    fitted = NoiseModel.fitted

    def once(self: NoiseModel, *data: Any, **options: Any) -> NoiseModel:
        key = hashlib.sha256(pickle.dumps((self, data, options))).hexdigest()
        if key not in FITTED:
            FITTED[key] = fitted(self, *data, **options)
        return FITTED[key]

    monkeypatch.setattr(NoiseModel, "fitted", once)
