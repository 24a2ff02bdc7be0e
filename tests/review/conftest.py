import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from review_run import write_review_run
from review_site import Site, running

sys.path.append(str(Path(__file__).resolve().parents[1] / "report"))  # browser.py, read_only.py


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_review_run(tmp_path)


@pytest.fixture
def site(run: Path) -> Iterator[Site]:
    with running(run) as found:
        yield found
