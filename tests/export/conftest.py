from pathlib import Path

import pytest
from handoff_run import HandoffRun, make_run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> HandoffRun:
    """One run for all tests, which only read it."""
    return make_run(tmp_path_factory.mktemp("handoff"))


@pytest.fixture
def own_run(tmp_path: Path) -> HandoffRun:
    """A run that a test may change."""
    return make_run(tmp_path / "own")
