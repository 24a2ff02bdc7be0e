"""OMP_NUM_THREADS=1 means one: whatever trains, searches and fits, no second thread of the process does any work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = """
from pathlib import Path
import os
from dataclasses import replace
from toy_runs import toy_images, toy_profile, train
from scanmix_cli.profiles import fast

def seconds(task):
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

profile = toy_profile(1)
train("scanmix", profile, toy_images(96, 32))
train("scanmix", replace(profile, beliefs=replace(fast.CPU.beliefs, epochs=1)), toy_images(96, 32))
for task in Path("/proc/self/task").iterdir():
    print(int(task.name) == os.getpid(), seconds(task))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux says what each thread has done")
def test_one_thread_trains_where_one_is_asked_for() -> None:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", TRAIN], env=environment, capture_output=True, text=True, check=True)
    main, others = 0.0, 0.0
    for line in done.stdout.splitlines():
        is_main, seconds = line.split()
        if is_main == "True":
            main += float(seconds)
        else:
            others += float(seconds)
    assert main > 1.0
    assert others < 0.1 * main
