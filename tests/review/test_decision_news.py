"""What `Decisions.since` tells a page that knows the log up to some entry."""

from pathlib import Path

from scanmix_cli.report.choices import Choice
from scanmix_cli.report.decisions import open_decisions


def test_since_tells_what_stands_now_for_the_rows_touched_later(tmp_path: Path) -> None:
    with open_decisions(tmp_path) as log:
        assert log.since(0) == (0, {})
        first = log.record(Choice(1, "a", "keep"), who="", source="x")
        log.record(Choice(2, "b", "keep"), who="", source="x")
        second = log.record(Choice(1, "a", "drop"), who="", source="x")
        assert log.since(second.id) == (second.id, {})
        assert log.since(first.id)[1] == log.current()
        log.undo(row=2)
        position, changed = log.since(second.id)
        assert position == second.id + 1
        assert changed == {2: None}
        log.undo(row=1)
        assert log.since(position)[1] == {1: first}
