"""Cores that a process may not use do not count."""

import os
import subprocess
import sys

import pytest

from scanmix_cli.data.cores import usable_cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system cannot bind a process to a core")
def test_a_process_bound_to_one_core_uses_one() -> None:
    program = (
        "import os; from scanmix_cli.data.cores import usable_cores; "
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(usable_cores())"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == "1"


def test_elsewhere_all_cores_of_the_machine_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert usable_cores() == 12
