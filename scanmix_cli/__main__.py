"""The `scanmix` command, also as `python -m scanmix_cli`: Ctrl-C while it still loads is a sentence too."""

import os
import sys

from scanmix_cli.cli.interrupts import heed_first, pass_over
from scanmix_cli.errors import Interrupted


def main() -> None:
    """Entry point of the command."""
    heed_first()
    share_cores()
    open_closed_streams()
    try:
        from scanmix_cli.cli.app import main as command

        command()
    except KeyboardInterrupt:
        print("scanmix: interrupted; run the command again", file=sys.stderr)
        sys.exit(Interrupted.exit_code)
    finally:
        pass_over()


def share_cores() -> None:
    """Let threads that wait for each other sleep soon, unless the environment says how they wait.

    By GNU OpenMP's default they spin for milliseconds. Where another program has one of the cores, they spin on the
    core that those they wait for need, and a step takes up to thirty times as long (docs/performance.md). PyTorch reads
    this when it is loaded.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def open_closed_streams() -> None:
    """Give what was closed for us (`2>&-`) a stream to nowhere: there is none then, and the next file that is opened
    would take its number and have what was meant for the terminal."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end


if __name__ == "__main__":
    main()
