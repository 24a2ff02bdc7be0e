"""Threads of a command sleep where they wait, so that another program may have a core."""

import os
import signal

import pytest

from scanmix_cli.__main__ import main

NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"GOMP_SPINCOUNT": "1000"}),
        ({"GOMP_SPINCOUNT": "5"}, {"GOMP_SPINCOUNT": "5"}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
    ],
)
def test_threads_do_not_spin_unless_told_to(
    given: dict[str, str], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    found: dict[str, str] = {}

    def command() -> None:
        found.update({name: os.environ[name] for name in NAMES if name in os.environ})

    monkeypatch.setattr("scanmix_cli.cli.app.main", command)
    heeded = signal.getsignal(signal.SIGINT)
    try:
        main()
    finally:
        signal.signal(signal.SIGINT, heeded)
    assert found == expected
