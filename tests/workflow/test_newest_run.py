"""A run that is complete stays so where it cannot be named as the newest one."""

from pathlib import Path

import pytest

from scanmix_cli.engine.progress import Silent
from scanmix_cli.workflow.train import Destination, Run, noted


class Heard(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)


@pytest.mark.parametrize("blocked", ["scanmix-runs", "scanmix-runs/latest"])
def test_a_working_folder_that_cannot_be_written_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocked: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if blocked == "scanmix-runs":
        Path(blocked).touch()
    else:
        Path(blocked).mkdir(parents=True)
    run, reporter = Run(Path("elsewhere"), {}), Heard()
    assert noted(run, Destination(run.folder), reporter) is run
    assert len(reporter.lines) == 1
    beginning = "warning: the newest run is not noted, so name this one with --run elsewhere; "
    assert reporter.lines[0].startswith(f"{beginning}{blocked} c")
