"""Names on terminals, in files and on pages: what would be obeyed is escaped, what holds letters together stays."""

from pathlib import Path

import pandas as pd
import pytest

from scanmix_cli.data.wording import printable, shown
from scanmix_cli.legible import legible
from scanmix_cli.report.export import MARKDOWN_COLUMNS, write_table

PERSIAN = "می\u200cخواهم"  # noqa: RUF001 - these letters are meant
TOGETHER = f"{PERSIAN} 👩\u200d🔬 ❤\ufe0f"  # with an emoji of two, and one of a character and its variant


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a b.png", "a b.png"),
        ("\udcff", "\\udcff"),
        ("\u202ea\u2067", "\\u202ea\\u2067"),
        ("\t\x1b\x07", "\\t\\x1b\\x07"),
        (TOGETHER, TOGETHER),
    ],
)
def test_names_are_shown_as_text(name: str, text: str) -> None:
    assert legible(name) == printable(name, "utf-8") == text
    assert shown(name) == text.replace("\\udcff", "\\xff")


def test_terminals_without_these_letters_get_escapes() -> None:
    assert printable("a\u200cb", "latin-1") == "a\\u200cb"


def test_markdown_has_names_as_text(tmp_path: Path) -> None:
    rows = pd.DataFrame({name: [TOGETHER, "\u202e.png"] for name in MARKDOWN_COLUMNS})
    write_table(rows, tmp_path / "noisy.md")
    lines = (tmp_path / "noisy.md").read_text(encoding="utf-8").splitlines()
    assert lines[2].split(" | ")[1:-1] == [TOGETHER] * 4
    assert lines[3].split(" | ")[1:-1] == ["\\\\u202e.png"] * 4
