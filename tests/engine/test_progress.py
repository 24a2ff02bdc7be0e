"""What a person and the log see of a run."""

import io
import re
from pathlib import Path

from rich.console import Console

from scanmix_cli.engine.progress import Live, Logged, Plain, Silent, describe, make_reporter


def test_values_of_an_epoch_fit_a_line() -> None:
    assert describe({"loss_x": 1.23456, "links_kept": 384.0}) == "loss x 1.235 · links kept 384"


def test_plain_lines_are_rare_but_the_last_epoch_is_always_told() -> None:
    stream = io.StringIO()
    reporter = Plain(Console(file=stream, width=40))
    reporter.stage("scan", 100)
    for finished in range(1, 101):
        reporter.epoch("scan", finished, 100, {"loss": 0.5})
    lines = stream.getvalue().splitlines()
    assert lines[0] == "scan 1/100 · loss 0.5"
    assert lines[-1] == "scan 100/100 · loss 0.5"
    assert len(lines) == 2


def test_plain_lines_hold_the_headlines_and_all_values_when_verbose() -> None:
    values = {"loss_x": 1.5, "links_kept": 3.0, "noise_estimate": 0.2}
    shown = []
    for verbose in (False, True):
        stream = io.StringIO()
        Plain(Console(file=stream, width=40), verbose).epoch("scanmix", 1, 1, values)
        shown.append(stream.getvalue())
    assert shown[0] == "scanmix 1/1 · loss x 1.5 · noise estimate 0.2\n"
    assert shown[1] == "scanmix 1/1 · loss x 1.5 · links kept 3 · noise estimate 0.2\n"
    stream = io.StringIO()
    Plain(Console(file=stream, width=40)).epoch("neighbors", 1, 1, {"vote_agreement": 0.5})
    assert stream.getvalue() == "neighbors 1/1\n", "nothing to tell: no lone separator"


def test_live_bar_counts_images_read() -> None:
    stream = io.StringIO()
    reporter = Live(Console(file=stream, force_terminal=True, width=120))
    reporter.decoding(10, 40)
    reporter.decoding(40, 40)
    reporter.close()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "images" in shown
    assert "40/40" in shown


def test_long_messages_and_brackets_stay_as_they_are() -> None:
    stream = io.StringIO()
    text = "gate: [red]estimated[/red] noise 0.123, " + "x" * 90
    Plain(Console(file=stream, width=40)).message(text)
    assert stream.getvalue() == text + "\n"


def test_live_bar_shows_stage_and_values() -> None:
    stream = io.StringIO()
    reporter = Live(Console(file=stream, force_terminal=True, width=120))
    reporter.epoch("early", 1, 2, {})  # before any stage: nothing to show, no crash
    reporter.stage("warmup", 3)
    reporter.epoch("warmup", 2, 3, {"loss": 0.25})
    reporter.message("half way")
    reporter.close()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "warmup" in shown
    assert "2/3" in shown
    assert "loss 0.25" in shown
    assert "half way" in shown


def test_log_keeps_every_epoch_with_its_time(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    log = Logged(Silent())
    log.stage("scan", 2)
    log.open(path)
    log.epoch("scan", 1, 2, {"loss": 0.5})
    log.message("gate: low \udcff")
    log.note("files\n  \x1brun")
    log.close()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line[20:] for line in lines] == [
        "scan starts, 2 epochs",
        "scan 1/2 · loss 0.5",
        "gate: low \\udcff",
        "files",
        "  \\x1brun",
    ]
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", line) for line in lines)


def test_a_resumed_log_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    for text in ("first", "second"):
        log = Logged(Silent())
        log.open(path)
        log.message(text)
        log.close()
    assert [line[20:] for line in path.read_text(encoding="utf-8").splitlines()] == ["first", "second"]


def test_quiet_says_nothing() -> None:
    assert type(make_reporter(quiet=True)) is Silent


def test_escape_codes_of_a_terminal_do_not_reach_it(tmp_path: Path) -> None:
    name = "warning: \x1b]0;gotcha\x07\x1b[2J\u202ecat \udcff größe.png"
    said = "warning: \\x1b]0;gotcha\\x07\\x1b[2J\\u202ecat \\udcff größe.png"
    stream, live = io.StringIO(), io.StringIO()
    log = Logged(Plain(Console(file=stream, width=40)))
    log.open(tmp_path / "log.txt")
    log.message(name)
    log.close()
    Live(Console(file=live, width=40)).message(name)
    assert stream.getvalue() == live.getvalue() == f"{said}\n"
    assert (tmp_path / "log.txt").read_text(encoding="utf-8").endswith(f" {said}\n")
