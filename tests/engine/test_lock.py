"""Two processes and one run folder: one works, the other is told at once."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from scanmix_cli.engine.lock import LOCK, check_unlocked, locked
from scanmix_cli.errors import SettingsError

HOLD = """
import sys, time
from pathlib import Path
from scanmix_cli.engine.lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_lock_is_held_once_and_leaves_nothing(tmp_path: Path) -> None:
    with locked(tmp_path):
        sentence = (
            rf"is in use by another run \(process {os.getpid()} on .+\); wait for it to end or name another folder"
        )
        with pytest.raises(SettingsError, match=sentence), locked(tmp_path):
            pass
        with pytest.raises(SettingsError, match=sentence):
            check_unlocked(tmp_path)
    assert list(tmp_path.iterdir()) == []
    check_unlocked(tmp_path)
    check_unlocked(tmp_path / "nowhere")
    with locked(tmp_path):
        pass


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(SettingsError, match=rf"\(process {holder.pid} on"), locked(tmp_path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path):
        assert (tmp_path / LOCK).read_text().startswith(f"process {os.getpid()} on ")
    assert list(tmp_path.iterdir()) == []


def test_many_at_once_are_one_at_a_time(tmp_path: Path) -> None:
    inside, most, entered = [0], [0], [0]

    def work() -> None:
        for _ in range(40):
            with suppress(SettingsError), locked(tmp_path):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                entered[0] += 1
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert 0 < entered[0] <= 160


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / LOCK).symlink_to(precious)
    with pytest.raises(OSError, match="Too many levels"), locked(folder):
        pass
    assert precious.read_text() == "mine"
