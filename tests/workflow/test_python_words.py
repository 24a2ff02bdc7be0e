"""Sentences about options of the command, said to a Python program."""

import logging

import pytest

from scanmix_cli.errors import RunError
from scanmix_cli.workflow.log_reporter import LogReporter
from scanmix_cli.workflow.python_words import in_python, python_words


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("run is a file; name a folder with --out", "run is a file; name a folder with `out`"),
        ("use `--epochs 1` or more", "use `epochs=1` or more"),
        ("so use `--precision fp32`, or less", "so use `precision='fp32'`, or less"),
        ("a smaller --batch-size or --image-size, or --device cpu, with --overwrite",
         "a smaller `batch_size` or `image_size`, or `device='cpu'`, with `overwrite=True`"),
        ("share a run with --device auto or cpu", "share a run with `device='auto'` or `'cpu'`"),
        ("no GPU is usable here; use --device cpu or auto", "no GPU is usable here; use `device='cpu'` or `'auto'`"),
        ("with --device cpu or --epochs 1", "with `device='cpu'` or `epochs=1`"),
        ("x.csv (--labels) is no file", "x.csv (`labels`) is no file"),
        ("give the file with `--config`", "give the file with `scanmix train --config`"),
        ("make some with `scanmix review --run run`", "make some with `scanmix review --run run`"),
        ("a--b.csv and ./--c/d.png are none", "a--b.csv and ./--c/d.png are none"),
    ],
)  # fmt: skip
def test_options_are_arguments(said: str, heard: str) -> None:
    assert in_python(said) == heard
    assert in_python(heard) == heard


def test_errors_keep_their_kind() -> None:
    with pytest.raises(RunError, match=r"^name another `out`$"), python_words():
        raise RunError("name another --out")
    for other in (ValueError("--out"), BrokenPipeError("--out")):
        with pytest.raises(type(other), match=r"^--out$"), python_words():
            raise other


def test_what_is_logged_is_worded_alike(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="scanmix_cli")
    LogReporter().message("warning: if names look wrong, give --encoding.")
    assert [record.message for record in caplog.records] == ["if names look wrong, give `encoding`."]
