from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium
from report_run import Run, make_run, write_run


@pytest.fixture(scope="session")
def run() -> Run:
    return make_run()


@pytest.fixture
def run_dir(run: Run, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    write_run(folder, run, seed=0)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started
