"""Every value in docs/profiles.md is the profile's, and no difference is left out."""

from pathlib import Path
from typing import Any

import pytest

from scanmix_cli.engine.config import to_table
from scanmix_cli.method.settings import Profile
from scanmix_cli.profiles import fast
from scanmix_cli.profiles.official import OFFICIAL
from scanmix_cli.profiles.paper import LAMBDA_U, PAPER

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "profiles.md"
ABSENT = "–"  # noqa: RUF001 - the dash that the document uses
OURS = {"official": OFFICIAL["cifar10"], "paper": PAPER["cifar10"], "fast, GPU": fast.GPU, "fast, CPU": fast.CPU}
TABLES: dict[str, dict[str, Profile]] = {
    "Where they differ: CIFAR-10": OURS,
    "`official` by benchmark": OFFICIAL,
    "`paper` by benchmark": PAPER,
}


def settings(profile: Profile) -> dict[str, str]:
    """Dotted name of every setting and its text in the document."""
    return {name: text(value) for name, value in flat(to_table(profile)).items()}


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in table.items():
        result |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return result


def text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(text(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def tables(heading: str) -> list[list[list[str]]]:
    """The tables below a heading, as rows of cells, the line of dashes left out."""
    section = DOCUMENT.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    found: list[list[list[str]]] = []
    inside = False
    for line in section.splitlines():
        if line.startswith("|") and not inside:
            found.append([])
        inside = line.startswith("|")
        if inside and not line.startswith("| ---"):
            found[-1].append([cell.strip() for cell in line.strip("|").split(" | ")])
    return found


def documented(heading: str) -> dict[str, list[str]]:
    """Setting -> its cells, under the columns that TABLES names for this heading."""
    head, *rows = tables(heading)[0]
    assert head[1:-1] == list(TABLES[heading])
    return {row[0].strip("`"): row[1:-1] for row in rows}


@pytest.mark.parametrize("heading", TABLES)
def test_every_value_is_the_profiles(heading: str) -> None:
    columns = [settings(profile) for profile in TABLES[heading].values()]
    for name, cells in documented(heading).items():
        expected = [column.get(name, ABSENT) for column in columns]
        assert cells == expected, f"write | `{name}` | {' | '.join(expected)} | below {heading!r}"


def differing(*profiles: Profile) -> set[str]:
    """Settings that do not have the same value in all profiles, the name and absent parts as such left out."""
    columns = [settings(profile) for profile in profiles]
    names = {name for column in columns for name in column} - {
        "name",
        "gate",
        "scan",
        "contrastive",
        "clustering",
        "beliefs",
    }
    return {name for name in names if len({column.get(name, ABSENT) for column in columns}) > 1}


def test_no_difference_is_left_out() -> None:
    assert set(documented("Where they differ: CIFAR-10")) == differing(*OURS.values())
    assert set(documented("`official` by benchmark")) == differing(*OFFICIAL.values())
    from_official = set().union(*(differing(OFFICIAL[row], PAPER[row]) for row in OFFICIAL))
    assert set(documented("`paper` by benchmark")) == from_official


def test_every_row_says_why() -> None:
    for heading in TABLES:
        assert all(row[-1] for row in tables(heading)[0][1:])


def test_weights_of_the_unlabelled_loss() -> None:
    head, *rows = tables("`paper` by benchmark")[1]
    rates = [int(cell.removesuffix(" %")) for cell in head[2:]]
    found = {(row[0], row[1]): row[2:] for row in rows}
    expected = {
        key: [text(weights[rate]) if rate in weights else ABSENT for rate in rates] for key, weights in LAMBDA_U.items()
    }
    assert found == expected
    assert set(rates) == {rate for weights in LAMBDA_U.values() for rate in weights}
