"""`scanmix ARGUMENTS` that saves after every epoch and whose process 1 is killed in the second epoch of SimCLR."""

import os
import signal
import sys

from scanmix_cli.cli.app import main
from scanmix_cli.engine import context

context.CHECKPOINT_SECONDS = -1.0
log = context.Context.log


def log_or_die(self: context.Context, **values: float) -> None:
    if os.environ["RANK"] == "1" and self.place == "epoch 2 of simclr":
        os.kill(os.getpid(), signal.SIGKILL)
    log(self, **values)


context.Context.log = log_or_die  # type: ignore[method-assign]
main(sys.argv[1:])
