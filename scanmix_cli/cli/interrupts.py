"""Ctrl-C: the first one stops a command, those that come while it stops are passed over."""

import signal
import sys

from scanmix_cli.errors import Interrupted


def heed_first() -> None:
    """Have `interrupt` handle Ctrl-C, unless the process ignores it, as in the background of a shell."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)


def interrupt(*_: object) -> None:
    """Raise KeyboardInterrupt, unless one is being dealt with: a second one would tear what is being saved."""
    if not isinstance(sys.exc_info()[1], (KeyboardInterrupt, Interrupted)):
        raise KeyboardInterrupt


def pass_over() -> None:
    """The process has its outcome: until it is gone Ctrl-C changes nothing, where `heed_first` was called."""
    if signal.getsignal(signal.SIGINT) is interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
