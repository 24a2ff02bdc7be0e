"""The README's table on CIFAR-10 against the cells it was taken from."""

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CELLS: list[dict[str, Any]] = json.loads((ROOT / "docs" / "results" / "cifar10.json").read_text())
ROWS = {
    "all right": ("none", 0.0),
    "nine in ten": ("sym", 0.9),
    "half of five": ("asym", 0.49),
    "made by a ResNet": ("semantic-resnet", None),
    "people's": ("human-worst", None),
}


def cell(noise: tuple[str, float | None], method: str) -> dict[str, Any] | None:
    """The cell of seed 0 with the settings of `fast`."""
    return next(
        (
            cell
            for cell in CELLS
            if (cell["noise"], cell["rate"]) == noise
            and (cell["method"], cell["profile"], cell["seed"]) == (method, "fast", 0)
        ),
        None,
    )


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


@pytest.mark.parametrize("name", ROWS)
def test_figures_are_those_of_the_results(name: str) -> None:
    section = (ROOT / "README.md").read_text().split("## On CIFAR-10")[1].split("\n## ")[0]
    row = next(line for line in section.splitlines() if line.startswith(f"| {name}"))
    ours, plain, other = (cell(ROWS[name], method) for method in ("scanmix", "cross-entropy", "dividemix"))
    assert ours
    assert plain
    figures = [1 - ours["realised_rate"], ours["share_right"], ours["last"], plain["last"]]
    expected = [*map(percent, figures), percent(other["last"]) if other else "-"]
    assert [figure.strip() for figure in row.strip("|").split("|")[1:]] == expected
