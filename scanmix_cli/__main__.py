"""The `scanmix` command, also as `python -m scanmix_cli`: Ctrl-C while it still loads is a sentence too."""

import os
import sys

from scanmix_cli.errors import Interrupted


def main() -> None:
    """Entry point of the command."""
    share_cores()
    try:
        from scanmix_cli.cli.app import main as command
    except KeyboardInterrupt:
        print("scanmix: interrupted; run the command again", file=sys.stderr)
        sys.exit(Interrupted.exit_code)
    command()


def share_cores() -> None:
    """Let threads that wait for each other sleep soon, unless the environment says how they wait.

    By GNU OpenMP's default they spin for milliseconds. Where another program has one of the cores, they spin on the
    core that those they wait for need, and a step takes up to thirty times as long (docs/performance.md). PyTorch reads
    this when it is loaded.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


if __name__ == "__main__":
    main()
