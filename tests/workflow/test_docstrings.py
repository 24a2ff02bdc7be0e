"""The examples in the Python API's docstrings run, in this order, on a tiny folder called photos."""

import doctest
from pathlib import Path

import numpy
import pytest

import scanmix_cli as scanmix
from scanmix_cli.workflow import estimator, result

FIRST = "scanmix_cli.workflow.result.clean"  # trains the run that the other examples open


def test_examples(squares: Path) -> None:
    squares.rename(squares.with_name("photos"))
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = {"scanmix": scanmix, "numpy": numpy}
    examples = [
        test for module in (result, estimator) for test in finder.find(module, extraglobs=names) if test.examples
    ]
    assert FIRST in {test.name for test in examples}
    assert len(examples) >= 8
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    told: list[str] = []
    for test in sorted(examples, key=lambda test: test.name != FIRST):
        runner.run(test, out=told.append)
    if told:
        pytest.fail("".join(told))
