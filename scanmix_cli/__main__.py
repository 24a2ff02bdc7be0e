"""The `scanmix` command, also as `python -m scanmix_cli`: Ctrl-C while it still loads is a sentence too."""

import sys

from scanmix_cli.errors import Interrupted


def main() -> None:
    """Entry point of the command."""
    try:
        from scanmix_cli.cli.app import main as command
    except KeyboardInterrupt:
        print("scanmix: interrupted; run the command again", file=sys.stderr)
        sys.exit(Interrupted.exit_code)
    command()


if __name__ == "__main__":
    main()
