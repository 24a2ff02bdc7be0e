"""The table of belief settings in docs/method.md holds every setting and its default."""

from dataclasses import fields
from pathlib import Path

from scanmix_cli.method.settings import BeliefSettings

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "method.md"


def text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_every_setting_of_beliefs_is_documented_with_its_default() -> None:
    table = DOCUMENT.read_text(encoding="utf-8").split("| setting of `beliefs` |", 1)[1]
    documented: dict[str, str] = {}
    for line in table.splitlines()[2:]:
        if not line.startswith("|"):
            break
        names, defaults, meaning = (cell.strip() for cell in line.strip("|").split("|"))
        assert meaning
        documented |= dict(zip((name.strip("`") for name in names.split(", ")), defaults.split(", "), strict=True))
    default = BeliefSettings()
    assert documented == {field.name: text(getattr(default, field.name)) for field in fields(default)}
